"""The table of key patterns.

A text may contain a key of any service, including ones without a provider here, and a run is
read without loading providers. So the patterns are here and not in the provider classes, where
``KeyNeed.pattern`` describes what a key of that one provider must look like as a whole.
"""

from __future__ import annotations

import re

_WORDS = "sk|gsk|xai|pplx|tgp|fw|csk|nvapi|hf"
"""Prefixes of keys, before a dash or an underscore."""
_BEARER = r"(?i:\bbearer\s+)"
_MASK = "*…•"

KEYS = re.compile(
    rf"""
      \b(?:{_WORDS})[-_][\w\-]{{16,}}
    | \bAIza[\w\-]{{30,}}
    | \b(?:AKIA|ASIA)[A-Z0-9]{{16}}\b
    | {_BEARER}[\w.~+/=\-]{{20,}}
    """,
    re.VERBOSE | re.ASCII,
)
"""Whole keys, in texts where everything else should remain."""

KEYS_IN_JSON = re.compile(KEYS.pattern.replace(r"\b", "").encode(), re.VERBOSE)
"""The same in JSON bytes, where a key may follow the n of an escaped newline."""

KEYS_IN_ERRORS = re.compile(
    rf"""
      \b(?:{_WORDS}|key)[-_][\w\-.{_MASK}]{{9,}}[\w\-{_MASK}]
    | \bAIza[\w\-]*(?:[{_MASK}]|\.\.)[\w\-.{_MASK}]*[\w\-{_MASK}]
    | \bAIza[\w\-]{{20,}} | \bAQ\.[\w\-]{{20,}} | \bya29\.[\w\-.]{{20,}}
    | \b(?:AKIA|ASIA)[A-Z0-9]{{12,}}
    | {_BEARER}[\w.~+/=\-{_MASK}]{{8,}}
    | (?i:\bauthorization["']?\s*[:=,]\s*b?["']?(?:basic\s+)?)[\w.~+/=\-{_MASK}]{{8,}}
    | (?i:\b(?:x-)?api[-_]key["']?\s*[:=]\s*["']?)[\w.\-{_MASK}]{{8,}}
    """,
    re.VERBOSE,
)
"""Also partial and masked keys, as servers quote them: ``sk-…wxyz``."""

MAYBE_KEYS = re.compile(rf"(?:{_WORDS}|pk|ghp|eyJ)[-_\w.]{{12,}}|[A-Za-z0-9+/_=-]{{32,}}")
"""Also long opaque texts and tokens of other services, where a setting should have none."""


def begins_like_key(text: str) -> bool:
    """Whether a text that should be something else starts like most keys do."""
    return text.startswith("sk-")

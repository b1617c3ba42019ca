"""How keys look: the one table of it.

A text may hold a key of any service, also of one that no provider here speaks to, and a run
is read without loading providers. So the shapes stand here and not in their classes, where
``KeyNeed.pattern`` says what a key of that one provider must look like as a whole.
"""

from __future__ import annotations

import re

_WORDS = "sk|gsk|xai|pplx|tgp|fw|csk|nvapi|hf"
"""What keys begin with, before a dash or an underscore."""
_HEADER = r"(?i:\bbearer\s+)[\w.~+/=\-]"

KEYS = re.compile(
    rf"""
      \b(?:{_WORDS})[-_][\w\-]{{16,}}
    | \bAIza[\w\-]{{30,}}
    | \b(?:AKIA|ASIA)[A-Z0-9]{{16}}\b
    | {_HEADER}{{20,}}
    """,
    re.VERBOSE | re.ASCII,
)
"""Whole keys, in texts of which everything else is to stay."""

KEYS_IN_JSON = re.compile(KEYS.pattern.replace(r"\b", "").encode(), re.VERBOSE)
"""The same in the bytes of JSON, where a key may follow the n of a written-out new line."""

KEYS_IN_ERRORS = re.compile(
    rf"""
      \b(?:{_WORDS}|key)[-_][\w\-*.…]{{9,}}[\w\-*…]
    | \bAIza[\w\-]{{20,}} | \bAQ\.[\w\-]{{20,}} | \bya29\.[\w\-.]{{20,}}
    | \b(?:AKIA|ASIA)[A-Z0-9]{{12,}}
    | {_HEADER}{{8,}}
    | (?i:\bauthorization["']?\s*[:=,]\s*b?["']?(?:basic\s+)?)[\w.~+/=\-]{{8,}}
    | (?i:\b(?:x-)?api[-_]key["']?\s*[:=]\s*["']?)[\w.\-]{{8,}}
    """,
    re.VERBOSE,
)
"""Also parts of keys and keys half hidden, as servers quote them: ``sk-…wxyz``."""


def begins_like_key(text: str) -> bool:
    """Whether a text that should be something else begins as most keys do."""
    return text.startswith("sk-")

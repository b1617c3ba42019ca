"""Reading Together's responses, and its rate limits, which are per second and change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import ParamNote, RateLimits, Reply
from evalbench.providers.compatible.read import read_completion
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.headers import count, seconds
from evalbench.providers.wire.lenient import as_list

_SAID = {"effort": ("reasoning_effort", "reasoning"), "schema": ("response_format",)}
_WORTH_WAITING_S = 1.0
"""``x-ratelimit-reset`` is often a fraction of a second: the next second's allowance, which every
other waiting call wants too. Only longer resets are waited for."""


def read_together(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A completion as a reply; each warning is attached to the parameter it concerns.

    All warnings remain in ``raw``.

    Raises:
        KeyError, IndexError, TypeError: the body is not a completion.
    """
    reply = read_completion(body, arrival)
    warnings = [
        warning["message"]
        for warning in as_list(body.get("warnings"))
        if isinstance(warning, dict) and isinstance(warning.get("message"), str)
    ]
    if not warnings:
        return reply
    return replace(reply, params=tuple(_warned(note, warnings) for note in arrival.params))


def _warned(note: ParamNote, warnings: list[str]) -> ParamNote:
    names = "|".join((note.name, *_SAID.get(note.name, ())))
    about = [warning for warning in warnings if re.search(rf"\b(?:{names})\b", warning)]
    return replace(note, reason="; ".join([*filter(None, [note.reason]), *about])[:300])


def read_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Parse the headers; dynamic values take precedence, since they are the ones enforced."""
    requests = _said(headers, "x-ratelimit-remaining")
    tokens = _said(headers, "x-tokenlimit-remaining")
    if requests is None and tokens is None:
        return None
    reset = seconds(headers.get("x-ratelimit-reset"))
    return RateLimits(
        requests_remaining=requests,
        requests_reset_s=reset,
        tokens_remaining=tokens,
        tokens_reset_s=reset,
        requests_limit=_said(headers, "x-ratelimit-limit"),
        tokens_limit=_said(headers, "x-tokenlimit-limit"),
    )


def _said(headers: Mapping[str, str], name: str) -> int | None:
    dynamic = count(headers.get(f"{name}-dynamic"))
    return count(headers.get(name)) if dynamic is None else dynamic


def suggested_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait before a retry is worthwhile, if the refusal says so."""
    reset = seconds(headers.get("x-ratelimit-reset"))
    return reset if reset is not None and reset >= _WORTH_WAITING_S else None

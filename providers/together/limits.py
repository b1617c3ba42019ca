"""Reading Together's rate-limit headers. Its limits are per second and change."""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.calls import RateLimits
from evalbench.providers.wire.headers import count, seconds

WORTH_WAITING_S = 1.0
"""``x-ratelimit-reset`` is often a fraction of a second: the next second's allowance, which every
other waiting call wants too. Only longer resets are waited for."""


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
    return reset if reset is not None and reset >= WORTH_WAITING_S else None

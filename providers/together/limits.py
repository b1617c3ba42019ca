"""Reading Together's rate-limit headers. Its limits are per second, and move."""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.calls import RateLimits
from evalbench.providers.wire.headers import count, seconds

WORTH_WAITING_S = 1.0
"""``x-ratelimit-reset`` is often a fraction of a second: the next second's allowance,
which every other call in the line has its eyes on too. Only longer ones are waited for."""


def read_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """What the headers say; the dynamic values where they are told, since those decide."""
    requests, tokens = _remaining(headers, "ratelimit"), _remaining(headers, "tokenlimit")
    if requests is None and tokens is None:
        return None
    reset = seconds(headers.get("x-ratelimit-reset"))
    return RateLimits(
        requests_remaining=requests,
        requests_reset_s=reset,
        tokens_remaining=tokens,
        tokens_reset_s=reset,
    )


def _remaining(headers: Mapping[str, str], kind: str) -> int | None:
    name = f"x-{kind}-remaining"
    dynamic = count(headers.get(f"{name}-dynamic"))
    return count(headers.get(name)) if dynamic is None else dynamic


def suggested_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait before the same call is worth another try, where a refusal tells them."""
    reset = seconds(headers.get("x-ratelimit-reset"))
    return reset if reset is not None and reset >= WORTH_WAITING_S else None

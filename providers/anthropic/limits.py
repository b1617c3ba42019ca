"""Anthropic's rate-limit headers."""

from __future__ import annotations

from collections.abc import Mapping

from evalbench.engine.calls import RateLimits
from evalbench.providers.wire.headers import count, until

_PREFIX = "anthropic-ratelimit-"


def read_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Parse the rate limits of a response; None if there are none.

    Resets are timestamps (RFC 3339) and are converted to seconds from now.
    """
    if not any(name.startswith(_PREFIX) for name in headers):
        return None

    def header(name: str) -> str | None:
        return headers.get(_PREFIX + name)

    return RateLimits(
        requests_remaining=count(header("requests-remaining")),
        requests_reset_s=until(header("requests-reset"), headers),
        tokens_remaining=count(header("tokens-remaining")),
        tokens_reset_s=until(header("tokens-reset"), headers),
        requests_limit=count(header("requests-limit")),
        tokens_limit=count(header("tokens-limit")),
    )

"""Reading response headers. Nothing here raises: a header may contain anything."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from evalbench.engine.calls import RateLimits

_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:ms|us|µs|ns|d|h|m|s))+")
_DURATION_STEP = re.compile(r"(\d+(?:\.\d*)?)(ms|us|µs|ns|d|h|m|s)")
_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_UNITS["ns"] = 1e-9
_OPENAI = tuple(
    f"x-ratelimit-{what}-{unit}"
    for what in ("remaining", "limit", "reset")
    for unit in ("requests", "tokens")
)
_LONGEST_S = 366 * 86_400.0


def seconds(text: str | None) -> float | None:
    """Parse a duration in seconds: ``28ms``, ``6m0s``, ``2m59.56s``, ``1.5`` (plain seconds).

    Returns:
        None for anything else, for negative values and for more than a year.
    """
    if not text:
        return None
    text = text.strip()
    if _DURATION.fullmatch(text):
        steps = _DURATION_STEP.findall(text)
        total = sum(float(number) * _UNITS[unit] for number, unit in steps)
    else:
        try:
            total = float(text)
        except ValueError:
            return None
    return total if math.isfinite(total) and 0 <= total <= _LONGEST_S else None


def count(text: str | None) -> int | None:
    """A non-negative whole number, or None."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value >= 0 else None


def moment(text: object) -> float | None:
    """Unix seconds of an RFC 3339 timestamp, in UTC if it names no zone; None if it is invalid."""
    try:
        return _unix(datetime.fromisoformat(str(text)))
    except (ValueError, OverflowError):
        return None


def _unix(then: datetime) -> float:
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()


def until(text: str | None, headers: Mapping[str, str]) -> float | None:
    """Seconds from now to an RFC 3339 timestamp, never negative; None if it is invalid.

    "Now" is the response's own ``date`` header if present, so that a wrong local clock does not
    cause hours of waiting.
    """
    then = moment(text)
    return None if then is None else max(0.0, then - server_time(headers))


def server_time(headers: Mapping[str, str]) -> float:
    """Unix time by the provider's clock; by this machine's if a response has no ``date``."""
    stamp = server_date(headers)
    return time.time() if stamp is None else stamp


def server_date(headers: Mapping[str, str]) -> float | None:
    """Unix time by the provider's clock; None if a response has no ``date``."""
    return _http_date(headers.get("date"))


def _http_date(text: str | None) -> float | None:
    if not text:
        return None
    try:
        # Without a zone, which RFC 5322 writes as -0000, it is UTC all the same.
        return _unix(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date).

    None if there is neither, and for implausible values: more than a year.
    """
    if (milliseconds := seconds(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if (plain := seconds(text)) is not None:
        return plain
    then = _http_date(text)
    if then is None:
        return None
    wait = max(0.0, then - server_time(headers))
    return wait if wait <= _LONGEST_S else None


def openai_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Limits from ``x-ratelimit-*`` headers; None if there are none."""
    if not any(name in headers for name in _OPENAI):
        return None
    return RateLimits(
        requests_remaining=count(headers.get("x-ratelimit-remaining-requests")),
        requests_reset_s=seconds(headers.get("x-ratelimit-reset-requests")),
        tokens_remaining=count(headers.get("x-ratelimit-remaining-tokens")),
        tokens_reset_s=seconds(headers.get("x-ratelimit-reset-tokens")),
        requests_limit=count(headers.get("x-ratelimit-limit-requests")),
        tokens_limit=count(headers.get("x-ratelimit-limit-tokens")),
    )


def day_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """The same, for request limits per day.

    Their reset, the time until a whole day's quota is restored, is ignored: the next request is
    allowed long before that.
    """
    limits = openai_limits(headers)
    return None if limits is None else replace(limits, requests_reset_s=None)


def router_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Limits from plain ``x-ratelimit-*`` headers; the reset is in milliseconds since the epoch."""
    if "x-ratelimit-remaining" not in headers:
        return None
    reset = count(headers.get("x-ratelimit-reset"))
    return RateLimits(
        requests_remaining=count(headers.get("x-ratelimit-remaining")),
        requests_reset_s=None if reset is None else max(0.0, reset / 1000 - server_time(headers)),
        requests_limit=count(headers.get("x-ratelimit-limit")),
    )


def minute_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Limits under Mistral's header names, without a reset, or under those of Cerebras, whose
    requests are counted per day; see :func:`day_limits`.
    """
    day = "x-ratelimit-remaining-requests-day" in headers
    requests = "requests-day" if day else "req-minute"
    limits = RateLimits(
        requests_remaining=count(headers.get(f"x-ratelimit-remaining-{requests}")),
        tokens_remaining=count(headers.get("x-ratelimit-remaining-tokens-minute")),
        tokens_reset_s=seconds(headers.get("x-ratelimit-reset-tokens-minute")),
        requests_limit=count(headers.get(f"x-ratelimit-limit-{requests}")),
        tokens_limit=count(headers.get("x-ratelimit-limit-tokens-minute")),
    )
    return limits if limits != RateLimits() else None

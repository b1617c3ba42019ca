"""Rate limits: token buckets per key and model, and how each provider writes them down."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from tests.simulator.clock import duration, rfc3339

_DUST = 1e-6
"""What rounding may take from a bucket."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one key on one model.

    Attributes:
        requests: per ``requests_window`` seconds; None: the API's own window.
        tokens: prompt and allowed output together, per minute.
        input_tokens, output_tokens: per minute, where the provider counts them apart.
    """

    requests: int = 1_000_000
    tokens: int = 2_000_000_000
    input_tokens: int = 1_000_000_000
    output_tokens: int = 1_000_000_000
    requests_window: float | None = None


class Bucket:
    """Fills evenly up to its capacity; one window's worth of capacity per window."""

    __slots__ = ("_at", "_level", "capacity", "window")

    def __init__(self, capacity: float, window: float, now: float) -> None:
        self.capacity = capacity
        self.window = window
        self._level = capacity
        self._at = now

    def level(self, now: float) -> float:
        """What is there now; negative when more was taken than there was."""
        self._level = min(
            self.capacity, self._level + (now - self._at) * self.capacity / self.window
        )
        self._at = now
        return self._level

    def take(self, amount: float, now: float) -> None:
        """Take, whether there is enough or not."""
        self._level = self.level(now) - amount

    def wait(self, amount: float, now: float) -> float:
        """Seconds until ``amount`` (or a full bucket, if that is less) is there."""
        missing = min(amount, self.capacity) - self.level(now)
        return max(0.0, missing) * self.window / self.capacity

    def refill(self, now: float) -> float:
        """Seconds until it is full."""
        return self.wait(self.capacity, now)


@dataclass(slots=True)
class Buckets:
    """The buckets of one key on one model. Those of no quota are ``endless``: always full."""

    endless: bool
    requests: Bucket
    tokens: Bucket
    input_tokens: Bucket
    output_tokens: Bucket

    def take(
        self, now: float, *, tokens: int, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Take one request and its tokens."""
        if self.endless:
            return
        self.requests.take(1, now)
        self.tokens.take(tokens, now)
        self.input_tokens.take(input_tokens, now)
        self.output_tokens.take(output_tokens, now)


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a request is over a limit, and for how many seconds.

    ``wait`` is None when it can never pass: it asks for more than the bucket holds.
    """

    what: str
    limit: int
    used: int
    requested: int
    wait: float | None


class Limits:
    """Quotas by API, buckets by API, key and model.

    ``windows`` holds how long an API counts requests, where that is not a minute.
    """

    def __init__(self) -> None:
        self.windows: dict[str, float] = {}
        self._quotas: dict[str, Quota] = {}
        self._buckets: dict[tuple[str, str, str], Buckets] = {}

    def reset(self) -> None:
        """No limits worth the name, full buckets."""
        self._quotas.clear()
        self._buckets.clear()

    def configure(self, api: str, **quota: Any) -> None:
        """Set limits of an API, for each key and model; buckets begin full.

        Raises:
            TypeError: for a limit that does not exist.
        """
        known = {f.name for f in fields(Quota)}
        if unknown := set(quota) - known:
            raise TypeError(f"no such limit: {', '.join(sorted(unknown))}")
        self._quotas[api] = replace(self._quotas.get(api, Quota()), **quota)
        self._buckets = {who: b for who, b in self._buckets.items() if who[0] != api}

    def buckets(self, api: str, key: str, model: str, now: float) -> Buckets:
        """The buckets of a key on a model."""
        who = (api, key, model)
        buckets = self._buckets.get(who)
        if buckets is None:
            window = self.windows.get(api, 60.0)
            quota = self._quotas.get(api)
            buckets = _filled(quota or Quota(), window, now, endless=quota is None)
            self._buckets[who] = buckets
        return buckets

    @staticmethod
    def check(
        buckets: Buckets, now: float, *, tokens: int = 0, input_tokens: int = 0
    ) -> Denial | None:
        """Whether a request fits; nothing is taken."""
        if buckets.endless:
            return None
        needs = (
            ("requests", buckets.requests, 1),
            ("tokens", buckets.tokens, tokens),
            ("input tokens", buckets.input_tokens, input_tokens),
            ("output tokens", buckets.output_tokens, 1),
        )
        for what, bucket, need in needs:
            level = bucket.level(now)
            if level >= need - _DUST:
                continue
            capacity = int(bucket.capacity)
            impossible = need > capacity
            return Denial(
                what,
                capacity,
                max(0, capacity - int(level)),
                need,
                None if impossible else bucket.wait(need, now),
            )
        return None


def _filled(quota: Quota, window: float, now: float, *, endless: bool) -> Buckets:
    return Buckets(
        endless,
        Bucket(quota.requests, quota.requests_window or window, now),
        Bucket(quota.tokens, 60.0, now),
        Bucket(quota.input_tokens, 60.0, now),
        Bucket(quota.output_tokens, 60.0, now),
    )


Headers = Callable[[Buckets, float], dict[str, str]]


def written(style: Headers, buckets: Buckets, now: float) -> dict[str, str]:
    """Rate-limit headers in a provider's style, for the caller to add to."""
    if buckets.endless:
        return dict(_written_full(style, int(now)))
    return style(buckets, now)


@lru_cache(maxsize=64)
def _written_full(style: Headers, second: int) -> dict[str, str]:
    return style(_filled(Quota(), 60.0, second, endless=True), second)


def anthropic_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """``anthropic-ratelimit-*``: reset is the moment the bucket is full, to the second."""
    out: dict[str, str] = {}
    parts = (
        ("requests", buckets.requests),
        ("tokens", buckets.tokens),
        ("input-tokens", buckets.input_tokens),
        ("output-tokens", buckets.output_tokens),
    )
    for name, bucket in parts:
        prefix = f"anthropic-ratelimit-{name}"
        out[f"{prefix}-limit"] = str(int(bucket.capacity))
        out[f"{prefix}-remaining"] = str(max(0, int(bucket.level(now))))
        out[f"{prefix}-reset"] = rfc3339(math.ceil(now + bucket.refill(now)))
    return out


def openai_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """``x-ratelimit-*``: reset is how long until the bucket is full."""
    out: dict[str, str] = {}
    for name, bucket in (("requests", buckets.requests), ("tokens", buckets.tokens)):
        out[f"x-ratelimit-limit-{name}"] = str(int(bucket.capacity))
        out[f"x-ratelimit-remaining-{name}"] = str(max(0, int(bucket.level(now))))
        out[f"x-ratelimit-reset-{name}"] = duration(bucket.refill(now))
    return out


def xai_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """``x-ratelimit-*`` without a reset."""
    headers = openai_headers(buckets, now)
    return {name: value for name, value in headers.items() if "-reset-" not in name}


def mistral_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """Per-minute pairs in Mistral's own names, without a reset."""
    return {
        "x-ratelimit-limit-req-minute": str(int(buckets.requests.capacity)),
        "x-ratelimit-remaining-req-minute": str(max(0, int(buckets.requests.level(now)))),
        "x-ratelimit-limit-tokens-minute": str(int(buckets.tokens.capacity)),
        "x-ratelimit-remaining-tokens-minute": str(max(0, int(buckets.tokens.level(now)))),
    }


def openrouter_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """One pair for requests; reset is a moment in milliseconds since the epoch."""
    requests = buckets.requests
    return {
        "X-RateLimit-Limit": str(int(requests.capacity)),
        "X-RateLimit-Remaining": str(max(0, int(requests.level(now)))),
        "X-RateLimit-Reset": str(round((now + requests.refill(now)) * 1000)),
    }


def no_headers(buckets: Buckets, now: float) -> dict[str, str]:
    """Servers that say nothing about limits."""
    return {}


def whole_seconds(wait: float) -> str:
    """A ``retry-after`` header: seconds, rounded up."""
    return str(max(1, math.ceil(wait)))

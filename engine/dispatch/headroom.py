"""What a provider's responses say is left of its limits."""

from __future__ import annotations

from math import inf

from evalbench.engine.calls import RateLimits
from evalbench.engine.dispatch.retry import LONGEST_OUTAGE_S

_SAME = 1.05
_SPAN_S = 5.0
"""A refill is believed that was the same for as long."""


class Allowance:
    """What is left of one limit, on requests or on tokens, and how fast it refills."""

    def __init__(self) -> None:
        self._left = inf
        self._at = self._since = 0.0
        self._least, self._most = inf, 0.0

    def learn(
        self, remaining: int | None, reset_s: float | None, limit: int | None, now: float
    ) -> None:
        """Record what a response said: what is left, of how much, and when it is full again.

        A bucket refills evenly, a window all at once, when it ends; which of them it is is not
        said. But what was used, divided by the time until it is full again, is a bucket's refill
        and stays the same, while it grows with a window's age. Light use shows neither.
        """
        if remaining is None or not reset_s or reset_s > LONGEST_OUTAGE_S:
            self._left = inf
            return
        self._left, self._at = remaining, now
        if limit and remaining < limit / 2:
            refill = (limit - remaining) / reset_s
            self._since = self._since if self._most else now
            self._least, self._most = min(self._least, refill), max(self._most, refill)

    def use(self, amount: float) -> None:
        """Record that a call of this size was sent."""
        self._left -= amount

    def wait(self, amount: float, now: float) -> float:
        """Seconds until so much is left; infinite if only the next response will tell."""
        steady = self._at - self._since >= _SPAN_S and self._most <= _SAME * self._least
        refill = self._least if steady else 0.0
        missing = amount - self._left - refill * (now - self._at)
        return 0.0 if missing <= 0 or not amount else missing / refill if refill else inf


class Headroom:
    """The calls that may still be sent by what responses said is left."""

    def __init__(self) -> None:
        self._requests, self._tokens = Allowance(), Allowance()

    def learn(self, limits: RateLimits, now: float) -> None:
        """Record what a response said."""
        self._requests.learn(
            limits.requests_remaining, limits.requests_reset_s, limits.requests_limit, now
        )
        self._tokens.learn(limits.tokens_remaining, limits.tokens_reset_s, limits.tokens_limit, now)

    def use(self, tokens: float) -> None:
        """Record that a call was sent that takes so many tokens."""
        self._requests.use(1)
        self._tokens.use(tokens)

    def wait(self, tokens: float, now: float) -> float:
        """Seconds until such a call fits; infinite if only the next response will tell."""
        return max(self._requests.wait(1, now), self._tokens.wait(tokens, now))

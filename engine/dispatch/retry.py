"""Decides which errors are worth retrying, and after how long."""

from __future__ import annotations

import math
import random

from evalbench.engine.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerFault,
    TransientError,
    resume_after,
)

_BASE_S: dict[type[TransientError], float] = {
    RateLimited: 2.0,
    Overloaded: 2.0,
    ServerFault: 0.5,
    ConnectionFailed: 0.5,
    DeadlineExceeded: 0.5,
}
_BASE_STEERED_S = 0.5
_CAP_S = 60.0
_CAP_ANSWERING_S = 5.0
LONGEST_RETRY_AFTER_S = 300.0
"""A longer wait is about the provider, not the call: it does not count as an attempt."""
LONGEST_WAIT_S = 1800.0
"""Maximum total wait between the attempts of one call."""
LONGEST_OUTAGE_S = 2 * 3600.0
"""How long to wait for a provider that is down or asks to come back later."""
OVERLOAD_FACTOR = 5
"""Being asked to come back is not the call's fault: it gets this many times the attempts."""


class RetryPolicy:
    """How often one call is tried.

    Failures count against ``attempts``; refusals for load (429, overload) get five times as
    many, since they say nothing about the call. The total wait of one call is at most half an
    hour.
    """

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self._faults = 0
        self._refusals = 0
        self._waited = 0.0

    def wait(
        self, error: ProviderError, *, answering: bool = False, steered: bool = False
    ) -> float | None:
        """Seconds to wait before the next attempt, or None if there is none.

        The provider's Retry-After is honoured exactly, never shortened; everything else backs
        off exponentially with jitter over the upper half, capped at a minute, or at five seconds
        while other calls are answered: then lower concurrency reduces the load, and a long wait
        would only delay the end of the run.

        Args:
            error: the error of the last attempt.
            answering: whether most other calls are being answered.
            steered: whether the limit is known and kept to, or refusals are known to come at
                any load: then a long wait avoids nothing.
        """
        if not isinstance(error, TransientError):
            return None
        if isinstance(error, RateLimited | Overloaded):
            self._refusals += 1
            tries, most = self._refusals, self._attempts * OVERLOAD_FACTOR
        else:
            self._faults += 1
            tries, most = self._faults, self._attempts
        if tries >= most:
            return None
        pause = error.retry_after
        if pause is None:
            base = next((s for kind, s in _BASE_S.items() if isinstance(error, kind)), 1.0)
            if answering and steered:
                base = min(base, _BASE_STEERED_S)
            full = min(_CAP_ANSWERING_S if answering else _CAP_S, base * 2.0 ** (tries - 1))
            pause = full * random.uniform(0.5, 1.0)  # noqa: S311
        elif pause > LONGEST_RETRY_AFTER_S:
            return None  # see requested_wait
        self._waited += pause
        return pause if self._waited <= LONGEST_WAIT_S else None


def requested_wait(error: ProviderError, waited: float) -> float | None:
    """Seconds of a long wait requested by a provider; None if it requests none worth starting.

    Args:
        error: the provider's answer.
        waited: seconds that the call has already waited this way.

    Raises:
        QuotaExhausted: it requests more than a run waits.
    """
    asked = error.retry_after
    if asked is None or asked <= LONGEST_RETRY_AFTER_S:
        return None
    if not isinstance(error, RateLimited | Overloaded):
        return None
    if asked > LONGEST_OUTAGE_S:
        raise wait_too_long(error)
    return asked if waited + asked <= LONGEST_OUTAGE_S else None


def wait_too_long(error: ProviderError) -> QuotaExhausted:
    """The error for a run that would have to wait too long, with the time to resume."""
    asked = error.retry_after or 0.0
    return QuotaExhausted(
        f"{error.what}; the wait that it asks for is {wait_words(asked)}",
        why=error.why,
        hint=resume_after(asked),
        status=error.status,
        retry_after=asked,
        body=error.body,
        request_id=error.request_id,
    )


def wait_words(seconds: float) -> str:
    """A duration as text: ``40 s``, ``21 min``, ``5 h 21 min``, ``2 d 4 h``; rounded up."""
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    days, hours = divmod(minutes // 60, 24)
    parts = [(days, "d"), (hours, "h"), (0 if days else minutes % 60, "min")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)

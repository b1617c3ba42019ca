"""Which errors are worth another try of the same call, and after how long."""

from __future__ import annotations

import random

from evalbench.engine.errors import (
    ConnectionFailed,
    DeadlineExceeded,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerFault,
    TransientError,
)

_BASE_S: dict[type[TransientError], float] = {
    RateLimited: 2.0,
    Overloaded: 2.0,
    ServerFault: 0.5,
    ConnectionFailed: 0.5,
    DeadlineExceeded: 0.5,
}
_CAP_S = 60.0
LONGEST_RETRY_AFTER_S = 300.0
"""A provider that asks for a longer wait is taken as unable to answer this call."""
LONGEST_WAIT_S = 1800.0
"""All waits of one call together."""
FULL_HOUSE = 5
"""Being told to come back is no fault of the call: that many times the usual tries."""


class Patience:
    """How often one call is tried.

    Faults count against ``attempts``; refusals for load (429, overload) get
    five times as many, since they say nothing about the call. All waits of one
    call together end after half an hour.
    """

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self._faults = 0
        self._refusals = 0
        self._waited = 0.0

    def wait(self, error: ProviderError) -> float | None:
        """Seconds to wait before the next try, or None when there is none.

        The provider's own Retry-After is obeyed to the letter, never shortened;
        everything else backs off exponentially with jitter over the upper half,
        capped at a minute.
        """
        if not isinstance(error, TransientError):
            return None
        if isinstance(error, RateLimited | Overloaded):
            self._refusals += 1
            tries, most = self._refusals, self._attempts * FULL_HOUSE
        else:
            self._faults += 1
            tries, most = self._faults, self._attempts
        if tries >= most:
            return None
        pause = error.retry_after
        if pause is None:
            base = next((s for kind, s in _BASE_S.items() if isinstance(error, kind)), 1.0)
            full = min(_CAP_S, base * 2.0 ** (tries - 1))
            pause = full * random.uniform(0.5, 1.0)  # noqa: S311
        elif pause > LONGEST_RETRY_AFTER_S:
            return None
        self._waited += pause
        return pause if self._waited <= LONGEST_WAIT_S else None

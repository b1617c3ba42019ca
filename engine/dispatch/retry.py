"""Which errors are worth another try, after how long."""

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


def wait_before_retry(error: ProviderError, attempt: int, attempts: int) -> float | None:
    """Seconds to wait before the next try, or None when there is none.

    Args:
        error: what the attempt ended with.
        attempt: number of the attempt that failed, from 1.
        attempts: most attempts allowed.

    The provider's own Retry-After is obeyed to the letter, never shortened;
    everything else backs off exponentially with full jitter over the upper
    half, capped at a minute.
    """
    if not isinstance(error, TransientError) or attempt >= attempts:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_RETRY_AFTER_S else None
    base = next((s for kind, s in _BASE_S.items() if isinstance(error, kind)), 1.0)
    full = min(_CAP_S, base * 2.0 ** (attempt - 1))
    return float(full * random.uniform(0.5, 1.0))  # noqa: S311

"""A run's batch settings. A separate module, as every run has them and few use batches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """A run's batch settings.

    Attributes:
        collect: accept calls; False to only finish what earlier engines sent.
        size: maximum calls per batch; None for the provider's maximum.
        poll_s: seconds between the first polls of a batch.
        fallback_s: seconds after which the rest is asked in realtime; None for never.
        leave: wait for nothing.
        cancel: batches to cancel as soon as they are loaded.
        resend_unfetched: resend calls of batches whose results an earlier engine gave up on, if
            they still cannot be fetched.
        wait_for_server_s: seconds to try a server never reached; None for a short default.
    """

    collect: bool = True
    size: int | None = None
    poll_s: float = 10.0
    fallback_s: float | None = None
    leave: bool = False
    cancel: frozenset[str] = frozenset()
    resend_unfetched: bool = False
    wait_for_server_s: float | None = None

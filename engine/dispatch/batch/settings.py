"""What a run wants of its batches. Apart, as every run says so and few have any."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What a run wants of its batches.

    Attributes:
        collect: take calls in; False: only finish what earlier engines sent.
        size: calls in one batch at most; None: as many as the provider takes.
        poll_s: seconds between the first polls of a batch.
        fallback_s: after so many seconds what is left is asked at once; None: never.
        leave: wait for nothing.
        cancel: batches to cancel as soon as they are taken up.
        resend_unfetched: send the calls of batches again whose results an earlier engine gave
            up, where they still cannot be fetched.
        wait_for_server_s: how long to try for a server that was never reached; None: some seconds.
    """

    collect: bool = True
    size: int | None = None
    poll_s: float = 10.0
    fallback_s: float | None = None
    leave: bool = False
    cancel: frozenset[str] = frozenset()
    resend_unfetched: bool = False
    wait_for_server_s: float | None = None

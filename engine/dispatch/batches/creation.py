"""Making a batch at the provider: the one step that must not happen twice.

Whoever cannot be sure that it did not happen looks for the batch first.
"""

from __future__ import annotations

import asyncio

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batches.shared import Shared
from evalbench.engine.dispatch.batches.state import MOST_ATTEMPTS, Batch, Stage
from evalbench.engine.dispatch.batches.waits import QUEUE_FULL_S, Waits
from evalbench.engine.dispatch.retry import Patience
from evalbench.engine.errors import RateLimited, TransientError


class Creation:
    """Makes one batch out of its file of requests, or finds it."""

    def __init__(self, batch: Batch, shared: Shared, waits: Waits) -> None:
        self._batch = batch
        self._shared = shared
        self._waits = waits

    async def make(self) -> None:
        """Bring the batch to SUBMITTED, as soon as the provider has room for it.

        Raises:
            CallRejected: the provider will not make it.
            TransientError: it failed too often.
            Left: it is not its time.
        """
        batch, shared = self._batch, self._shared
        await self._room_in_queue()
        patience = Patience(shared.attempts)
        put_off = 0
        while True:
            try:
                async with shared.turn:
                    await asyncio.sleep(shared.next_create - asyncio.get_running_loop().time())
                    self._waits.unless_halted()
                    await self._make_or_find()
                return
            except TransientError as error:
                made = [one for one in shared.batches if one.job and one.stage.out]
                if made and isinstance(error, RateLimited):
                    # What may wait in all is used up until one of these is done, in hours perhaps.
                    shared.report("batch-put-off", batch=batch.name, why=error.why)
                    await self._waits.for_queue(put_off)
                    put_off = min(put_off + 1, MOST_ATTEMPTS)
                else:
                    await self._waits.after(error, patience)

    async def _make_or_find(self) -> None:
        batch, shared = self._batch, self._shared
        job = None
        if batch.stage is Stage.SUBMITTING:
            job = await self._found()
        else:
            batch.since = shared.clock()
            await shared.put(batch, Stage.SUBMITTING)
        if job is None:
            file = shared.folder / batch.requests_file
            gap = 60.0 / shared.terms.creates_per_minute
            shared.next_create = asyncio.get_running_loop().time() + gap
            job = await shared.provider.batch_create(
                file, batch.job_name, batch.model, batch.uploaded
            )
        batch.job = job
        await shared.put(batch, Stage.SUBMITTED)
        shared.report("batch-submitted", batch=batch.name, id=job.id, calls=batch.requests)

    async def _found(self) -> BatchJob | None:
        batch, shared = self._batch, self._shared
        known = {other.job.id for other in shared.batches if other.job and other is not batch}
        jobs = [
            job
            for job in await shared.provider.batch_find(
                batch.job_name,
                batch.model,
                batch.uploaded,
                requests=batch.requests,
                since=batch.since - 60.0,
            )
            if job.id not in known and job.state is not JobState.FAILED
        ]
        if ours := next((job for job in jobs if job.name == batch.job_name), None):
            shared.report("batch-found", batch=batch.name, id=ours.id)
            return ours
        # Nobody knows whose these are before their results can be read.
        batch.doubtful = [job.id for job in jobs if not job.name]
        return next((job for job in jobs if job.id in batch.doubtful), None)

    async def _room_in_queue(self) -> None:
        """Wait until the provider's queue of tokens has room for this batch."""
        batch, shared = self._batch, self._shared
        most = shared.terms.most_tokens
        while most is not None:
            queued = sum(other.tokens for other in shared.batches if other.stage.out)
            if not queued or queued + batch.tokens <= most or batch.stage is Stage.SUBMITTING:
                return
            await self._waits.later(min(QUEUE_FULL_S, shared.poll_s))

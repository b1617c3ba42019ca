"""Creates a batch at the provider: the one step that must not happen twice.

If it may already have happened, the batch is looked for first.
"""

from __future__ import annotations

import asyncio

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.state import MOST_ATTEMPTS, Batch, Stage
from evalbench.engine.dispatch.batch.waits import QUEUE_FULL_S, Waits
from evalbench.engine.dispatch.retry import RetryPolicy
from evalbench.engine.errors import CallRejected, RateLimited, ServerFault, TransientError

LISTING_S = 30.0
"""How long a new batch may be missing from its provider's list."""


class Cancelled(Exception):
    """The batch was not created, and should not be."""


class Creation:
    """Creates one batch from its request file, or finds it."""

    def __init__(self, batch: Batch, context: BatchContext, waits: Waits) -> None:
        self._batch = batch
        self._context = context
        self._waits = waits
        self._asked: float | None = None

    async def make(self) -> None:
        """Bring the batch to SUBMITTED, as soon as the provider has room for it.

        If the response was lost and the provider keeps no names, ``doubtful`` holds the jobs that
        may be this batch.

        Raises:
            CallRejected: the provider refuses to create it.
            Cancelled: the user no longer wants it.
            TransientError: it failed too often.
            Abandoned: it cannot be created now.
        """
        batch, context = self._batch, self._context
        await self._room_in_queue()
        retry_policy = RetryPolicy(context.attempts)
        put_off = looks = 0
        while True:
            context.contact.begin()
            try:
                async with context.turn:
                    await asyncio.sleep(context.next_create - asyncio.get_running_loop().time())
                    self._waits.unless_halted()
                    if await self._make_or_find():
                        return
                await self._waits.pause(2.0**looks)
                looks += 1
            except TransientError as error:
                made = [
                    one
                    for one in context.batches
                    if (one.job or one.doubtful) and one.stage.pending
                ]
                if made and isinstance(error, RateLimited):
                    # The queue limit is used up until a batch completes, perhaps for hours.
                    context.report("batch-put-off", batch=batch.name, why=error.why)
                    await self._waits.for_queue(put_off)
                    put_off = min(put_off + 1, MOST_ATTEMPTS)
                else:
                    await self._waits.after(error, retry_policy)

    async def _make_or_find(self) -> bool:
        """Create the batch unless it exists; False if it should be looked for once more."""
        batch, context = self._batch, self._context
        job = None
        if batch.stage is Stage.SUBMITTING:
            job = await self._found()
            if job is None and not batch.doubtful and self._may_be_listed_yet():
                return False
        else:
            batch.since = context.clock()
        if job is None and not batch.doubtful:
            if batch.cancel_for == "user":
                raise Cancelled
            job = await self._made()
        batch.job = job
        await context.put(batch, Stage.SUBMITTED)
        if job:
            context.report("batch-submitted", batch=batch.name, id=job.id, calls=batch.requests)
        else:
            context.report("batch-uncertain", batch=batch.name, ids=batch.doubtful)
        return True

    async def _made(self) -> BatchJob:
        batch, context = self._batch, self._context
        batch.asked_at = context.clock()
        self._asked = asyncio.get_running_loop().time()
        await context.put(batch, Stage.SUBMITTING)
        # Forgotten in a power cut, it would be created a second time.
        await context.journal.to_disk()
        file = context.folder / batch.requests_file
        gap = 60.0 / context.terms.creates_per_minute
        context.next_create = asyncio.get_running_loop().time() + gap
        try:
            return await context.api.create(file, batch.job_name, batch.model, batch.uploaded)
        except (CallRejected, RateLimited):
            # A plain refusal: it cannot turn up later.
            batch.asked_at = 0.0
            raise

    def _may_be_listed_yet(self) -> bool:
        """Whether an unlisted batch may be one that was just created."""
        if self._context.terms.made_once or not self._batch.asked_at:
            return False
        now = asyncio.get_running_loop().time()
        if self._asked is None:
            # An earlier engine asked; the clock may have been set back since then.
            self._asked = now - max(0.0, self._context.clock() - self._batch.asked_at)
        return now - self._asked < LISTING_S

    async def _found(self) -> BatchJob | None:
        """The job that is this batch by name; if unsure, the candidates go into ``doubtful``."""
        batch, context = self._batch, self._context
        try:
            jobs = await context.api.find(
                batch.job_name,
                batch.model,
                batch.uploaded,
                requests=batch.requests,
                since=batch.since - 60.0,
            )
        except CallRejected as error:
            # The list was refused, not the batch.
            raise ServerFault(
                f"batch {batch.name} cannot be looked for", why=error.summary
            ) from None
        owned = context.owned()
        jobs = [
            job
            for job in jobs
            if job.id not in owned
            and context.owners.get(job.id) in (None, batch.name)
            and job.state is not JobState.FAILED
        ]
        if ours := next((job for job in jobs if job.name == batch.job_name), None):
            context.report("batch-found", batch=batch.name, id=ours.id)
            return ours
        # Whose these are is unknown until their results can be read.
        batch.doubtful = [job.id for job in jobs if not job.name]
        return None

    async def _room_in_queue(self) -> None:
        """Wait until the provider's token queue has room for this batch."""
        batch, context = self._batch, self._context
        most = context.terms.most_tokens
        while most is not None:
            queued = sum(other.tokens for other in context.batches if other.stage.pending)
            if not queued or queued + batch.tokens <= most or batch.stage is Stage.SUBMITTING:
                return
            await self._waits.later(min(QUEUE_FULL_S, context.poll_s))

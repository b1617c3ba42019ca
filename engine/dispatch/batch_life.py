"""One batch from its file of requests to the last of its replies.

Before each step the journal says that it is about to be taken, so an engine
that comes after a crash knows what may have happened. The one step that must
not happen twice is making the batch: whoever cannot be sure that it did not
happen looks for it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.base import ZERO, Host
from evalbench.engine.dispatch.batch_ground import Ground
from evalbench.engine.dispatch.batch_reading import Results
from evalbench.engine.dispatch.batch_settling import Settling
from evalbench.engine.dispatch.batch_state import Batch, Stage
from evalbench.engine.dispatch.retry import Patience
from evalbench.engine.errors import (
    CallRejected,
    RateLimited,
    ServerFault,
    TransientError,
)

T = TypeVar("T")

LONGEST_POLL_S = 300.0
GRACE_S = 3600.0
"""How long past its end a provider may take to say so, and to stop when asked."""
SETTLING_S = 600.0
"""A batch that was just made may be unknown for so long."""
QUEUE_FULL_S = 60.0
LONGEST_QUEUE_S = 600.0
MOST_ATTEMPTS = 255
_PAGE = 64


class Left(Exception):
    """Nothing more can be done for this batch now."""


class Life:
    """Takes one batch through its stages."""

    def __init__(self, batch: Batch, ground: Ground, host: Host) -> None:
        self.batch = batch
        self._ground = ground
        self._settling = Settling(batch, ground, host)
        self._look = asyncio.Event()
        self._uploaded_again = False

    async def run(self) -> None:
        """Go on until the batch is final, or until there is no use in waiting for it."""
        steps = {
            Stage.PREPARED: self._upload,
            Stage.UPLOADED: self._submit,
            Stage.SUBMITTING: self._submit,
            Stage.SUBMITTED: self._watch,
            Stage.RUNNING: self._watch,
            Stage.ENDED: self._fetch,
            Stage.FETCHED: self._read,
        }
        try:
            while not self.batch.stage.final:
                await steps[self.batch.stage]()
        except Left:
            return
        if self._settling.fatal:
            raise self._settling.fatal

    def look_now(self) -> None:
        """Do not wait for the next look."""
        self._look.set()

    # -- sending ------------------------------------------------------------------

    async def _upload(self) -> None:
        batch, ground = self.batch, self._ground
        file = ground.folder / batch.requests_file
        if not file.exists():
            self._settling.ask_again(batch.calls, "its file of requests is gone", sent=False)
            self._settling.let_go()
            await self.put(Stage.FAILED, why="its file of requests is gone")
            return
        self._unless_halted()
        batch.uploaded = await self._patiently(
            lambda: ground.provider.batch_upload(file, batch.job_name, batch.model)
        )
        await self.put(Stage.UPLOADED)

    async def _submit(self) -> None:
        """Make the batch; after a creation whose end is not known, find it first."""
        batch, ground = self.batch, self._ground
        if batch.cancel_for == "user":
            why = "cancelled before it was sent"
            self._settling.fail_all(CallRejected(f"the batch was {why}"))
            await self.put(Stage.CANCELLED, why=why)
            return
        await self._room_in_queue()
        patience = Patience(ground.attempts)
        put_off = 0
        while True:
            try:
                async with ground.turn:
                    await asyncio.sleep(ground.next_create - asyncio.get_running_loop().time())
                    self._unless_halted()
                    await self._make_or_find()
                return
            except CallRejected as error:
                await self._refused(error)
                return
            except TransientError as error:
                made = [one for one in ground.batches if one.job and one.stage.out]
                if made and isinstance(error, RateLimited):
                    # What may wait in all is used up until one of these is done, in hours perhaps.
                    ground.report("batch-put-off", batch=batch.name, why=error.why)
                    await self._later(min(LONGEST_QUEUE_S, QUEUE_FULL_S * 2.0**put_off))
                    put_off = min(put_off + 1, MOST_ATTEMPTS)
                    continue
                pause = patience.wait(error)
                if pause is None:
                    raise
                ground.report("wait", reason=type(error).__name__, what=error.what)
            await self._pause(pause)

    async def _make_or_find(self) -> None:
        batch, ground = self.batch, self._ground
        job = None
        if batch.stage is Stage.SUBMITTING:
            job = await self._found()
        else:
            batch.since = ground.clock()
            await self.put(Stage.SUBMITTING)
        if job is None:
            file = ground.folder / batch.requests_file
            gap = 60.0 / ground.terms.creates_per_minute
            ground.next_create = asyncio.get_running_loop().time() + gap
            job = await ground.provider.batch_create(
                file, batch.job_name, batch.model, batch.uploaded
            )
        batch.job = job
        await self.put(Stage.SUBMITTED)
        ground.report("batch-submitted", batch=batch.name, id=job.id, calls=batch.requests)

    async def _found(self) -> BatchJob | None:
        batch, ground = self.batch, self._ground
        known = {other.job.id for other in ground.batches if other.job and other is not batch}
        jobs = [
            job
            for job in await ground.provider.batch_find(
                batch.job_name,
                batch.model,
                batch.uploaded,
                requests=batch.requests,
                since=batch.since - 60.0,
            )
            if job.id not in known and job.state is not JobState.FAILED
        ]
        if ours := next((job for job in jobs if job.name == batch.job_name), None):
            ground.report("batch-found", batch=batch.name, id=ours.id)
            return ours
        # Nobody knows whose these are before their results can be read.
        batch.doubtful = [job.id for job in jobs if not job.name]
        return next((job for job in jobs if job.id in batch.doubtful), None)

    async def _refused(self, error: CallRejected) -> None:
        """The provider will not make this batch; a file that it has lost is sent once more."""
        batch = self.batch
        if batch.uploaded and not self._uploaded_again:
            self._uploaded_again = True
            await self.put(Stage.PREPARED)
            return
        self._settling.fail_all(error)
        await self.put(Stage.FAILED, why=str(error))

    async def _room_in_queue(self) -> None:
        """Wait until the provider's queue of tokens has room for this batch."""
        batch, ground = self.batch, self._ground
        most = ground.terms.most_tokens
        while most is not None:
            queued = sum(other.tokens for other in ground.batches if other.stage.out)
            if not queued or queued + batch.tokens <= most or batch.stage is Stage.SUBMITTING:
                return
            await self._later(min(QUEUE_FULL_S, ground.poll_s))

    # -- waiting -------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look at the batch until it is over, less and less often."""
        batch, ground = self.batch, self._ground
        pause = ground.poll_s
        while True:
            if job := await self._poll():
                if job != batch.job:
                    batch.job = job
                    running = job.state is JobState.RUNNING
                    await self.put(Stage.RUNNING if running else batch.stage)
                if job.state.over:
                    await self.put(Stage.ENDED)
                    return
            if await self._lost_patience():
                return
            await self._later(pause)
            pause = min(LONGEST_POLL_S, pause * 1.5)

    async def _poll(self) -> BatchJob | None:
        batch, ground = self.batch, self._ground
        assert batch.job
        try:
            return await ground.provider.batch_poll(batch.job.id, batch.model)
        except TransientError as error:
            ground.report("wait", reason=type(error).__name__, what=error.what)
        except CallRejected as error:
            if ground.clock() - batch.since > SETTLING_S:
                return replace(batch.job, state=JobState.FAILED, why=str(error), total=None)
        return None

    async def _lost_patience(self) -> bool:
        """Cancel a batch that takes too long; True when it was given up."""
        batch, ground = self.batch, self._ground
        now = ground.clock()
        age = now - batch.since
        end = batch.since + ground.terms.window_s
        if batch.job and batch.job.expires:
            end = max(end, batch.job.expires)
        if batch.cancelled_at and now - batch.cancelled_at > GRACE_S:
            lost = ServerFault(
                f"batch {batch.job.id if batch.job else batch.name} never ended",
                why="it neither ended in its time nor when it was cancelled",
                possibly_billed=True,
            )
            self._settling.fail_all(lost)
            await self.put(Stage.FAILED, why=lost.what)
            return True
        if not batch.cancel_for:
            if ground.fallback_s is not None and age > ground.fallback_s:
                batch.cancel_for = "fallback"
            elif now > end + GRACE_S:
                batch.cancel_for = "overdue"
        if batch.cancel_for and not batch.cancelled_at:
            if batch.doubtful:
                # It may be somebody else's: only the time for it runs out.
                batch.cancelled_at = now
                await self.put(batch.stage)
            else:
                await self._cancel()
        return False

    async def _cancel(self) -> None:
        batch, ground = self.batch, self._ground
        assert batch.job
        ground.report("batch-cancelled", batch=batch.name, why=batch.cancel_for)
        try:
            await ground.provider.batch_cancel(batch.job.id, batch.model)
        except TransientError:
            return
        except CallRejected:
            # Over already, or gone; the next look tells.
            pass
        batch.cancelled_at = ground.clock()
        await self.put(batch.stage)

    # -- results -------------------------------------------------------------------

    async def _fetch(self) -> None:
        batch, ground = self.batch, self._ground
        assert batch.job
        job = batch.job
        if job.state is JobState.FAILED and batch.doubtful:
            # Ours or not, nothing of it was done.
            await self._not_ours()
            return
        if job.state is JobState.FAILED:
            await self._failed_there(job)
            return
        into = ground.folder / batch.results_file
        partial = into.with_name(into.name + ".part")
        try:
            await self._patiently(lambda: ground.provider.batch_fetch(job, partial))
        except CallRejected as error:
            gone = CallRejected(
                f"the results of batch {job.id} are gone", why=error.what, possibly_billed=True
            )
            self._settling.fail_all(gone)
            await self.put(Stage.FAILED, why=gone.what)
            return
        partial.chmod(0o600)
        partial.replace(into)
        await self.put(Stage.FETCHED)

    async def _failed_there(self, job: BatchJob) -> None:
        """The provider refused the batch as a whole, or does not know it any more."""
        batch, ground = self.batch, self._ground
        if job.again and not batch.cancel_for and batch.attempt < MOST_ATTEMPTS:
            ground.report("batch-put-off", batch=batch.name, why=job.why)
            # Some tell how long their queue is only when they refuse.
            ground.terms = ground.provider.batch_terms(batch.model) or ground.terms
            if batch.requests > 1 and batch.tokens > (ground.most_tokens or batch.tokens):
                self._settling.ask_again(batch.calls, "too large for the queue", sent=False)
                self._settling.let_go()
                await self.put(Stage.FAILED, why=job.why)
                return
            batch.attempt += 1
            batch.job = None
            await self.put(Stage.UPLOADED, why=job.why)
            await self._later(min(LONGEST_QUEUE_S, QUEUE_FULL_S * 2.0 ** (batch.attempt - 1)))
            return
        error = CallRejected(
            f"batch {job.id} failed", why=job.why, possibly_billed=job.total is None
        )
        self._settling.fail_all(error)
        await self.put(Stage.FAILED, why=job.why)

    async def _read(self) -> None:
        """Turn result lines into replies, and let go of calls that have none."""
        batch, ground = self.batch, self._ground
        results = Results(ground.provider, batch, ground.folder / batch.results_file)
        if batch.doubtful and not results.belong():
            await self._not_ours()
            return
        has_reply = ground.with_reply(batch.calls)
        again: list[int] = []
        for page in results.pages(_PAGE):
            new = [(ident, line) for ident, line in page if ident not in has_reply]
            samples = ground.samples(ident for ident, _ in new)
            self._settling.have_at_hand(samples)
            rows = {call.id: call for sample in samples for call in sample.calls}
            for ident, line in new:
                if (row := rows.get(ident)) and not self._settling.took(row, line):
                    again.append(ident)
            ground.journal.flush()
            await asyncio.sleep(0)
        if results.odd:
            ground.report("batch-odd-lines", batch=batch.name, **results.odd)
        again += self._settling.unanswered([i for i in results.missing() if i not in has_reply])
        self._settling.ask_again(again, "")
        state = batch.job.state if batch.job else JobState.ENDED
        final = {JobState.EXPIRED: Stage.EXPIRED, JobState.CANCELLED: Stage.CANCELLED}
        self._settling.let_go()
        await self.put(final.get(state, Stage.DONE))
        ground.report(
            "batch-read",
            batch=batch.name,
            answered=batch.answered,
            failed=batch.failed,
            again=batch.again,
        )

    async def _not_ours(self) -> None:
        """What was found is somebody else's: look at the next one, or make the batch after all."""
        batch = self.batch
        assert batch.job
        others = [job for job in batch.doubtful if job != batch.job.id]
        batch.doubtful = others
        batch.job = BatchJob(others[0], JobState.WAITING) if others else None
        (self._ground.folder / batch.results_file).unlink(missing_ok=True)
        await self.put(Stage.SUBMITTED if others else Stage.UPLOADED)

    # -- small things ----------------------------------------------------------------

    async def put(self, stage: Stage, *, why: str = "") -> None:
        """Write down where the batch stands, and only then go on."""
        batch = self.batch
        batch.stage = stage
        batch.why = why or batch.why
        batch.worst = batch.ticket.worst if batch.ticket else ZERO
        await self._ground.journal.put_batch(batch.row())

    async def _patiently(self, step: Callable[[], Awaitable[T]]) -> T:
        """A step that may be taken twice, until it works or there is no use in trying.

        Raises:
            ProviderError: the last failure.
        """
        patience = Patience(self._ground.attempts)
        while True:
            try:
                return await step()
            except TransientError as error:
                pause = patience.wait(error)
                if pause is None:
                    raise
                self._ground.report("wait", reason=type(error).__name__, what=error.what)
            await self._pause(pause)

    async def _later(self, seconds: float) -> None:
        """Wait for the provider, unless nobody wants to."""
        if self._ground.leave:
            raise Left
        await self._pause(seconds)

    async def _pause(self, seconds: float) -> None:
        self._look.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return

    def _unless_halted(self) -> None:
        if self._ground.halted.is_set():
            raise Left

"""One batch from its file of requests to the last of its replies.

Before each step the journal says that it is about to be taken, so an engine
that comes after a crash knows what may have happened.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.base import Host
from evalbench.engine.dispatch.batches.creation import Creation
from evalbench.engine.dispatch.batches.results import Results
from evalbench.engine.dispatch.batches.settling import Settling
from evalbench.engine.dispatch.batches.shared import Shared
from evalbench.engine.dispatch.batches.state import MOST_ATTEMPTS, Batch, Stage
from evalbench.engine.dispatch.batches.waits import Left, Waits
from evalbench.engine.errors import CallRejected, ServerFault, TransientError
from evalbench.engine.paths import open_private

LONGEST_POLL_S = 300.0
GRACE_S = 3600.0
"""How long past its end a provider may take to say so, and to stop when asked."""
SETTLING_S = 600.0
"""A batch that was just made may be unknown for so long."""
_PAGE = 64


class Life:
    """Takes one batch through its stages."""

    def __init__(self, batch: Batch, shared: Shared, host: Host) -> None:
        self.batch = batch
        self._shared = shared
        self._settling = Settling(batch, shared, host)
        self._waits = Waits(shared)
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
        self._waits.cut_short()

    # -- sending ------------------------------------------------------------------

    async def _upload(self) -> None:
        batch, shared = self.batch, self._shared
        file = shared.folder / batch.requests_file
        if not file.exists():
            self._settling.ask_again(batch.calls, "its file of requests is gone", sent=False)
            self._settling.let_go()
            await self._shared.put(batch, Stage.FAILED, why="its file of requests is gone")
            return
        self._waits.unless_halted()
        batch.uploaded = await self._waits.patiently(
            lambda: shared.provider.batch_upload(file, batch.job_name, batch.model)
        )
        await self._shared.put(batch, Stage.UPLOADED)

    async def _submit(self) -> None:
        """Make the batch; after a creation whose end is not known, find it first."""
        batch = self.batch
        if batch.cancel_for == "user":
            why = "cancelled before it was sent"
            self._settling.fail_all(CallRejected(f"the batch was {why}"))
            await self._shared.put(batch, Stage.CANCELLED, why=why)
            return
        try:
            await Creation(batch, self._shared, self._waits).make()
        except CallRejected as error:
            await self._refused(error)

    async def _refused(self, error: CallRejected) -> None:
        """The provider will not make this batch; a file that it has lost is sent once more."""
        batch = self.batch
        if batch.uploaded and not self._uploaded_again:
            self._uploaded_again = True
            await self._shared.put(batch, Stage.PREPARED)
            return
        self._settling.fail_all(error)
        await self._shared.put(batch, Stage.FAILED, why=str(error))

    # -- waiting -------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look at the batch until it is over, less and less often."""
        batch, shared = self.batch, self._shared
        pause = shared.poll_s
        while True:
            if job := await self._poll():
                if job != batch.job:
                    batch.job = job
                    running = job.state is JobState.RUNNING
                    await self._shared.put(batch, Stage.RUNNING if running else batch.stage)
                if job.state.over:
                    await self._shared.put(batch, Stage.ENDED)
                    return
            if await self._lost_patience():
                return
            await self._waits.later(pause)
            pause = min(LONGEST_POLL_S, pause * 1.5)

    async def _poll(self) -> BatchJob | None:
        batch, shared = self.batch, self._shared
        assert batch.job
        try:
            return await shared.provider.batch_poll(batch.job.id, batch.model)
        except TransientError as error:
            shared.report("wait", reason=type(error).__name__, what=error.what)
        except CallRejected as error:
            if shared.clock() - batch.since > SETTLING_S:
                return replace(batch.job, state=JobState.FAILED, why=str(error), total=None)
        return None

    async def _lost_patience(self) -> bool:
        """Cancel a batch that takes too long; True when it was given up."""
        batch, shared = self.batch, self._shared
        now = shared.clock()
        age = now - batch.since
        end = batch.since + shared.terms.window_s
        if batch.job and batch.job.expires:
            end = max(end, batch.job.expires)
        if batch.cancelled_at and now - batch.cancelled_at > GRACE_S:
            lost = ServerFault(
                f"batch {batch.job.id if batch.job else batch.name} never ended",
                why="it neither ended in its time nor when it was cancelled",
                possibly_billed=True,
            )
            self._settling.fail_all(lost)
            await self._shared.put(batch, Stage.FAILED, why=lost.what)
            return True
        if not batch.cancel_for:
            if shared.fallback_s is not None and age > shared.fallback_s:
                batch.cancel_for = "fallback"
            elif now > end + GRACE_S:
                batch.cancel_for = "overdue"
        if batch.cancel_for and not batch.cancelled_at:
            if batch.doubtful:
                # It may be somebody else's: only the time for it runs out.
                batch.cancelled_at = now
                await self._shared.put(batch, batch.stage)
            else:
                await self._cancel()
        return False

    async def _cancel(self) -> None:
        batch, shared = self.batch, self._shared
        assert batch.job
        shared.report("batch-cancelled", batch=batch.name, why=batch.cancel_for)
        try:
            await shared.provider.batch_cancel(batch.job.id, batch.model)
        except TransientError:
            return
        except CallRejected:
            # Over already, or gone; the next look tells.
            pass
        batch.cancelled_at = shared.clock()
        await self._shared.put(batch, batch.stage)

    # -- results -------------------------------------------------------------------

    async def _fetch(self) -> None:
        batch, shared = self.batch, self._shared
        assert batch.job
        job = batch.job
        if job.state is JobState.FAILED and batch.doubtful:
            # Ours or not, nothing of it was done.
            await self._not_ours()
            return
        if job.state is JobState.FAILED:
            await self._failed_there(job)
            return
        into = shared.folder / batch.results_file
        partial = into.with_name(into.name + ".part")
        open_private(partial).close()
        try:
            await self._waits.patiently(lambda: shared.provider.batch_fetch(job, partial))
        except CallRejected as error:
            gone = CallRejected(
                f"the results of batch {job.id} are gone", why=error.what, possibly_billed=True
            )
            self._settling.fail_all(gone)
            await self._shared.put(batch, Stage.FAILED, why=gone.what)
            return
        partial.replace(into)
        await self._shared.put(batch, Stage.FETCHED)

    async def _failed_there(self, job: BatchJob) -> None:
        """The provider refused the batch as a whole, or does not know it any more."""
        batch, shared = self.batch, self._shared
        if job.again and not batch.cancel_for and batch.attempt < MOST_ATTEMPTS:
            shared.report("batch-put-off", batch=batch.name, why=job.why)
            # Some tell how long their queue is only when they refuse.
            shared.terms = shared.provider.batch_terms(batch.model) or shared.terms
            if batch.requests > 1 and batch.tokens > (shared.most_tokens or batch.tokens):
                self._settling.ask_again(batch.calls, "too large for the queue", sent=False)
                self._settling.let_go()
                await self._shared.put(batch, Stage.FAILED, why=job.why)
                return
            batch.attempt += 1
            batch.job = None
            await self._shared.put(batch, Stage.UPLOADED, why=job.why)
            await self._waits.for_queue(batch.attempt - 1)
            return
        error = CallRejected(
            f"batch {job.id} failed", why=job.why, possibly_billed=job.total is None
        )
        self._settling.fail_all(error)
        await self._shared.put(batch, Stage.FAILED, why=job.why)

    async def _read(self) -> None:
        """Turn result lines into replies, and let go of calls that have none."""
        batch, shared = self.batch, self._shared
        results = Results(shared.provider, batch, shared.folder / batch.results_file)
        if batch.doubtful and not results.belong():
            await self._not_ours()
            return
        has_reply = shared.with_reply(batch.calls)
        again: list[int] = []
        for page in results.pages(_PAGE):
            new = [(ident, line) for ident, line in page if ident not in has_reply]
            samples = shared.samples(ident for ident, _ in new)
            self._settling.have_at_hand(samples)
            rows = {call.id: call for sample in samples for call in sample.calls}
            for ident, line in new:
                if (row := rows.get(ident)) and not self._settling.took(row, line):
                    again.append(ident)
            shared.journal.flush()
            await asyncio.sleep(0)
        if results.odd:
            shared.report("batch-odd-lines", batch=batch.name, **results.odd)
        again += self._settling.unanswered([i for i in results.missing() if i not in has_reply])
        self._settling.ask_again(again, "")
        state = batch.job.state if batch.job else JobState.ENDED
        final = {JobState.EXPIRED: Stage.EXPIRED, JobState.CANCELLED: Stage.CANCELLED}
        self._settling.let_go()
        await self._shared.put(batch, final.get(state, Stage.DONE))
        shared.report(
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
        (self._shared.folder / batch.results_file).unlink(missing_ok=True)
        await self._shared.put(batch, Stage.SUBMITTED if others else Stage.UPLOADED)

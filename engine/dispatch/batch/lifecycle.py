"""The lifecycle of one batch, from its request file to its last reply.

Before each step the journal records that it is about to be taken, so that an engine after a
crash knows what may have happened.
"""

from __future__ import annotations

import asyncio

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.base import ReplySink
from evalbench.engine.dispatch.batch.adoption import Adoption
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.creation import Cancelled, Creation
from evalbench.engine.dispatch.batch.download import ONCE_MORE_S, Download, needs_user
from evalbench.engine.dispatch.batch.reconciliation import Reconciliation
from evalbench.engine.dispatch.batch.results import Results
from evalbench.engine.dispatch.batch.state import MOST_ATTEMPTS, Batch, Stage
from evalbench.engine.dispatch.batch.waits import Abandoned, Waits
from evalbench.engine.dispatch.circuit_breaker import is_provider_down
from evalbench.engine.errors import (
    CallRejected,
    ProviderError,
    RunFatal,
    ServerFault,
    TransientError,
)

LONGEST_POLL_S = 300.0
GRACE_S = 3600.0
"""How late a provider may report the end of a batch, or stop it when asked."""
SETTLING_S = 600.0
"""How long a provider may report a batch as unknown."""


class Lifecycle:
    """Takes one batch through its stages."""

    def __init__(self, batch: Batch, context: BatchContext, sink: ReplySink) -> None:
        self.batch = batch
        self._context = context
        self._reconciliation = Reconciliation(batch, context, sink)
        self._waits = Waits(context)
        self._uploaded_again = False
        self._given_up_before = batch.stage is Stage.UNFETCHED
        if self._given_up_before:
            batch.failing_since = 0.0

    async def run(self) -> None:
        """Continue until the batch is final, or waiting for it is pointless."""
        steps = {
            Stage.PREPARED: self._upload,
            Stage.UPLOADED: self._submit,
            Stage.SUBMITTING: self._submit,
            Stage.SUBMITTED: self._wait,
            Stage.RUNNING: self._wait,
            Stage.ENDED: self._fetch,
            Stage.UNFETCHED: self._once_more,
            Stage.FETCHED: self._read,
        }
        try:
            while not self.batch.stage.final:
                await steps[self.batch.stage]()
        except Abandoned:
            return
        if self._reconciliation.fatal:
            raise self._reconciliation.fatal

    def look_now(self) -> None:
        """Poll now instead of waiting."""
        self._waits.cut_short()

    # -- sending ------------------------------------------------------------------

    async def _upload(self) -> None:
        batch, context = self.batch, self._context
        file = context.folder / batch.requests_file
        if not file.exists():
            self._reconciliation.ask_again(batch.calls, "its file of requests is gone", sent=False)
            self._reconciliation.release()
            await self._context.put(batch, Stage.FAILED, why="its file of requests is gone")
            return
        self._waits.unless_halted()
        batch.uploaded = await self._waits.patiently(
            lambda: context.api.upload(file, batch.job_name, batch.model)
        )
        await self._context.put(batch, Stage.UPLOADED)

    async def _submit(self) -> None:
        """Create the batch; if an earlier creation may have succeeded, look for it first."""
        try:
            if self.batch.cancel_for == "user" and self.batch.stage is not Stage.SUBMITTING:
                raise Cancelled
            await Creation(self.batch, self._context, self._waits).make()
        except CallRejected as error:
            await self._refused(error)
        except Cancelled:
            why = "cancelled before it was sent"
            self._reconciliation.fail_all(CallRejected(f"the batch was {why}"))
            await self._context.put(self.batch, Stage.CANCELLED, why=why)

    async def _refused(self, error: CallRejected) -> None:
        """The provider refused to create the batch; if it lost the file, upload it once more."""
        batch = self.batch
        if batch.uploaded and not self._uploaded_again:
            self._uploaded_again = True
            await self._context.put(batch, Stage.PREPARED)
            return
        self._reconciliation.fail_all(error)
        await self._context.put(batch, Stage.FAILED, why=str(error))

    # -- waiting -------------------------------------------------------------------

    async def _wait(self) -> None:
        """Wait until the batch has ended; if its job is still unknown, until it is identified."""
        await (self._identify() if self.batch.doubtful else self._watch())

    async def _watch(self) -> None:
        """Poll the batch until it has ended, less and less often."""
        batch, context = self.batch, self._context
        pause = context.poll_s
        while True:
            try:
                job = await self._poll()
            except CallRejected as error:
                await self._not_fetched(error)
                return
            if job:
                if job != batch.job or batch.stage is Stage.UNFETCHED:
                    batch.job = job
                    running = job.state is JobState.RUNNING or batch.stage is Stage.RUNNING
                    await context.put(batch, Stage.RUNNING if running else Stage.SUBMITTED)
                if job.state.over:
                    await context.put(batch, Stage.ENDED)
                    return
            if job and await self._overdue(job):
                return
            await self._waits.later(pause)
            pause = min(LONGEST_POLL_S, pause * 1.5)

    async def _poll(self) -> BatchJob | None:
        """The batch's current state; None if it is not available.

        Raises:
            CallRejected: the provider has long reported that there is no such batch.
        """
        batch, context = self.batch, self._context
        assert batch.job
        try:
            context.contact.begin()
            job = await context.api.poll(batch.job.id, batch.model)
            context.contact.made = True
        except TransientError as error:
            if not self._waits.unreached(error):
                context.report("wait", reason=type(error).__name__, what=error.what)
            return None
        except CallRejected as error:
            if not batch.failing_since:
                batch.failing_since = context.clock()
                await context.put(batch, batch.stage)
            if self._failed_for_long(SETTLING_S):
                raise
            context.report("wait", reason=type(error).__name__, what=error.what)
            return None
        batch.failing_since = 0.0
        return job

    def _failed_for_long(self, seconds: float) -> bool:
        """Whether to give up on what keeps failing."""
        if self._given_up_before:
            # An engine that does not wait has no second attempt.
            seconds = -1.0 if self._context.leave else ONCE_MORE_S
        return self._context.clock() - self.batch.failing_since > seconds

    async def _identify(self) -> None:
        """Find out which job is this batch, and create it if none of them is."""
        batch, context = self.batch, self._context
        adoption = Adoption(batch, context, self._waits)
        pause = context.poll_s
        while True:
            before = batch.stage, len(batch.doubtful)
            try:
                job = await adoption.look()
            except RunFatal as error:
                await self._set_aside(error)
                raise
            if job:
                batch.job, batch.doubtful, batch.failing_since = job, [], 0.0
                context.report("batch-found", batch=batch.name, id=job.id)
                await context.put(batch, Stage.ENDED)
                return
            if not batch.doubtful:
                await context.put(batch, Stage.SUBMITTING)
                return
            if failure := adoption.failure():
                batch.failing_since = batch.failing_since or context.clock()
                if self._failed_for_long(SETTLING_S):
                    await self._not_fetched(failure)
                    return
                await context.put(batch, batch.stage)
            else:
                batch.failing_since = 0.0
                if before != (Stage.SUBMITTED, len(batch.doubtful)):
                    await context.put(batch, Stage.SUBMITTED)
            if await self._overdue(None):
                return
            await self._waits.later(pause)
            pause = min(LONGEST_POLL_S, pause * 1.5)

    async def _overdue(self, job: BatchJob | None) -> bool:
        """Cancel a batch that takes too long; True if it was given up on.

        Args:
            job: the provider's report of just now. What it took is measured by the provider's
                clock, if that is known: this machine's may have been wrong, then or now.
        """
        batch, context = self.batch, self._context
        now, since = context.clock(), batch.since
        if job and job.reported is not None:
            now, since = job.reported, job.created or since
        age, end = now - since, since + context.terms.window_s
        if job and job.expires:
            end = max(end, job.expires)
        if batch.cancelled_at and now - batch.cancelled_at > GRACE_S:
            lost = ServerFault(
                f"batch {batch.job.id if batch.job else batch.name} never ended",
                why="it neither ended in its time nor when it was cancelled",
                possibly_billed=True,
            )
            self._reconciliation.fail_all(lost)
            await self._context.put(batch, Stage.FAILED, why=lost.what)
            return True
        if not batch.cancel_for:
            if context.fallback_s is not None and age > context.fallback_s:
                batch.cancel_for = "fallback"
            elif now > end + GRACE_S:
                batch.cancel_for = "overdue"
        if batch.cancel_for and not batch.cancelled_at:
            if batch.doubtful:
                # It may belong to someone else: only stop waiting for it.
                batch.cancelled_at = now
                await self._context.put(batch, batch.stage)
            else:
                await self._cancel(now)
        return False

    async def _cancel(self, now: float) -> None:
        batch, context = self.batch, self._context
        assert batch.job
        context.report("batch-cancelled", batch=batch.name, why=batch.cancel_for)
        try:
            await context.api.cancel(batch.job.id, batch.model)
        except TransientError:
            return
        except CallRejected:
            # Already over, or gone; the next poll shows which.
            pass
        batch.cancelled_at = now
        await self._context.put(batch, batch.stage)

    # -- results -------------------------------------------------------------------

    async def _fetch(self) -> None:
        batch, context = self.batch, self._context
        assert batch.job
        job = batch.job
        if job.state is JobState.FAILED:
            await self._failed_there(job)
            return
        download = Download(batch, context, self._waits)
        try:
            batch.job = await download.whole(job)
        except ProviderError as error:
            if needs_user(error):
                await self._set_aside(error)
                raise
            if isinstance(error, TransientError) and is_provider_down(error):
                raise
            await self._keep_what_came(download)
            await self._not_fetched(error)
            return
        batch.failing_since = 0.0
        await download.keep()
        await context.put(batch, Stage.FETCHED)

    async def _once_more(self) -> None:
        """Retry what an earlier engine gave up on."""
        batch = self.batch
        over = batch.job is not None and batch.job.state.over
        await (self._fetch() if over and not batch.doubtful else self._wait())

    async def _keep_what_came(self, download: Download) -> None:
        """Read what there is of results that never arrived completely."""
        results = Results(self._context.api, self.batch, download.file)
        if download.file.exists() and (await results.survey()).ours:
            again = await self._take(results)
            self._reconciliation.ask_again(again, self._reconciliation.why)
            await download.keep()

    async def _not_fetched(self, error: ProviderError) -> None:
        """Results cannot be fetched: nothing is sent again unless the user asked for it.

        Raises:
            Abandoned: there is nothing more to do for this batch.
        """
        batch, context = self.batch, self._context
        if not context.pending.intersection(batch.calls):
            await self._done()
            return
        if not (self._given_up_before and context.resend_unfetched):
            await self._set_aside(error)
            raise Abandoned
        lost = CallRejected(
            f"the results of batch {batch.job.id if batch.job else batch.name} were not fetched",
            why=error.summary,
            possibly_billed=True,
        )
        calls = self._reconciliation.send_again(lost)
        context.report("batch-resent", batch=batch.name, calls=calls, usd=str(batch.worst))
        await context.put(batch, Stage.FAILED, why=lost.summary)

    async def _set_aside(self, error: ProviderError) -> None:
        """Leave the batch to a later engine."""
        batch, context = self.batch, self._context
        await context.put(batch, Stage.UNFETCHED, why=error.summary)
        calls = self._reconciliation.set_aside()
        context.report("batch-not-fetched", batch=batch.name, calls=calls, why=batch.why)

    async def _failed_there(self, job: BatchJob) -> None:
        """The provider refused the batch as a whole, or no longer knows it."""
        batch, context = self.batch, self._context
        if job.again and not batch.cancel_for and batch.attempt < MOST_ATTEMPTS:
            context.report("batch-put-off", batch=batch.name, why=job.why)
            # Some reveal the length of their queue only when they refuse.
            context.terms = context.api.terms(batch.model) or context.terms
            if batch.requests > 1 and batch.tokens > (context.most_tokens or batch.tokens):
                self._reconciliation.ask_again(batch.calls, "too large for the queue", sent=False)
                self._reconciliation.release()
                await self._context.put(batch, Stage.FAILED, why=job.why)
                return
            batch.attempt += 1
            batch.job = None
            await self._context.put(batch, Stage.UPLOADED, why=job.why)
            await self._waits.for_queue(batch.attempt - 1)
            return
        error = CallRejected(
            f"batch {job.id} failed", why=job.why, possibly_billed=job.total is None
        )
        self._reconciliation.fail_all(error)
        await self._context.put(batch, Stage.FAILED, why=job.why)

    async def _read(self) -> None:
        """Turn result lines into replies, and release calls that have none."""
        batch, context = self.batch, self._context
        file = context.folder / batch.results_file
        if not file.exists():
            await context.put(batch, Stage.ENDED)
            return
        results = Results(context.api, batch, file)
        again = await self._take(results)
        missing = results.missing()
        has_reply = context.with_reply(missing)
        # The same set after a crash: calls that are only asked again come last and are gone.
        executed = missing[: self._executed_of(len(missing), results)] if missing else ()
        self._reconciliation.ask_again(again, self._reconciliation.why)
        left = [ident for ident in missing if ident not in has_reply]
        self._reconciliation.unanswered(left, executed=set(executed))
        await self._done()

    def _executed_of(self, missing: int, results: Results) -> int:
        """How many of the calls without a line the provider may have answered anyway."""
        batch = self.batch
        good = len(self._context.well_answered(batch.calls[line] for line in results.seen))
        bad = len(results.seen) - good
        job = batch.job
        if job is None or job.state is JobState.ENDED:
            failed = job.failed if job else None
            return missing - min(missing, max(0, (failed or 0) - bad))
        # Calls not started before an early end are not billed; started ones may have no line, or
        # one that cannot be read.
        done = batch.done_there or 0
        lost = done - good if job.succeeded is not None else done - good - bad
        return min(missing, max(lost, job.withheld, results.odd.get("unreadable", 0)))

    async def _done(self) -> None:
        """Finish: all its results have been read."""
        batch, context = self.batch, self._context
        state = batch.job.state if batch.job else JobState.ENDED
        final = {JobState.EXPIRED: Stage.EXPIRED, JobState.CANCELLED: Stage.CANCELLED}
        self._reconciliation.release()
        await context.put(batch, final.get(state, Stage.DONE))
        context.report(
            "batch-read",
            batch=batch.name,
            answered=batch.answered,
            failed=batch.failed,
            again=batch.again,
        )

    async def _take(self, results: Results) -> list[int]:
        """Store what result lines say; returns the calls to ask again."""
        batch, context = self.batch, self._context
        has_reply = context.with_reply(batch.calls)
        again: list[int] = []
        async with context.reading:
            for page in results.pages():
                new = [(ident, result) for ident, result in page if ident not in has_reply]
                samples = context.samples(ident for ident, _ in new)
                self._reconciliation.preload(samples)
                rows = {call.id: call for sample in samples for call in sample.calls}
                for ident, result in new:
                    row = rows.get(ident)
                    if row and not self._reconciliation.store_result(row, result):
                        again.append(ident)
                self._reconciliation.page_stored()
                # Samples that have all their replies are scored before the next page is read.
                await asyncio.sleep(0)
        if results.odd:
            context.report("batch-odd-lines", batch=batch.name, **results.odd)
        return again

"""Decides each call of an ended batch: a reply, an error with its reason, or another attempt."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from decimal import Decimal
from functools import lru_cache

from evalbench.engine.calls import Call, JobState, ModelRef, ResultLine
from evalbench.engine.calls.replies import Reply
from evalbench.engine.dispatch.base import ZERO, ReplySink, failed_reply
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.state import Batch, Stage
from evalbench.engine.errors import DeadlineExceeded, ProviderError, RunFatal, TransientError
from evalbench.engine.journal.paging import SampleCalls
from evalbench.engine.journal.records import CallRow

ROUNDS = 3
"""Maximum number of batches in which a call is sent."""

_ENDINGS = {
    "user": "it was cancelled",
    "overdue": "it was cancelled, as it did not end in its time",
}


class Reconciliation:
    """Reconciles the calls of one batch, one by one or all together.

    Attributes:
        fatal: the first error among the results that means no call can succeed.
        why: the first error among the results for which a call is asked again.
    """

    def __init__(self, batch: Batch, context: BatchContext, sink: ReplySink) -> None:
        self._batch = batch
        self._context = context
        self._sink = sink
        self._repeated = 0
        self.fatal: RunFatal | None = None
        self.why = ""

    def preload(self, samples: Iterable[SampleCalls]) -> None:
        """Pass samples that were just read to the driver, so that it need not read them again."""
        self._sink.preload(samples)

    def page_stored(self) -> None:
        """Commit the replies of a page of lines, and let their samples continue."""
        if self._repeated:
            self._asked_again(self._repeated, self.why)
            self._repeated = 0
        # With its counts, so that after a crash none of them is counted, or reserved for, twice.
        self._context.record(self._batch)
        self._context.journal.flush()
        self._sink.page_arrived()

    def store_result(self, row: CallRow, result: ResultLine) -> bool:
        """Store the reply in a line; False if the call should be asked again."""
        batch, call = self._batch, Call(_model(row.key.model), row.prompt)
        try:
            reply = self._context.api.reply(result, call)
        except RunFatal as error:
            self.fatal = self.fatal or error
            return False
        except ProviderError as error:
            if not isinstance(error, TransientError) or not self._worth_another(row.id):
                self._fail(row, error)
                return True
            self.why = self.why or error.summary
            if not error.possibly_billed:
                return False
            self._repeat([row], error)
            self._repeated += 1
            return True
        cost = self._context.meter.answered_in_batch(call, reply)
        if cost is None and self._context.meter.prices is not None:
            # Its tokens are unknown: its reservation counts as its cost, here and after a resume.
            cost = self._share()
        batch.cost += cost or ZERO
        if cost is not None:
            batch.saved += (self._context.at_once.cost(reply) or cost) - cost
        reply = reply.settled(
            attempts=self._round(row.id),
            latency_s=reply.latency_s,
            possibly_billed=reply.possibly_billed,
            cost=cost,
            possible_cost=reply.possible_cost,
        )
        self._store(row, reply, cost)
        return True

    def unanswered(self, missing: list[int], *, executed: Collection[int]) -> None:
        """Ask calls without a result line again, or give them an error.

        Args:
            missing: the calls.
            executed: those that the provider may have answered.
        """
        batch = self._batch
        ended = batch.job is not None and batch.job.state is JobState.ENDED
        if ended and missing:
            self._context.report("batch-missing", batch=batch.name, calls=len(missing))
        again = [ident for ident in missing if self._worth_another(ident)]
        for row in self._context.rows(set(missing).difference(again)):
            did = "brought no result for" if ended or row.id in executed else "ended before"
            error = DeadlineExceeded(
                f"the batch {did} this call",
                why=_ENDINGS.get(batch.cancel_for, ""),
                possibly_billed=row.id in executed,
            )
            self._fail(row, error)
        in_vain = [ident for ident in again if ident in executed]
        lost = DeadlineExceeded("the batch brought no result for this call", possibly_billed=True)
        self._repeat(self._context.rows(in_vain), lost)
        if in_vain:
            self._asked_again(len(in_vain), "")
        self.ask_again(set(again).difference(in_vain), "")

    def _worth_another(self, ident: int) -> bool:
        if self._batch.cancel_for == "user":
            return False
        return self._batch.cancel_for == "fallback" or self._round(ident) < ROUNDS

    def _round(self, ident: int) -> int:
        return self._context.rounds.get(ident, 1)

    def _store(self, row: CallRow, reply: Reply, cost: Decimal | None) -> None:
        context, batch = self._context, self._batch
        reply = context.journal.store_any_reply(row.row, row.key, row.reask, reply)
        part = self._share()
        if batch.reservation:
            context.meter.budget.settle_part(
                batch.reservation, part, part if cost is None else cost
            )
        context.pending.discard(row.id)
        context.answered.add(row.id)
        if reply.error:
            batch.failed += 1
        else:
            batch.answered += 1
        self._sink.arrived(row, batch.role, reply)

    def _share(self) -> Decimal:
        """The amount reserved for one call of this batch."""
        batch = self._batch
        if batch.reservation is None or not batch.requests:
            return ZERO
        left = batch.requests - batch.answered - batch.failed - batch.again
        return batch.reservation.worst / max(1, left)

    def _fail(self, row: CallRow, error: ProviderError) -> None:
        possible = self._share() if error.possibly_billed else ZERO
        if possible:
            self._context.meter.note_uncertain()
        self._context.meter.budget.possible += possible
        self._store(row, failed_reply(error, self._round(row.id), possible), ZERO)

    def fail_all(self, error: ProviderError) -> None:
        """Fail every call of the batch that has no reply, for the same reason."""
        calls, context = self._batch.calls, self._context
        has_reply = context.with_reply(calls)
        for row in context.rows(ident for ident in calls if ident not in has_reply):
            self._fail(row, error)
        self.release()

    def ask_again(self, calls: Iterable[int], why: str, *, sent: bool = True) -> None:
        """Release calls from the batch without a reply; their samples ask them again."""
        context, batch = self._context, self._batch
        leaving = {ident for ident in calls if ident}
        if not leaving:
            return
        # One that is asked again may soon be in another batch, under the same number.
        batch.calls = array("q", (0 if call in leaving else call for call in batch.calls))
        for ident in leaving:
            context.rounds[ident] = self._round(ident) + sent
            context.pending.discard(ident)
            if batch.cancel_for == "fallback":
                context.not_here.add(ident)
            if batch.reservation:
                context.meter.budget.settle_part(batch.reservation, self._share(), ZERO)
            batch.again += 1
        context.journal.forget_calls(leaving)
        self._asked_again(len(leaving), why)
        for ident in leaving:
            self._sink.resume_sample(*context.place(ident))

    def set_aside(self) -> int:
        """Stop waiting for calls that may have been answered, and ask none of them again.

        Returns:
            Their number. They count as possibly billed until their results arrive.
        """
        context, batch = self._context, self._batch
        left = context.pending.intersection(batch.calls)
        context.pending -= left
        context.unfetched |= left
        if batch.reservation:
            context.meter.budget.possibly_billed(batch.reservation)
            batch.reservation = None
        return len(left)

    def send_again(self, error: ProviderError) -> int:
        """Ask calls again that may have been answered, as the user requested.

        The first sending of each stays in the journal, possibly billed at its worst case.

        Returns:
            Their number.
        """
        context, batch = self._context, self._batch
        left = context.pending.intersection(batch.calls)
        self._repeat(context.rows(left), error)
        self.release()
        return len(left)

    def _asked_again(self, calls: int, why: str) -> None:
        self._context.report("batch-asks-again", batch=self._batch.name, calls=calls, why=why)

    def _repeat(self, rows: Iterable[CallRow], error: ProviderError) -> None:
        """Ask calls again; their first sending stays in the journal as possibly billed."""
        context, batch = self._context, self._batch
        for row in rows:
            possible = self._share()
            if possible:
                context.meter.note_uncertain()
            reply = failed_reply(error, self._round(row.id), possible)
            context.journal.store_reply(row.row, row.key, row.reask, reply)
            if batch.reservation:
                context.meter.budget.settle_part(batch.reservation, possible, ZERO)
            context.meter.budget.possible += possible
            context.pending.discard(row.id)
            # Its sample may have been read before this reply was stored.
            context.answered.add(row.id)
            batch.again += 1
            next_id = context.journal.call_id(row.row, row.key, row.reask + 1)
            context.rounds[next_id] = self._round(row.id) + 1
            if batch.cancel_for == "fallback":
                context.not_here.add(next_id)
            self._sink.resume_sample(row.row, row.key.epoch)

    def release(self) -> None:
        """Release what is still reserved, and count none of its calls as pending."""
        if reservation := self._batch.reservation:
            self._context.meter.budget.release(reservation)
            self._batch.reservation = None
        self._context.pending.difference_update(self._batch.calls)

    def undo(self, why: str) -> None:
        """Nothing of the batch was or will be sent: its samples ask again."""
        self.forget(why)
        for ident in filter(None, self._batch.calls):
            self._sink.resume_sample(*self._context.place(ident))

    def forget(self, why: str) -> None:
        """Delete its calls from the journal when no sample will ask them again."""
        batch, journal = self._batch, self._context.journal
        self.release()
        batch.stage, batch.why = Stage.CANCELLED, why
        journal.forget_calls(batch.calls)
        journal.put_batch(batch.row())


# Few, and parsing takes longer than looking one up.
_model = lru_cache(ModelRef.parse)

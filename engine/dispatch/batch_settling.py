"""What becomes of the calls of a batch: replies, errors with their reasons, or another try."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from evalbench.engine.calls import Call, JobState, ModelRef
from evalbench.engine.calls.replies import Reply, plain
from evalbench.engine.dispatch.base import ZERO, Host, failed_reply
from evalbench.engine.dispatch.batch_ground import Ground
from evalbench.engine.dispatch.batch_state import Batch
from evalbench.engine.errors import DeadlineExceeded, ProviderError, RunFatal, TransientError
from evalbench.engine.journal.paging import Held
from evalbench.engine.journal.records import CallRow

ROUNDS = 3
"""In so many batches a call is sent at most."""

_ENDINGS = {
    "user": "it was cancelled",
    "overdue": "it was cancelled, as it did not end in its time",
}


class Settling:
    """Settles the calls of one batch, one by one or all together.

    Attributes:
        fatal: the first error among the results after which no call can succeed.
    """

    def __init__(self, batch: Batch, ground: Ground, host: Host) -> None:
        self._batch = batch
        self._ground = ground
        self._host = host
        self.fatal: RunFatal | None = None

    def have_at_hand(self, samples: Iterable[Held]) -> None:
        """Show the host samples that were just read, so that it need not read them again."""
        for sample in samples:
            self._host.at_hand(sample)

    def took(self, row: CallRow, line: bytes) -> bool:
        """Store what a line says; False when the call is to be asked again."""
        batch = self._batch
        try:
            reply = self._ground.provider.batch_reply(line, _call(row))
        except RunFatal as error:
            self.fatal = self.fatal or error
            return False
        except ProviderError as error:
            if isinstance(error, TransientError) and self._worth_another(row.id):
                return False
            self._store(row, failed_reply(error, self._round(row.id)), ZERO)
            return True
        cost = self._ground.purse.cost(reply)
        batch.cost += cost or ZERO
        if cost is not None:
            batch.saved += (self._ground.at_once.cost(reply) or cost) - cost
        self._store(row, replace(reply, cost=cost, attempts=self._round(row.id)), cost)
        return True

    def unanswered(self, missing: list[int]) -> list[int]:
        """Give calls without a result line an error, where they are not to be asked again."""
        batch = self._batch
        ended = batch.job is not None and batch.job.state is JobState.ENDED
        if ended and missing:
            self._ground.report("batch-missing", batch=batch.name, calls=len(missing))
        again = [ident for ident in missing if self._worth_another(ident)]
        for row in self._ground.rows(set(missing).difference(again)):
            error = DeadlineExceeded(
                f"the batch {'brought no result for' if ended else 'ended before'} this call",
                why=_ENDINGS.get(batch.cancel_for, ""),
                possibly_billed=ended,
            )
            self._fail(row, error)
        return again

    def _worth_another(self, ident: int) -> bool:
        if self._batch.cancel_for == "user":
            return False
        return self._batch.cancel_for == "fallback" or self._round(ident) < ROUNDS

    def _round(self, ident: int) -> int:
        return self._ground.rounds.get(ident, 1)

    def _store(self, row: CallRow, reply: Reply, cost: Decimal | None) -> None:
        ground, batch = self._ground, self._batch
        try:
            ground.journal.store_reply(row.row, row.key, row.reask, reply)
        except TypeError:
            reply = plain(reply)
            ground.journal.store_reply(row.row, row.key, row.reask, reply)
        part = self._share()
        if batch.ticket:
            ground.purse.budget.settle_part(batch.ticket, part, part if cost is None else cost)
        ground.out.discard(row.id)
        ground.answered.add(row.id)
        if reply.error:
            batch.failed += 1
        else:
            batch.answered += 1
        self._host.arrived(row, batch.role, reply)

    def _share(self) -> Decimal:
        """What is reserved for one call of this batch."""
        batch = self._batch
        if batch.ticket is None or not batch.requests:
            return ZERO
        left = batch.requests - batch.answered - batch.failed - batch.again
        return batch.ticket.worst / max(1, left)

    def _fail(self, row: CallRow, error: ProviderError) -> None:
        possible = self._share() if error.possibly_billed else ZERO
        self._ground.purse.budget.possible += possible
        self._store(row, failed_reply(error, self._round(row.id), possible), ZERO)

    def fail_all(self, error: ProviderError) -> None:
        """Every call of the batch that has no reply fails for one reason."""
        calls, ground = self._batch.calls, self._ground
        has_reply = ground.with_reply(calls)
        for row in ground.rows(ident for ident in calls if ident not in has_reply):
            self._fail(row, error)
        self.let_go()

    def ask_again(self, calls: Iterable[int], why: str, *, sent: bool = True) -> None:
        """Let calls leave the batch without a reply; their samples ask them again."""
        ground, batch = self._ground, self._batch
        leaving = [ident for ident in calls if ident]
        if not leaving:
            return
        for ident in leaving:
            ground.rounds[ident] = self._round(ident) + sent
            ground.out.discard(ident)
            if batch.cancel_for == "fallback":
                ground.not_here.add(ident)
        batch.again += len(leaving)
        ground.journal.forget_calls(leaving)
        ground.report("batch-asks-again", batch=batch.name, calls=len(leaving), why=why)
        for ident in leaving:
            self._host.go_on(*ground.place(ident))

    def let_go(self) -> None:
        """Give back what is still reserved, and take none of its calls to be out."""
        if ticket := self._batch.ticket:
            self._ground.purse.budget.release(ticket)
            self._batch.ticket = None
        self._ground.out.difference_update(self._batch.calls)


def _call(row: CallRow) -> Call:
    return Call(ModelRef.parse(row.key.model), row.prompt)

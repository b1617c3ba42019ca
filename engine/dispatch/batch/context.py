"""State shared by all batches of one role: provider, journal, money, and pending calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evalbench.engine.calls import BatchApi, BatchTerms
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.base import ZERO, Report
from evalbench.engine.dispatch.batch.state import Batch, Stage, batch_of
from evalbench.engine.dispatch.circuit_breaker import FirstContact
from evalbench.engine.journal import Journal
from evalbench.engine.journal.batches import answered, batches, well_answered
from evalbench.engine.journal.paging import SampleCalls, samples_with_calls
from evalbench.engine.journal.records import CallRow
from evalbench.engine.journal.schema import SLOT_BITS

SHARE = 0.95
"""Share of the provider's limits used by one batch, because sizes are counted differently."""


@dataclass(slots=True)
class BatchContext:
    """State shared by all batches of one role.

    Attributes:
        api: the batches of the provider.
        terms: the provider's batch terms.
        journal, folder: where calls and files are stored.
        meter: prices and budget; ``at_once`` has those of realtime answers.
        attempts: attempts at one step that fails temporarily.
        poll_s: seconds between the first polls of a batch.
        fallback_s: seconds after which the rest is asked in realtime; None for never.
        leave: take every step that can be taken now, and wait for nothing.
        resend_unfetched: see :class:`.settings.BatchSettings`.
        report: writes an event to the journal.
        clock: Unix seconds.
        pending: calls in batches that have no reply.
        unfetched: calls in batches whose results were given up on: nothing waits for them now.
        answered: calls of batches that got their reply, or an error, from this engine.
        rounds: in how many batches each call has been.
        not_here: calls to ask in realtime when they are asked again.
        halted: set when nothing may be sent any more.
        turn: held while a batch is created; ``next_create`` is the earliest loop time of the next.
        reading: held while results are stored and scored: memory has room for the samples of one
            page of them, not for one of each batch.
        contact: whether the server was reached.
        owners: for jobs of uncertain origin, the batch whose results they turned out to hold.
        batches: all of them, oldest first.
    """

    api: BatchApi
    terms: BatchTerms
    journal: Journal
    folder: Path
    meter: CostMeter
    at_once: CostMeter
    attempts: int
    poll_s: float
    fallback_s: float | None
    leave: bool
    resend_unfetched: bool
    report: Report
    clock: Callable[[], float]
    contact: FirstContact
    pending: set[int] = field(default_factory=set)
    unfetched: set[int] = field(default_factory=set)
    answered: set[int] = field(default_factory=set)
    rounds: dict[int, int] = field(default_factory=dict)
    not_here: set[int] = field(default_factory=set)
    halted: asyncio.Event = field(default_factory=asyncio.Event)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_create: float = 0.0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    owners: dict[str, str] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)

    @property
    def most_tokens(self) -> int | None:
        """Maximum prompt tokens per batch; None if no limit is known."""
        most = self.terms.most_tokens
        return None if most is None else int(most * SHARE)

    async def put(self, batch: Batch, stage: Stage, *, why: str = "") -> None:
        """Record a batch's new stage before continuing."""
        batch.stage = stage
        batch.why = why or batch.why
        await self.record(batch)

    def record(self, batch: Batch) -> asyncio.Future[None]:
        """Record a batch as it is now, with what is stored in the same turn."""
        batch.worst = batch.reservation.worst if batch.reservation else ZERO
        return self.journal.put_batch(batch.row())

    def owned(self) -> set[str]:
        """Ids of this run's jobs, in any role, whose owner is certain."""
        path = self.journal.path
        rows = self.journal.query(lambda decoder: batches(decoder, path))
        known = [*self.batches, *(batch_of(row) for row in rows)]
        return {batch.job.id for batch in known if batch.job and not batch.doubtful}

    def place(self, ident: int) -> tuple[int, int]:
        """Row and epoch of a call."""
        key, _ = self.journal.query(lambda decoder: decoder.slot(ident & ((1 << SLOT_BITS) - 1)))
        return ident >> SLOT_BITS, key.epoch

    def rows(self, calls: Iterable[int]) -> list[CallRow]:
        """Calls of the journal by their numbers; 0 is skipped."""
        wanted = {ident for ident in calls if ident}
        return [call for one in self.samples(wanted) for call in one.calls if call.id in wanted]

    def samples(self, calls: Iterable[int]) -> list[SampleCalls]:
        """The samples that asked these calls, each with all its calls."""
        rows, path = {ident >> SLOT_BITS for ident in calls}, self.journal.path
        return (
            self.journal.query(lambda decoder: samples_with_calls(decoder, path, rows))
            if rows
            else []
        )

    def with_reply(self, calls: Iterable[int]) -> set[int]:
        """Those of these calls that have a reply."""
        wanted, path = [ident for ident in calls if ident], self.journal.path
        return self.journal.query(lambda decoder: answered(decoder, path, wanted))

    def well_answered(self, calls: Iterable[int]) -> set[int]:
        """Those of these calls that have a reply that is not an error."""
        wanted, path = [ident for ident in calls if ident], self.journal.path
        return self.journal.query(lambda decoder: well_answered(decoder, path, wanted))

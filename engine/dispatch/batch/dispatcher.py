"""Answers calls through a provider's batches: cheaper, within hours, in any later engine.

Calls are collected into request files; each file becomes a batch with its own lifecycle
(:mod:`evalbench.engine.dispatch.batch.lifecycle`). Nothing waits in memory: a sample whose
call was accepted is parked, and runs again when its replies are in the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from evalbench.engine.calls import Call, Reply
from evalbench.engine.compat import override
from evalbench.engine.cost.budget import Reservation
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.base import (
    ZERO,
    Halted,
    Parked,
    ParkingDispatcher,
    ReplySink,
    SendLog,
    failed_reply,
)
from evalbench.engine.dispatch.batch.collection import Collection
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.lifecycle import Lifecycle
from evalbench.engine.dispatch.batch.reconciliation import Reconciliation
from evalbench.engine.dispatch.batch.requests import RequestFile
from evalbench.engine.dispatch.batch.settings import BatchSettings
from evalbench.engine.dispatch.batch.state import Batch, Stage, batch_of
from evalbench.engine.dispatch.budget_gate import BudgetGate
from evalbench.engine.dispatch.circuit_breaker import FirstContact
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.dispatch.unfetched import Unfetched
from evalbench.engine.errors import CallRejected, EvalbenchError
from evalbench.engine.journal import Journal
from evalbench.engine.journal.batches import batches, calls_in
from evalbench.engine.record_schemas import BatchStatus, Gauges

log = logging.getLogger("evalbench")

_WINDOW = 256
_AT_ONCE = 64
"""Calls accepted before yielding to other tasks."""


class BatchDispatcher(ParkingDispatcher):
    """Dispatcher for a role whose calls are sent in batches.

    See :class:`evalbench.engine.dispatch.base.ParkingDispatcher`. Calls that cannot go into a
    batch (too few of them, a fallback) are answered by ``realtime``.
    """

    def __init__(
        self,
        realtime: RealtimeDispatcher,
        meter: CostMeter,
        journal: Journal,
        folder: Path,
        batch_settings: BatchSettings,
        *,
        role: str,
        model: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Set up the dispatcher.

        Args:
            realtime: answers immediately, with the same provider and as many attempts.
            meter: prices of batches, and the run's budget.
            journal: the run's journal.
            folder: where batch files are stored.
            batch_settings: the run's batch settings.
            role, model: whose calls it sends; the model under its provider's name.
            clock: Unix seconds.
        """
        provider, report = realtime.provider, journal.event
        api = provider.batch_api
        terms = api.terms(model) if api else None
        assert api is not None
        assert terms is not None, "checked before the run began"
        self._provider = provider
        self._realtime = realtime
        self._meter = meter
        self._budget_gate = BudgetGate(meter.budget, report)
        self._journal = journal
        self._batch_settings = batch_settings
        self._role = role
        self._report = report
        self._context = BatchContext(
            api,
            terms,
            journal,
            folder,
            meter,
            realtime.meter,
            attempts=realtime.attempts,
            poll_s=batch_settings.poll_s,
            fallback_s=batch_settings.fallback_s,
            leave=batch_settings.leave,
            resend_unfetched=batch_settings.resend_unfetched,
            report=report,
            clock=clock,
            contact=FirstContact(report, batch_settings.wait_for_server_s),
        )
        self._collection = Collection(
            self._context, batch_settings.size, role=role, model=model, closed=self._send_off
        )
        self._sink: ReplySink | None = None
        self._lives: dict[asyncio.Task[None], Lifecycle] = {}
        self._ready = False
        self.ready_at: float | None = time.monotonic()

    # -- interface to the driver ----------------------------------------------------

    @property
    def window(self) -> int:
        """How many samples should be in progress to keep this dispatcher busy."""
        return max(_WINDOW if self._batch_settings.collect else 1, self._realtime.window)

    @property
    @override
    def outstanding(self) -> int:
        return len(self._context.pending)

    @override
    def unfetched(self) -> Unfetched | None:
        left = [one for one in self._context.batches if one.stage is Stage.UNFETCHED]
        calls = len(self._context.unfetched)
        if not calls:
            return None
        worst = sum((one.worst for one in left), ZERO) if self._meter.prices else None
        return Unfetched(calls, len(left), worst, left[0].why)

    @property
    @override
    def at_rest(self) -> bool:
        return self._collection.batch is None and not self._lives

    @override
    def begin(self, sink: ReplySink) -> None:
        self._sink = sink
        path = self._journal.path
        rows = self._journal.query(lambda decoder: batches(decoder, path))
        self._collection.next_id = max((row.id for row in rows), default=0) + 1
        for batch in (batch_of(row) for row in rows if row.body["role"] == self._role):
            self._context.batches.append(batch)
            if not batch.stage.final:
                self._take_up(batch)

    def _take_up(self, batch: Batch) -> None:
        """Continue with a batch of an earlier engine."""
        path, count = self._journal.path, batch.requests
        batch.calls = self._journal.query(lambda decoder: calls_in(decoder, path, batch.id, count))
        has_reply = self._context.with_reply(batch.calls)
        self._context.pending.update(
            ident for ident in batch.calls if ident and ident not in has_reply
        )
        left = batch.requests - batch.answered - batch.failed - batch.again
        batch.reservation = self._meter.of_batch(batch.worst, max(0, left))
        if self._batch_settings.cancel & batch.names:
            batch.cancel_for = "user"
        self._live(batch)

    @override
    async def park(
        self, call: Call, ident: int, intend: Callable[[], Awaitable[None]]
    ) -> Reply | None:
        context = self._context
        # A sample read just before its reply was stored is woken: nothing is asked twice.
        if ident in context.pending or ident in context.answered or ident in context.unfetched:
            raise Parked
        if not self._batch_settings.collect or ident in self._context.not_here:
            return None
        if not self._ready:
            await self._provider.get_ready(call)
            self._ready = True
        reservation = await self._admit(call)
        if self._context.halted.is_set():
            self._meter.cut(reservation, sent=False)
            raise Halted
        try:
            taken = self._collection.take_in(call, ident, reservation)
        except CallRejected as error:
            self._meter.budget.release(reservation)
            await intend()
            return failed_reply(error, 1)
        if not taken:
            self._meter.budget.release(reservation)
            return None
        written = intend()
        if self._collection.accepted % _AT_ONCE == 0:
            # Nothing is sent before it is committed. Waiting only gives other tasks their turn.
            await written
        raise Parked

    async def _admit(self, call: Call) -> Reservation:
        """Reserve a call's worst case. If it does not fit next to the open batch, that is sent."""
        asked = self._meter.reserve_for_batch(call)
        if reservation := self._meter.budget.reserve(asked):
            return reservation
        if self._context.halted.is_set():
            raise Halted
        self._collection.close()
        return await self._budget_gate.admit(asked)

    @override
    def close_collection(self) -> None:
        batch = self._collection.batch
        if batch and batch.requests:
            self._collection.close()

    def _send_off(self, batch: Batch, file: RequestFile) -> None:
        """Send a collected batch, or answer its calls in realtime if there are too few."""
        if not batch.requests:
            file.discard()
            self._reconciliation(batch).undo("no call fitted in")
        elif batch.requests < (least := self._context.terms.least_requests):
            self._report("batch-too-small", calls=batch.requests, least=least)
            self._context.not_here.update(batch.calls)
            file.discard()
            self._reconciliation(batch).undo("too few calls for a batch; sent in real time")
        else:
            self._live(batch, file)

    def _reconciliation(self, batch: Batch) -> Reconciliation:
        assert self._sink
        return Reconciliation(batch, self._context, self._sink)

    # -- lifecycles -------------------------------------------------------------------

    def _live(self, batch: Batch, file: RequestFile | None = None) -> None:
        assert self._sink
        life = Lifecycle(batch, self._context, self._sink)
        task = asyncio.get_running_loop().create_task(self._lived(life, file))
        self._lives[task] = life
        task.add_done_callback(lambda done: self._lives.pop(done, None))

    async def _lived(self, life: Lifecycle, file: RequestFile | None) -> None:
        assert self._sink
        batch = life.batch
        try:
            if file:
                await asyncio.to_thread(file.finish)
                await self._context.put(batch, Stage.PREPARED)
            if batch.stage is Stage.COLLECTING:
                self._abandoned(batch)
                return
            await life.run()
        except EvalbenchError as error:
            self._sink.give_up(error)
        except OSError as error:
            self._sink.give_up(
                EvalbenchError(
                    f"the files of batch {batch.name} cannot be used", why=error.strerror or ""
                )
            )
        except Exception as error:
            # A bug in a plug-in or in our code: without this the batch would hang silently.
            log.exception("batch %s cannot go on", batch.name)
            self._sink.give_up(
                EvalbenchError(
                    f"batch {batch.name} cannot go on",
                    why=f"{type(error).__name__}: {error}",
                    hint="this is a fault of this program or of a plug-in; nothing is lost",
                )
            )

    def _abandoned(self, batch: Batch) -> None:
        """A batch whose engine died while collecting it: none of it has been sent."""
        file = self._context.folder / batch.requests_file
        file.unlink(missing_ok=True)
        file.with_name(file.name + ".part").unlink(missing_ok=True)
        self._reconciliation(batch).undo("the engine ended before it was sent")

    def look_now(self) -> None:
        """Poll every batch now."""
        for life in self._lives.values():
            life.look_now()

    def cancel(self, name: str) -> bool:
        """Cancel a batch by its name or the provider's id; False if there is no such open batch."""
        for life in self._lives.values():
            batch = life.batch
            if name in batch.names:
                batch.cancel_for = "user"
                life.look_now()
                return True
        return False

    def shown(self) -> list[BatchStatus]:
        """All batches, for display."""
        return [batch.shown() for batch in self._context.batches]

    # -- dispatcher ---------------------------------------------------------------------

    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`; for calls that are not parked."""
        return await self._realtime.answer(call, key, before_send)

    def halt(self) -> None:
        """Send nothing more: calls that are not in flight raise :class:`Halted`."""
        self._context.halted.set()
        self._realtime.halt()

    def set_concurrency(self, calls: int | None) -> None:
        """Change the number of calls in flight, live; None for adaptive."""
        self._realtime.set_concurrency(calls)

    def gauges(self) -> Gauges:
        """Numbers for display: in flight, waiting, memory and so on."""
        gauges = self._realtime.gauges()
        return {**gauges, "in_batches": self.outstanding}

    async def close(self) -> None:
        """Release all resources. Calls still in flight are cut off."""
        left = self._collection.discard()
        for task in list(self._lives):
            task.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        if left:
            with contextlib.suppress(EvalbenchError):
                self._reconciliation(left).forget("the run was stopped before it was sent")
        await self._realtime.close()

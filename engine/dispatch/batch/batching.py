"""Answers calls through a provider's batches: for less money, within hours, whoever is there.

Calls are collected into files of requests; each file becomes a batch and has a
life of its own (:mod:`evalbench.engine.dispatch.batch.life`). Nobody waits in
memory: a sample whose call was taken in is parked, and is run again when its
replies are in the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from evalbench.engine.calls import BatchProvider, Call, Reply
from evalbench.engine.cost.budget import Ticket
from evalbench.engine.cost.purse import Purse
from evalbench.engine.dispatch.admission import Admission
from evalbench.engine.dispatch.base import (
    ZERO,
    Halted,
    Host,
    Parked,
    Parking,
    Report,
    SendLog,
    failed_reply,
)
from evalbench.engine.dispatch.batch.collection import Collection
from evalbench.engine.dispatch.batch.life import Life
from evalbench.engine.dispatch.batch.requests import RequestFile
from evalbench.engine.dispatch.batch.settling import Settling
from evalbench.engine.dispatch.batch.shared import Shared
from evalbench.engine.dispatch.batch.state import Batch, Stage, batch_of
from evalbench.engine.dispatch.batch.wishes import BatchWishes
from evalbench.engine.dispatch.outage import FirstContact
from evalbench.engine.dispatch.realtime import Realtime
from evalbench.engine.dispatch.unfetched import Unfetched
from evalbench.engine.errors import CallRejected, EvalbenchError
from evalbench.engine.journal import Journal
from evalbench.engine.journal.batches import batches, calls_in

log = logging.getLogger("evalbench")

_WINDOW = 256


class Batching(Parking):
    """Dispatcher for a role whose calls go out in batches.

    See :class:`evalbench.engine.dispatch.base.Parking`. What cannot go into a
    batch (too few calls, a fallback) is answered by ``realtime``.
    """

    def __init__(
        self,
        provider: BatchProvider,
        realtime: Realtime,
        purse: Purse,
        journal: Journal,
        folder: Path,
        wishes: BatchWishes,
        *,
        role: str,
        model: str,
        attempts: int,
        report: Report,
        clock: Callable[[], float] = time.time,
    ) -> None:
        terms = provider.batch_terms(model)
        assert terms is not None, "checked before the run began"
        self._provider = provider
        self._realtime = realtime
        self._purse = purse
        self._admission = Admission(purse.budget, report)
        self._journal = journal
        self._wishes = wishes
        self._role = role
        self._report = report
        self._shared = Shared(
            provider,
            terms,
            journal,
            folder,
            purse,
            realtime.purse,
            attempts=attempts,
            poll_s=wishes.poll_s,
            fallback_s=wishes.fallback_s,
            leave=wishes.leave,
            resend_unfetched=wishes.resend_unfetched,
            report=report,
            clock=clock,
            contact=FirstContact(wishes.wait_for_server_s),
        )
        self._collection = Collection(
            self._shared, wishes.size, role=role, model=model, closed=self._send_off
        )
        self._host: Host | None = None
        self._lives: dict[asyncio.Task[None], Life] = {}
        self._ready = False
        self.ready_at: float | None = time.monotonic()

    # -- what the driver sees -------------------------------------------------------

    @property
    def window(self) -> int:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        return max(_WINDOW if self._wishes.collect else 1, self._realtime.window)

    @property
    def outstanding(self) -> int:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        return len(self._shared.out)

    def unfetched(self) -> Unfetched | None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        left = [one for one in self._shared.batches if one.stage is Stage.UNFETCHED]
        calls = len(self._shared.unfetched)
        if not calls:
            return None
        worst = sum((one.worst for one in left), ZERO) if self._purse.prices else None
        return Unfetched(calls, len(left), worst, left[0].why)

    @property
    def at_rest(self) -> bool:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        return self._collection.batch is None and not self._lives

    def begin(self, host: Host) -> None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        self._host = host
        path = self._journal.path
        rows = self._journal.query(lambda shelf: batches(shelf, path))
        self._collection.next_id = max((row.id for row in rows), default=0) + 1
        for batch in (batch_of(row) for row in rows if row.body["role"] == self._role):
            self._shared.batches.append(batch)
            if not batch.stage.final:
                self._take_up(batch)

    def _take_up(self, batch: Batch) -> None:
        """Go on with a batch of an earlier engine."""
        path, count = self._journal.path, batch.requests
        batch.calls = self._journal.query(lambda shelf: calls_in(shelf, path, batch.id, count))
        has_reply = self._shared.with_reply(batch.calls)
        self._shared.out.update(ident for ident in batch.calls if ident and ident not in has_reply)
        left = batch.requests - batch.answered - batch.failed - batch.again
        batch.ticket = self._purse.of_batch(batch.worst, max(0, left))
        if self._wishes.cancel & batch.names:
            batch.cancel_for = "user"
        self._live(batch)

    async def park(
        self, call: Call, ident: int, intend: Callable[[], Awaitable[None]]
    ) -> Reply | None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        shared = self._shared
        # A sample read just before its reply was stored is woken: nothing is asked twice.
        if ident in shared.out or ident in shared.answered or ident in shared.unfetched:
            raise Parked
        if not self._wishes.collect or ident in self._shared.not_here:
            return None
        if not self._ready:
            await self._provider.get_ready(call)
            self._ready = True
        ticket = await self._admit(call)
        if self._shared.halted.is_set():
            self._purse.cut(ticket, sent=False)
            raise Halted
        try:
            taken = self._collection.take_in(call, ident, ticket)
        except CallRejected as error:
            self._purse.budget.release(ticket)
            await intend()
            return failed_reply(error, 1)
        if not taken:
            self._purse.budget.release(ticket)
            return None
        await intend()
        raise Parked

    async def _admit(self, call: Call) -> Ticket:
        """Reserve a call's worst case. What does not fit beside the open batch sends it off."""
        asked = self._purse.reserve_for_batch(call)
        if ticket := self._purse.budget.reserve(asked):
            return ticket
        self._collection.close()
        return await self._admission.admit(asked)

    def close_collection(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        batch = self._collection.batch
        if batch and batch.requests:
            self._collection.close()

    def _send_off(self, batch: Batch, file: RequestFile) -> None:
        """Send a batch that was collected, or ask its calls at once when they are too few."""
        if not batch.requests:
            file.discard()
            self._settling(batch).undo("no call fitted in")
        elif batch.requests < (least := self._shared.terms.least_requests):
            self._report("batch-too-small", calls=batch.requests, least=least)
            self._shared.not_here.update(batch.calls)
            file.discard()
            self._settling(batch).undo("too few calls for a batch; they were asked at once")
        else:
            self._live(batch, file)

    def _settling(self, batch: Batch) -> Settling:
        assert self._host
        return Settling(batch, self._shared, self._host)

    # -- lives ------------------------------------------------------------------------

    def _live(self, batch: Batch, file: RequestFile | None = None) -> None:
        assert self._host
        life = Life(batch, self._shared, self._host)
        task = asyncio.get_running_loop().create_task(self._lived(life, file))
        self._lives[task] = life
        task.add_done_callback(lambda done: self._lives.pop(done, None))

    async def _lived(self, life: Life, file: RequestFile | None) -> None:
        assert self._host
        batch = life.batch
        try:
            if file:
                await asyncio.to_thread(file.finish)
                await self._shared.put(batch, Stage.PREPARED)
            if batch.stage is Stage.COLLECTING:
                self._abandoned(batch)
                return
            await life.run()
        except EvalbenchError as error:
            self._host.give_up(error)
        except OSError as error:
            self._host.give_up(
                EvalbenchError(
                    f"the files of batch {batch.name} cannot be used", why=error.strerror or ""
                )
            )
        except Exception as error:
            # A fault of a plug-in or of ours: without this nobody would go on, or know.
            log.exception("batch %s cannot go on", batch.name)
            self._host.give_up(
                EvalbenchError(
                    f"batch {batch.name} cannot go on",
                    why=f"{type(error).__name__}: {error}",
                    cure="this is a fault of this program or of a plug-in; nothing is lost",
                )
            )

    def _abandoned(self, batch: Batch) -> None:
        """A batch that an engine was still collecting when it died: nothing of it has left."""
        file = self._shared.folder / batch.requests_file
        file.unlink(missing_ok=True)
        file.with_name(file.name + ".part").unlink(missing_ok=True)
        self._settling(batch).undo("the engine ended before it was sent")

    def look_now(self) -> None:
        """Look at every batch at once."""
        for life in self._lives.values():
            life.look_now()

    def cancel(self, name: str) -> bool:
        """Cancel a batch by its name or the provider's; False when there is no such open batch."""
        for life in self._lives.values():
            batch = life.batch
            if name in batch.names:
                batch.cancel_for = "user"
                life.look_now()
                return True
        return False

    def shown(self) -> list[dict[str, Any]]:
        """Every batch for lists."""
        return [batch.shown() for batch in self._shared.batches]

    # -- dispatcher ---------------------------------------------------------------------

    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`; for calls that are not parked."""
        return await self._realtime.answer(call, key, before_send)

    def halt(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._shared.halted.set()
        self._realtime.halt()

    def set_concurrency(self, calls: int | None) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._realtime.set_concurrency(calls)

    def gauges(self) -> dict[str, Any]:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        told = self._realtime.gauges()
        return {**told, "in_batches": self.outstanding}

    async def close(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        left = self._collection.discard()
        for task in list(self._lives):
            task.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        if left:
            with contextlib.suppress(EvalbenchError):
                self._settling(left).forget("the run was stopped before it was sent")
        await self._realtime.close()

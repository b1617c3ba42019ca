"""Answers calls through a provider's batches: for less money, within hours, whoever is there.

Calls are collected into files of requests; each file becomes a batch and has a
life of its own (:mod:`evalbench.engine.dispatch.batch_life`). Nobody waits in
memory: a sample whose call was taken in is parked, and is run again when its
replies are in the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalbench.engine.calls import BatchProvider, Call, Reply
from evalbench.engine.dispatch.admission import Admission
from evalbench.engine.dispatch.base import Halted, Host, Parked, Report, failed_reply
from evalbench.engine.dispatch.batch_file import RequestFile
from evalbench.engine.dispatch.batch_ground import SHARE, Ground
from evalbench.engine.dispatch.batch_life import Life
from evalbench.engine.dispatch.batch_state import Batch, Stage, batch_of, new_name
from evalbench.engine.dispatch.realtime import Realtime
from evalbench.engine.errors import CallRejected, EvalbenchError
from evalbench.engine.journal import Journal
from evalbench.engine.journal.batches import batches, calls_in
from evalbench.engine.money.budget import Ticket
from evalbench.engine.money.purse import Purse
from evalbench.engine.money.tokens import input_tokens

log = logging.getLogger("evalbench")

QUIET_S = 5.0
"""A batch closes when no call came for so long."""
_TICK_S = 0.001
"""A timer may come so much early, by the rounding of its clock."""
_WINDOW = 256


@dataclass(frozen=True, slots=True)
class BatchWishes:
    """What a run wants of its batches.

    Attributes:
        collect: take calls in; False: only finish what earlier engines sent.
        size: calls in one batch at most; None: as many as the provider takes.
        poll_s: seconds between the first looks at a batch.
        fallback_s: after so many seconds what is left is asked at once; None: never.
        leave: wait for nothing.
        cancel: batches to cancel as soon as they are taken up.
    """

    collect: bool = True
    size: int | None = None
    poll_s: float = 10.0
    fallback_s: float | None = None
    leave: bool = False
    cancel: frozenset[str] = frozenset()


class Batching:
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
        self._model = model
        self._report = report
        self._ground = Ground(
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
            report=report,
            clock=clock,
        )
        self._most = min(wishes.size or terms.most_requests, terms.most_requests)
        self._most_bytes = int(terms.most_bytes * SHARE)
        self._host: Host | None = None
        self._open: Batch | None = None
        self._file: RequestFile | None = None
        self._next = 1
        self._lives: dict[asyncio.Task[None], Life] = {}
        self._quiet: asyncio.TimerHandle | None = None
        self._last = 0.0
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
        return len(self._ground.out)

    @property
    def at_rest(self) -> bool:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        return self._open is None and not self._lives

    def begin(self, host: Host) -> None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        self._host = host
        path = self._journal.path
        rows = self._journal.query(lambda shelf: batches(shelf, path))
        self._next = max((row.id for row in rows), default=0) + 1
        for batch in (batch_of(row) for row in rows if row.body["role"] == self._role):
            self._ground.batches.append(batch)
            if not batch.stage.final:
                self._take_up(batch)

    def _take_up(self, batch: Batch) -> None:
        """Go on with a batch of an earlier engine."""
        path, count = self._journal.path, batch.requests
        batch.calls = self._journal.query(lambda shelf: calls_in(shelf, path, batch.id, count))
        has_reply = self._ground.with_reply(batch.calls)
        self._ground.out.update(ident for ident in batch.calls if ident and ident not in has_reply)
        batch.ticket = self._purse.budget.take(batch.worst)
        if self._wishes.cancel & batch.names:
            batch.cancel_for = "user"
        self._live(batch)

    async def park(
        self, call: Call, ident: int, intend: Callable[[], Awaitable[None]]
    ) -> Reply | None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        # A sample read just before its reply was stored is woken: nothing is asked twice.
        if ident in self._ground.out or ident in self._ground.answered:
            raise Parked
        if not self._wishes.collect or ident in self._ground.not_here:
            return None
        if not self._ready:
            if get_ready := getattr(self._provider, "get_ready", None):
                await get_ready(call)
            self._ready = True
        ticket = await self._admit(call)
        if self._ground.halted.is_set():
            self._purse.cut(ticket, sent=False)
            raise Halted
        try:
            taken = self._take_in(call, ident, ticket)
        except CallRejected as error:
            self._purse.budget.release(ticket)
            await intend()
            return failed_reply(error, 1)
        if not taken:
            self._purse.budget.release(ticket)
            return None
        await intend()
        raise Parked

    def _take_in(self, call: Call, ident: int, ticket: Ticket) -> bool:
        """Write a call into the open batch, or the next; False when it is too large for any."""
        batch, line = self._line(call)
        if len(line) >= self._most_bytes:
            return False
        tokens = input_tokens(call.prompt, call.model.name).likely
        if self._full(batch, len(line), tokens):
            self._close()
            batch, line = self._line(call)
        assert self._file
        assert batch.ticket
        batch.bytes += self._file.add(line)
        batch.calls.append(ident)
        batch.tokens += tokens
        self._journal.put_in_batch(ident, batch.id, batch.requests)
        batch.requests += 1
        self._purse.budget.merge(ticket, batch.ticket)
        self._ground.out.add(ident)
        self._last = asyncio.get_running_loop().time()
        if batch.requests == self._most:
            self._close()
        return True

    def _line(self, call: Call) -> tuple[Batch, bytes]:
        """The open batch, and a call as its next line."""
        batch = self._open or self._new()
        return batch, self._provider.batch_line(call, batch.item(batch.requests))

    def _full(self, batch: Batch, more: int, tokens: int) -> bool:
        if not batch.requests:
            return False
        if batch.bytes + more >= self._most_bytes:
            return True
        most = self._ground.most_tokens
        return most is not None and batch.tokens + tokens > most

    def _new(self) -> Batch:
        batch = Batch(self._next, new_name(), self._role, self._model)
        self._next += 1
        batch.ticket = self._purse.budget.take(Decimal(0))
        self._file = RequestFile(self._ground.folder / batch.requests_file)
        self._open = batch
        self._ground.batches.append(batch)
        self._journal.put_batch(batch.row())
        self._wait_for_quiet()
        return batch

    def _wait_for_quiet(self) -> None:
        """Close the open batch once no call has come for a while."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            self._quiet = None
            if self._open is None:
                return
            if loop.time() >= self._last + QUIET_S - _TICK_S:
                self._close()
            else:
                self._quiet = loop.call_at(self._last + QUIET_S, look)

        self._last = loop.time()
        if self._quiet is None:
            self._quiet = loop.call_at(self._last + QUIET_S, look)

    async def _admit(self, call: Call) -> Ticket:
        """Reserve a call's worst case. What does not fit beside the open batch sends it off."""
        worst = self._purse.worst_case(call)
        if ticket := self._purse.budget.reserve(worst):
            return ticket
        self._close()
        return await self._admission.admit(worst)

    def close_collection(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Parking`."""
        if self._open and self._open.requests:
            self._close()

    def _close(self) -> None:
        """Send the open batch off, or ask its calls at once when they are too few for one."""
        batch, file = self._open, self._file
        if batch is None or file is None:
            return
        self._open = self._file = None
        if not batch.requests:
            self._drop(batch, file, "no call fitted in")
        elif batch.requests < self._ground.terms.least_requests:
            self._report(
                "batch-too-small",
                calls=batch.requests,
                least=self._ground.terms.least_requests,
            )
            self._ground.not_here.update(batch.calls)
            self._drop(batch, file, "too few calls for a batch; they were asked at once")
        else:
            self._live(batch, file)

    def _drop(self, batch: Batch, file: RequestFile, why: str) -> None:
        """Undo a batch that will not be sent; its samples ask again."""
        file.discard()
        self._send_back(batch, why)

    def _send_back(self, batch: Batch, why: str) -> None:
        """Let the samples of a batch of which nothing has left ask again."""
        self._forget(batch, why)
        assert self._host
        for ident in filter(None, batch.calls):
            self._host.go_on(*self._ground.place(ident))

    def _forget(self, batch: Batch, why: str) -> None:
        self._ground.out.difference_update(batch.calls)
        if batch.ticket:
            self._purse.budget.release(batch.ticket)
            batch.ticket = None
        batch.stage, batch.why = Stage.CANCELLED, why
        self._journal.forget_calls(batch.calls)
        self._journal.put_batch(batch.row())

    # -- lives ------------------------------------------------------------------------

    def _live(self, batch: Batch, file: RequestFile | None = None) -> None:
        assert self._host
        life = Life(batch, self._ground, self._host)
        task = asyncio.get_running_loop().create_task(self._lived(life, file))
        self._lives[task] = life
        task.add_done_callback(lambda done: self._lives.pop(done, None))

    async def _lived(self, life: Life, file: RequestFile | None) -> None:
        assert self._host
        batch = life.batch
        try:
            if file:
                await asyncio.to_thread(file.finish)
                await life.put(Stage.PREPARED)
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
        file = self._ground.folder / batch.requests_file
        file.unlink(missing_ok=True)
        file.with_name(file.name + ".part").unlink(missing_ok=True)
        self._send_back(batch, "the engine ended before it was sent")

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
        return [batch.shown() for batch in self._ground.batches]

    # -- dispatcher ---------------------------------------------------------------------

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`; for calls that are not parked."""
        return await self._realtime.answer(call, key, before_send)

    def halt(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._ground.halted.set()
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
        if self._quiet:
            self._quiet.cancel()
        for task in list(self._lives):
            task.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        if self._open and self._file:
            self._file.discard()
            with contextlib.suppress(EvalbenchError):
                self._forget(self._open, "the run was stopped before it was sent")
        await self._realtime.close()

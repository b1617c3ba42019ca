"""Answers calls with a model in worker processes, on this machine or on a cluster.

A worker may crash or run out of memory without harming the engine: it is restarted and its
unanswered calls are sent again. Calls carry keys, so no answer is computed twice. The calls
that a worker held when it died are retried one by one, so that one which kills it fails alone.
A worker whose machine is lost returns its calls to the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.calls import Call, Reply
from evalbench.engine.compat import override
from evalbench.engine.dispatch.base import Dispatcher, Halted, Report, SendLog
from evalbench.engine.dispatch.local.machine import Machine
from evalbench.engine.dispatch.local.open_calls import OpenCalls
from evalbench.engine.dispatch.local.replica import Replica, WorkerModel
from evalbench.engine.dispatch.local.shards import portion
from evalbench.engine.dispatch.local.worker_slots import NodeLost, SlotPool, WorkerSlot
from evalbench.engine.errors import EvalbenchError, WorkerFailed
from evalbench.engine.hardware.measures import Measures
from evalbench.engine.record_schemas import Gauges

WINDOW = 768
IMAGE_WINDOW = 32
"""Calls in progress if they contain images: each is held in memory here and in the worker."""
_MOST_LOSSES = 3
"""How often a worker that is lost without having answered is restarted."""
_NOBODY_S = 600.0
"""How long a run waits for a machine while it has none."""


class LocalDispatcher(Dispatcher):
    """Dispatcher for one model in its own worker processes.

    ``window`` is large on purpose: a worker sorts and packs the calls it holds, and shares the
    computation of common prefixes.
    """

    def __init__(
        self,
        model: WorkerModel,
        *,
        report: Report,
        log: Path,
        window: int | None = None,
        each: int = WINDOW,
        pool: SlotPool | None = None,
    ) -> None:
        """Set up; workers are started with the first call.

        Args:
            model: the model that the workers run.
            report: receives events.
            log: file for the workers' output.
            window: total calls in progress; None for as many as the workers take.
            each: maximum calls in progress per worker.
            pool: where workers can run (default: one on this machine).
        """
        self._model = model
        self._report = report
        self._log = log
        self._window = window
        self._each = each
        self._pool: SlotPool = pool or Machine(log)
        # A lone worker gets every call at once, and is started with them.
        self._lone = self._pool.look_s is None and self._pool.most == 1
        self._calls = OpenCalls(sort=not self._lone)
        self._replicas: dict[Replica, asyncio.Task[None]] = {}
        self._refused: dict[str, EvalbenchError] = {}
        self._losses: dict[str, int] = {}
        self._fatal: EvalbenchError | None = None
        self._halted = False
        self._opening: asyncio.Task[None] | None = None
        self._gone: dict[str, Measures] = {}
        self._ready_at: float | None = None
        self._deserted: float | None = None

    @property
    @override
    def window(self) -> int:
        return self._window or self._each * max(1, len(self._replicas))

    @property
    @override
    def ready_at(self) -> float | None:
        times = [one.ready_at for one in self._replicas if one.ready_at is not None]
        if self._ready_at is None and times:
            self._ready_at = min(times)
        return self._ready_at

    @property
    def loaded(self) -> dict[str, Any]:
        """What a worker reported about the model; empty before that."""
        return next((one.info for one in self._replicas if one.info), {})

    @property
    def measures(self) -> Measures:
        """Measurements of all workers combined."""
        found = Measures()
        for one in self._by_worker().values():
            found.add(one)
        return found

    def _by_worker(self) -> dict[str, Measures]:
        """Measurements by worker slot, including workers that are gone."""
        found: dict[str, Measures] = {}
        measured = [*self._gone.items(), *((one.slot.name, one.measures) for one in self._replicas)]
        for name, measures in measured:
            found.setdefault(name, Measures()).add(measures)
        return found

    @override
    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        self._refuse_if_over()
        await before_send()
        self._refuse_if_over()
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        future = self._calls.add(key, call)
        self._wake()
        try:
            return await future
        finally:
            self._calls.forget(key)

    def _refuse_if_over(self) -> None:
        if self._fatal:
            raise self._fatal
        if self._halted:
            raise Halted

    def _wake(self) -> None:
        for replica in self._replicas:
            replica.wake.set()

    @override
    def halt(self) -> None:
        """Local work costs only time, so calls held by workers are dropped too."""
        self._halted = True
        for replica in self._replicas:
            replica.cancel()
        self._calls.fail(Halted)

    @override
    def set_concurrency(self, calls: int | None) -> None:
        self._window = calls

    @override
    def gauges(self) -> Gauges:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`.

        ``workers`` has an entry per worker where there may be several.
        """
        replicas = list(self._replicas)
        memory = next((one.memory for one in replicas if one.memory), {})
        idle = [one.idle for one in replicas if one.idle is not None]
        measures = self.measures
        gauges: Gauges = {
            "in_flight": len(self._calls),
            "memory": memory if self._lone else {},
            "progress": self._progress(),
            "worker_pid": next((one.pid for one in replicas if one.pid), None),
        }
        if measures.answers:
            gauges["measures"] = measures.to_json()
        if idle:
            gauges["idle"] = round(sum(idle) / len(idle), 3)
        if not self._lone:
            gauges["workers"] = [one.gauges() for one in replicas]
        return gauges

    @property
    def here(self) -> bool:
        """Whether the model runs on this machine."""
        return self._pool.here

    def cards(self) -> list[dict[str, Any]]:
        """Latest readings of other machines' GPUs, see :class:`..gpu.Card`, with ``node``."""
        return self._pool.cards()

    def _progress(self) -> dict[str, Any]:
        """What keeps the workers from answering, while none of them can."""
        if not self._replicas and self._opening and not self._fatal and not self._lone:
            return {"what": "waiting for a machine", "done": 0, "total": None, "unit": ""}
        steps = [(one.loaded, one.progress()) for one in self._replicas]
        if any(loaded and not step for loaded, step in steps):
            return {}
        return next((step for _, step in steps if step), {})

    @override
    async def close(self) -> None:
        if self._opening:
            self._opening.cancel()
            await asyncio.wait({self._opening})
        await asyncio.gather(*(one.close(task) for one, task in list(self._replicas.items())))
        await self._pool.close()
        if (measures := self.measures).answers:
            by_worker = {name: one.to_json() for name, one in self._by_worker().items()}
            workers = {} if self._lone else {"workers": by_worker}
            self._report("model-unloaded", model=self._model.name, **measures.to_json(), **workers)

    # -- worker slots -------------------------------------------------------------

    async def _open(self) -> None:
        """Start workers in all available slots; watch for more if more may appear."""
        while True:
            try:
                self._staff(await self._pool.slots())
            except EvalbenchError as error:
                self._give_up(error)
                return
            if self._pool.look_s is None or self._fatal:
                return
            await asyncio.sleep(self._pool.look_s)

    def _staff(self, slots: Sequence[WorkerSlot]) -> None:
        taken = {replica.slot.name for replica in self._replicas}
        free = [one for one in slots if one.name not in taken and one.name not in self._refused]
        most = self._pool.most
        for slot in free[: None if most is None else max(0, most - len(self._replicas))]:
            replica = Replica(
                slot,
                self._model,
                self._calls,
                report=self._report,
                log=self._log,
                room=self._room,
            )
            self._replicas[replica] = asyncio.create_task(self._keep(replica))
        now = asyncio.get_running_loop().time()
        if self._replicas or self._deserted is None:
            self._deserted = now
        elif not free and (refused := [self._refused[slot.name] for slot in slots]):
            self._give_up(refused[-1])
        elif now - self._deserted > _NOBODY_S:
            self._give_up(
                WorkerFailed(
                    "there is no machine for the model",
                    why=f"for {_NOBODY_S / 60:.0f} minutes no node had room for a worker",
                    hint="add nodes (ray status shows them), then evalbench resume;"
                    " nothing that was answered is lost",
                )
            )

    def _room(self, replica: Replica) -> int | None:
        """How many more calls a worker can accept."""
        if self._lone:
            return None
        if not replica.loaded:
            return 0
        inside = sum(len(one.inside) for one in self._replicas)
        target = portion(self._calls.waiting, inside, len(self._replicas), self._each)
        occupied = len(replica.inside)
        # In bursts, so that there is something to pack.
        return target - occupied if occupied <= target // 2 else 0

    async def _keep(self, replica: Replica) -> None:
        """Run one worker from start to end, and decide what to do with its calls if it fails."""
        lost = ""
        try:
            await replica.keep()
            return
        except NodeLost as loss:
            lost = str(loss)
            error = self._count_loss(replica, lost)
        except EvalbenchError as problem:
            error = problem
        except Exception as fault:  # its calls would wait for ever
            error = WorkerFailed(
                f"the worker at {replica.slot.name or 'this machine'} cannot be driven",
                why=f"{type(fault).__name__}: {fault}",
                hint="this is a fault of this program or of a plug-in; nothing is lost",
            )
        waiting = len(replica.inside)
        self._dismiss(replica)
        if error:
            self._refused[replica.slot.name] = error
        if error and not self._replicas and self._pool.look_s is None:
            self._give_up(error)
            return
        try:
            self._tell_leaving(replica.slot.name, lost, waiting, error)
        except EvalbenchError as broken:
            # If no event can be stored, no reply can be either.
            self._give_up(broken)

    def _tell_leaving(
        self, slot: str, lost: str, waiting: int, error: EvalbenchError | None
    ) -> None:
        if lost:
            self._report("worker-lost", worker=slot, why=lost, waiting=waiting)
        if error:
            self._report("worker-given-up", worker=slot, why=error.summary)

    def _count_loss(self, replica: Replica, why: str) -> EvalbenchError | None:
        """Why no more workers are started in a slot that lost its worker too often."""
        slot = replica.slot.name
        self._losses[slot] = 1 if replica.measures.answers else self._losses.get(slot, 0) + 1
        if self._losses[slot] < _MOST_LOSSES:
            return None
        return WorkerFailed(
            f"the worker at {slot} was lost {_MOST_LOSSES} times", why=why, hint=f"see {self._log}"
        )

    def _dismiss(self, replica: Replica) -> None:
        """A worker has left for good: its calls go to the others."""
        self._calls.give_back(replica.inside)
        self._calls.leave(replica)
        if replica.ready_at is not None:
            self._ready_at = self.ready_at
        self._gone.setdefault(replica.slot.name, Measures()).add(replica.measures)
        del self._replicas[replica]
        self._wake()

    def _give_up(self, error: EvalbenchError) -> None:
        self._fatal = error
        self._calls.fail(lambda: error)

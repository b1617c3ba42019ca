"""One worker that runs the model and is kept alive: restarted, with a smaller batch, if it dies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evalbench.engine import errors
from evalbench.engine.calls import Reply, WorkerProvider, frames
from evalbench.engine.calls.frames import answer_frames
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.dispatch.base import Report, failed_reply
from evalbench.engine.dispatch.local.open_calls import OpenCalls
from evalbench.engine.dispatch.local.worker_slots import (
    Keep,
    WorkerHandle,
    WorkerSlot,
    ending,
    was_killed,
)
from evalbench.engine.errors import CallRejected, ProviderError, RunFatal, WorkerFailed
from evalbench.engine.hardware.measures import Measures
from evalbench.engine.record_schemas import WorkerGauges

_LINGER_S = 0.05
_PARTING_S = 2.0
_MOST_RESTARTS = 3
_MOST_CULPRITS = 3
"""After this many calls in a row that kill the worker, the worker is at fault."""
_KILLINGS = 2
_MOST_KILLED = 2
"""How often calls are sent together again after the system killed the worker with them."""


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """What a worker runs.

    Attributes:
        provider, name: the model.
        env: variables added to the worker's environment.
        need: its estimated memory, see :class:`..fit.Need`.
        device: the provider's option of that name.
    """

    provider: WorkerProvider
    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    need: Mapping[str, int] = field(default_factory=dict)
    device: str = "auto"


class Replica:
    """A worker in one slot, across restarts.

    Attributes:
        inside: calls that the worker holds, in the order in which they were sent.
        loaded: the model is loaded: calls can be answered.
        ready_at: when it was first loaded, on the monotonic clock.
        measures: measurements across all restarts.
    """

    def __init__(
        self,
        slot: WorkerSlot,
        model: WorkerModel,
        calls: OpenCalls,
        *,
        report: Report,
        log: Path,
        room: Callable[[Replica], int | None],
    ) -> None:
        """Set up; nothing is started.

        Args:
            slot: where the worker runs.
            model: what it runs.
            calls: all open calls.
            report: receives events.
            log: the path shown to users for the worker's output.
            room: how many calls it can accept now; None for no limit.
        """
        self.slot = slot
        self.inside: dict[str, None] = {}
        self.loaded = False
        self.ready_at: float | None = None
        self.measures = Measures()
        self.info: dict[str, Any] = {}
        self.memory: dict[str, Any] = {}
        self.wake = asyncio.Event()
        self._model = model
        self._calls = calls
        self._step: dict[str, Any] = {}
        self._step_began = 0.0
        self._tell = report
        self._log = log
        self._room = room
        self._handle: WorkerHandle | None = None
        self._alone = ""
        # How often memory ran out: each time halves the batch that a new worker starts with.
        self._halvings = 0
        self._killed = 0
        self._restarted = False
        self._busy_before = 0.0
        self._closing = False

    @property
    def pid(self) -> int | None:
        """The worker's process id on its machine."""
        return self._handle.pid if self._handle else None

    def cancel(self) -> None:
        """Tell the worker to drop all calls it holds."""
        self._send({"type": "cancel", "keys": []})

    async def close(self, task: asyncio.Task[None]) -> None:
        """End the worker and the task that runs :meth:`keep`."""
        self._closing = True
        stays = (keep := self._keep()) is not None and keep.seconds > 0
        if self.loaded and (stays or not self.inside):
            # The last frame reports how much memory it used.
            if self.inside:
                self.cancel()
            self._send({"type": "bye"})
            await asyncio.wait({task}, timeout=_PARTING_S)
        task.cancel()
        await asyncio.wait({task})

    def gauges(self) -> WorkerGauges:
        """Numbers for display."""
        return {
            "worker": self.slot.name,
            "node": self.slot.node,
            "pid": self.pid,
            "in_flight": len(self.inside),
            "answers": self.measures.answers,
            "tokens_per_second": self.measures.tokens_per_second,
            "memory": self.memory,
            "progress": self.progress(),
            "idle": self.idle,
        }

    def progress(self) -> dict[str, Any]:
        """What the worker does before it answers, for how many seconds if it counts nothing."""
        step = self._step
        if not step or step["done"] or step["total"]:
            return step
        return {**step, "done": int(time.monotonic() - self._step_began), "unit": "s"}

    def _begin_step(self, what: str, done: int, total: int | None, unit: str) -> None:
        if what != self._step.get("what"):
            self._step_began = time.monotonic()
        self._step = {"what": what, "done": done, "total": total, "unit": unit}

    @property
    def idle(self) -> float | None:
        """The fraction of time since the model was loaded during which nothing was computed."""
        if self.ready_at is None or (spent := time.monotonic() - self.ready_at) <= 0:
            return None
        return round(max(0.0, 1 - self.measures.busy_s / spent), 3)

    async def keep(self) -> None:
        """Run workers until closed; give up if they keep dying without answering.

        Deaths caused by a single call are counted separately: several such calls may come one
        after another.

        Raises:
            EvalbenchError: no worker can run here.
            NodeLost: its machine is gone.
        """
        deaths = culprits = 0
        try:
            while True:
                if await self._run_worker():
                    deaths = culprits = 0
                if self._closing:
                    return
                code = self._handle.code if self._handle else None
                if self._suspect(code):
                    culprits += 1
                else:
                    deaths += 1
                if deaths > _MOST_RESTARTS or culprits == _MOST_CULPRITS:
                    raise WorkerFailed(
                        f"the local worker died {deaths + culprits} times in a row"
                        f" ({ending(code)})",
                        why=self._last_log_line(code),
                        hint=self._hint(code),
                    )
                self._restarted = True
                self._report_restart(code)
        except OSError as error:
            raise WorkerFailed("the local worker could not be started", why=str(error)) from error
        except (ValueError, LookupError, TypeError) as error:
            raise WorkerFailed(
                "the local worker sent something that is not a frame",
                why=f"{type(error).__name__}: {error}",
                hint=f"a library may print where it must not; see {self._log}",
            ) from error

    def _report_restart(self, code: int | None) -> None:
        suspects = len(self._calls.suspects)
        one_by_one = {"one_by_one": suspects} if suspects else {}
        if self.loaded and code is not None and code < 0:
            self._halvings += 1
            one_by_one["halved"] = self._halvings
        self._report("worker-restarted", exit=code, waiting=len(self._calls), **one_by_one)

    def _report(self, kind: str, /, **body: Any) -> None:
        named = {"worker": self.slot.name} if self.slot.name else {}
        self._tell(kind, **named, **body)

    def _suspect(self, code: int | None) -> bool:
        """Record which calls the worker died with; a call it died with twice fails.

        The second time the call was alone. A death while the model loads is no call's fault, and
        being killed may be due to all calls together: a smaller batch is tried first.

        Returns:
            Whether a call failed.
        """
        inside = [key for key in self.inside if self._calls.is_open(key)]
        self.inside.clear()
        # How a kept worker ended is not known: another process had started it.
        unknown = code is None or was_killed(code)
        if not self.loaded or (unknown and self._killed < _MOST_KILLED):
            self._killed += bool(inside and self.loaded)
            self._calls.give_back(inside)
            return False
        found = False
        for key in inside:
            if self._calls.accuse(key) < _KILLINGS:
                self._calls.suspects.append(key)
                continue
            error = CallRejected(
                f"the local worker died {_KILLINGS} times with this call in it ({ending(code)})",
                why=self._last_log_line(code),
                hint=self._hint(code),
            )
            self._calls.resolve(key, failed_reply(error, _KILLINGS))
            found = True
        return found

    def _last_log_line(self, code: int | None) -> str:
        if was_killed(code):
            return "it was killed by the system, most likely because memory ran out"
        line = self._handle.last_log_line() if self._handle else ""
        return line or "it said nothing; the system may have ended it for its memory"

    def _hint(self, code: int | None) -> str:
        fits = "run evalbench models fit to see what fits; try --quantize 4bit or a smaller "
        "model"
        return fits if was_killed(code) else f"read {self._log}; {fits}"

    async def _run_worker(self) -> bool:
        """Run one worker from start to end. True if it answered at least one call."""
        command = self._model.provider.worker_command(self._model.name)
        self._begin_step("starting the local worker", 0, None, "")
        self._alone = ""
        self.loaded = False
        self._busy_before = self.measures.busy_s
        self._handle = handle = await self.slot.start(command, self._model.env, self._keep())
        # Anything else a provider puts in is between it and its worker.
        load = cast(
            "frames.Load",
            {"type": "load", **self._model.provider.load_request(self._model.name)},
        )
        if self._halvings:
            load["smaller"] = self._halvings
        if self.slot.sharing > 1:
            load["sharing"] = self.slot.sharing
        self._send(load)
        self.wake.set()
        sender = asyncio.create_task(self._feed(handle))
        answered = False
        try:
            while (frame := await handle.read()) is not None:
                answered = self._take(frame) or answered
        finally:
            sender.cancel()
            await handle.end()
        return answered

    def _keep(self) -> Keep | None:
        """How the worker may stay after the run; None if its kind never does."""
        provider, name = self._model.provider, self._model.name
        if (seconds := provider.keep_loaded_s) is None:
            return None
        return Keep(
            f"{provider.name}/{name}",
            # After a death only a new worker is trusted, and it does not stay.
            0.0 if self._restarted else seconds,
            lambda: provider.load_identity(name),
            self._model.need.get("total", 0),
            self._model.device,
        )

    async def _feed(self, handle: WorkerHandle) -> None:
        while True:
            await self.wake.wait()
            # Calls come in bursts as samples reach their next step; a short wait lets the worker
            # see enough of them to pack well.
            if not self._calls.suspects:
                await asyncio.sleep(_LINGER_S)
            self.wake.clear()
            for batch in answer_frames([(key, self._calls[key]) for key in self._next()]):
                handle.send(batch)
                await handle.drain()

    def _next(self) -> list[str]:
        """The calls to send now: as many as fit, or one suspect alone."""
        if self._alone in self.inside:
            return []
        self._alone = ""
        if (room := self._room(self)) == 0:
            return []
        if not self.inside:
            self._alone = self._calls.next_suspect()
        keys = [self._alone] if self._alone else self._calls.take(self, room)
        self.inside.update(dict.fromkeys(keys))
        return keys

    def _send(self, frame: frames.EngineFrame) -> None:
        if self._handle:
            self._handle.send(frame)

    def _take(self, frame: frames.WorkerFrame) -> bool:
        match frame["type"]:
            case "hello":
                if frame["protocol"] != frames.PROTOCOL:
                    raise WorkerFailed(
                        "engine and worker speak different protocols",
                        why=f"worker {frame['protocol']}, engine {frames.PROTOCOL}",
                        hint="reinstall evalbench",
                    )
            case "reply":
                reply = reply_from_json(frame["reply"])
                self.measures.count(reply)
                return self._resolve(frame["key"], reply)
            case "failed":
                return self._resolve(frame["key"], failed_reply(_error(frame), 1))
            case "progress":
                step = frame["what"], frame.get("done", 0), frame.get("total")
                self._begin_step(*step, frame.get("unit", ""))
            case "loaded":
                self._take_model(frame["info"])
            case "memory":
                self.memory = {k: v for k, v in frame.items() if k != "type"}
                self._measure()
            case "out-of-memory":
                self._halvings += 1
                self._report("out-of-memory", budget=frame["budget"], calls=len(frame["keys"]))
            case "kept":
                self._report("model-kept", seconds=frame["seconds"], memory=frame["memory"])
            case "fatal":
                error = _error(frame)
                if isinstance(error, RunFatal):
                    raise error
                raise WorkerFailed(error.what, why=error.why, hint=error.hint)
        return False

    def _take_model(self, info: dict[str, Any]) -> None:
        self.loaded = True
        self.info = info
        self.measures.loaded(info)
        self.measures.expected = self._expected()
        self.ready_at = self.ready_at or time.monotonic()
        self._step = {}
        self._report("model-loaded", **info)
        self.wake.set()

    def _expected(self) -> int:
        """The highest memory estimate in bytes; on CUDA without the process's own share."""
        on_card = self.measures.device.startswith("cuda")
        need = self._model.need
        return need.get("total", 0) - (need.get("process", 0) if on_card else 0)

    def _measure(self) -> None:
        reading, measures = self.memory, self.measures
        measures.peak = max(measures.peak, reading.get("peak") or 0)
        measures.total = reading.get("total") or measures.total
        measures.busy_s = self._busy_before + (reading.get("busy_s") or 0.0)

    def _resolve(self, key: str, reply: Reply) -> bool:
        self.inside.pop(key, None)
        if self._alone or self._room(self) or (self._calls.suspects and not self.inside):
            self.wake.set()
        self._calls.resolve(key, reply)
        return True


def _error(frame: frames.Failed | frames.Fatal) -> ProviderError:
    kind = getattr(errors, frame.get("error", ""), None)
    if not (isinstance(kind, type) and issubclass(kind, ProviderError)):
        kind = ProviderError
    error: ProviderError = kind(
        frame.get("what", "the worker failed"), why=frame.get("why", ""), hint=frame.get("hint", "")
    )
    return error

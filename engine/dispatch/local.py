"""Answers calls with a model on this machine, held by a worker process.

The worker may crash or run out of memory without harming the engine: it is
started again and unanswered calls are sent once more. Calls carry keys, so
nothing is computed twice for the same answer. Those that were in the worker
when it died go one by one, so that one which kills it fails alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalbench.engine import errors
from evalbench.engine.calls import Call, MediaPart, Reply, WorkerProvider, frames
from evalbench.engine.calls.messages import call_to_json
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.dispatch.base import Halted, Report, failed_reply
from evalbench.engine.errors import (
    CallRejected,
    EvalbenchError,
    ProviderError,
    RunFatal,
    WorkerFailed,
)
from evalbench.engine.measures import Measures

WINDOW = 768
IMAGE_WINDOW = 32
"""Calls in work where they show images: each is held in memory here and in the worker."""
_LINGER_S = 0.05
_PARTING_S = 2.0
_MOST_RESTARTS = 3
_MOST_CULPRITS = 3
"""So many calls that each kill the worker, with no answer in between: it is the worker's fault."""
_KILLINGS = 2
_MOST_KILLED = 2
"""So often calls are sent together again after the system killed the worker with them."""
_MEDIA_BYTES = 64 << 20
"""Of images in one frame, before base64; a call with more has a frame of its own."""


class Local:
    """Dispatcher for one model in one worker process.

    ``window`` is large on purpose: the worker sorts and packs what it is
    given, and shares the computation of equal beginnings.
    """

    def __init__(
        self,
        provider: WorkerProvider,
        model: str,
        *,
        report: Report,
        log: Path,
        env: Mapping[str, str] | None = None,
        window: int | None = None,
        need: Mapping[str, int] | None = None,
    ) -> None:
        self.window = window or WINDOW
        self._provider = provider
        self._model = model
        self._report = report
        self._log = log
        self._env = env or {}
        self._need = need or {}
        self._queue: deque[str] = deque()
        # Calls that the worker holds, in the order in which they were sent.
        self._inside: dict[str, None] = {}
        self._suspects: deque[str] = deque()
        self._killings: dict[str, int] = {}
        self._alone = ""
        self._loaded_here = False
        # How often memory ran out: a new worker starts with a batch halved so often.
        self._halvings = 0
        self._killed = 0
        self._calls: dict[str, tuple[Call, asyncio.Future[Reply]]] = {}
        self._fatal: EvalbenchError | None = None
        self._halted = False
        self.ready_at: float | None = None
        self._wake = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._memory: dict[str, Any] = {}
        self._busy_before = 0.0
        self._closing = False
        self.measures = Measures()
        self.loaded: dict[str, Any] = {}
        self.progress: dict[str, Any] = {}

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._refuse_if_over()
        await before_send()
        self._refuse_if_over()
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._calls[key] = call, future
        self._queue.append(key)
        self._wake.set()
        try:
            return await future
        finally:
            self._calls.pop(key, None)
            self._killings.pop(key, None)

    def _refuse_if_over(self) -> None:
        if self._fatal:
            raise self._fatal
        if self._halted:
            raise Halted

    def halt(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`.

        Local work costs only time, so what is in the worker is dropped too.
        """
        self._halted = True
        self._send({"type": "cancel", "keys": []})
        for _, future in list(self._calls.values()):
            if not future.done():
                future.set_exception(Halted())

    def set_concurrency(self, calls: int | None) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self.window = calls or WINDOW

    def gauges(self) -> dict[str, Any]:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        return {
            "in_flight": len(self._calls),
            "memory": self._memory,
            "progress": self.progress,
            **({"measures": self.measures.to_json()} if self.measures.answers else {}),
            "worker_pid": self._process.pid if self._process else None,
            **self._idle_share(),
        }

    def _idle_share(self) -> dict[str, float]:
        """How much of the time since the model was loaded nothing was computed."""
        if self.ready_at is None or (spent := time.monotonic() - self.ready_at) <= 0:
            return {}
        return {"idle": round(max(0.0, 1 - self.measures.busy_s / spent), 3)}

    async def close(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._closing = True
        if self._keeper:
            if self._loaded_here and not self._inside:
                # Its last words are how much memory it took.
                self._send({"type": "bye"})
                await asyncio.wait({self._keeper}, timeout=_PARTING_S)
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self._end_process()
        if self.measures.answers:
            self._report("model-unloaded", model=self._model, **self.measures.to_json())

    # -- keeping the worker alive -------------------------------------------

    async def _keep(self) -> None:
        """Run workers until closed; give up when they die again and again without answering.

        A death that was found to be one call's fault counts apart: calls like
        that may come one after the other.
        """
        deaths = culprits = 0
        try:
            while True:
                if await self._run_worker():
                    deaths = culprits = 0
                if self._closing:
                    return
                code = self._process.returncode if self._process else None
                if self._suspect(code):
                    culprits += 1
                else:
                    deaths += 1
                if deaths > _MOST_RESTARTS or culprits == _MOST_CULPRITS:
                    times = deaths + culprits
                    raise WorkerFailed(
                        f"the local worker died {times} times in a row ({_ending(code)})",
                        why=self._last_words(code),
                        cure=_cure(code, self._log),
                    )
                one_by_one = {"one_by_one": len(self._suspects)} if self._suspects else {}
                if self._loaded_here and code is not None and code < 0:
                    self._halvings += 1
                    one_by_one["halved"] = self._halvings
                self._report("worker-restarted", exit=code, waiting=len(self._calls), **one_by_one)
        except EvalbenchError as error:
            self._give_up(error)
        except OSError as error:
            self._give_up(WorkerFailed("the local worker could not be started", why=str(error)))
        except (ValueError, LookupError, TypeError) as error:
            self._give_up(
                WorkerFailed(
                    "the local worker sent something that is not a frame",
                    why=f"{type(error).__name__}: {error}",
                    cure=f"a library may print where it must not; see {self._log}",
                )
            )

    def _suspect(self, code: int | None) -> bool:
        """Note which calls the worker died with; one that it died with twice fails.

        The second time it was alone. A death while the model loads is no call's fault, and
        being killed may be the fault of all together: a smaller batch is tried first.

        Returns:
            Whether a call failed.
        """
        found = False
        inside = [key for key in self._inside if self._open(key)] if self._loaded_here else []
        if inside and code == -signal.SIGKILL and self._killed < _MOST_KILLED:
            self._killed += 1
            return False
        for key in inside:
            self._killings[key] = self._killings.get(key, 0) + 1
            if self._killings[key] < _KILLINGS:
                continue
            error = CallRejected(
                f"the local worker died {_KILLINGS} times with this call in it ({_ending(code)})",
                why=self._last_words(code),
                cure=_cure(code, self._log),
            )
            self._calls[key][1].set_result(failed_reply(error, _KILLINGS))
            found = True
        self._suspects.extend(key for key in inside if self._open(key))
        return found

    def _open(self, key: str) -> bool:
        return key in self._calls and not self._calls[key][1].done()

    def _give_up(self, error: EvalbenchError) -> None:
        self._fatal = error
        for _, future in list(self._calls.values()):
            if not future.done():
                future.set_exception(error)

    def _last_words(self, code: int | None) -> str:
        if code == -signal.SIGKILL:
            return "nobody but the system ends it so: most likely memory ran out"
        try:
            lines = self._log.read_bytes()[-4000:].decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return (
            lines[-1] if lines else "it said nothing; the system may have ended it for its memory"
        )

    async def _run_worker(self) -> bool:
        """One worker from start to end. True when it answered at least one call."""
        command = self._provider.worker_command(self._model)
        self.progress = {"what": "starting the local worker", "done": 0, "total": None, "unit": ""}
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, **command.env, **self._env},
                limit=frames.MAX_FRAME,
            )
        request = self._provider.load_request(self._model)
        smaller = {"smaller": self._halvings} if self._halvings else {}
        self._send({"type": "load", **request, **smaller})
        self._inside.clear()
        self._alone = ""
        self._loaded_here = False
        self._busy_before = self.measures.busy_s
        suspects = set(self._suspects)
        self._queue.clear()
        self._queue.extend(key for key in self._calls if self._open(key) and key not in suspects)
        self._wake.set()
        sender = asyncio.create_task(self._feed())
        answered = False
        try:
            assert self._process.stdout is not None
            while (frame := await frames.read_frame(self._process.stdout)) is not None:
                answered = self._take(frame) or answered
        finally:
            sender.cancel()
            await self._end_process()
        return answered

    async def _feed(self) -> None:
        while True:
            await self._wake.wait()
            # Calls come in bursts as samples reach their next step; a moment's
            # patience lets the worker see enough of them to pack well.
            if not self._suspects:
                await asyncio.sleep(_LINGER_S)
            self._wake.clear()
            for batch in answer_frames([(key, self._calls[key][0]) for key in self._next()]):
                self._send(batch)
                process = self._process
                if process and process.stdin:
                    with contextlib.suppress(ConnectionError):
                        await process.stdin.drain()

    def _next(self) -> list[str]:
        """The calls to send now: all that wait, or one suspect alone."""
        if self._alone in self._inside:
            return []
        self._alone = ""
        while self._suspects and not self._alone:
            if self._open(key := self._suspects.popleft()):
                self._alone = key
        keys = [self._alone] if self._alone else [k for k in self._queue if k in self._calls]
        if not self._alone:
            self._queue.clear()
        self._inside.update(dict.fromkeys(keys))
        return keys

    def _send(self, frame: dict[str, Any]) -> None:
        process = self._process
        if process and process.stdin and not process.stdin.is_closing():
            process.stdin.write(frames.encode(frame))

    def _take(self, frame: dict[str, Any]) -> bool:
        match frame["type"]:
            case "hello":
                if frame["protocol"] != frames.PROTOCOL:
                    raise WorkerFailed(
                        "engine and worker speak different protocols",
                        why=f"worker {frame['protocol']}, engine {frames.PROTOCOL}",
                        cure="reinstall evalbench",
                    )
            case "reply":
                reply = reply_from_json(frame["reply"])
                self.measures.count(reply)
                return self._resolve(frame["key"], reply)
            case "failed":
                return self._resolve(frame["key"], failed_reply(_error(frame), 1))
            case "progress":
                self.progress = {k: frame.get(k) for k in ("what", "done", "total", "unit")}
            case "loaded":
                self._loaded_here = True
                self.loaded = frame["info"]
                self.measures.device = str(frame["info"].get("device", ""))
                self.measures.expected = self._expected()
                self.ready_at = self.ready_at or time.monotonic()
                self.progress = {}
                self._report("model-loaded", **frame["info"])
            case "memory":
                self._memory = {k: v for k, v in frame.items() if k != "type"}
                self._measure()
            case "out-of-memory":
                self._halvings += 1
                self._report("out-of-memory", budget=frame["budget"], calls=len(frame["keys"]))
            case "fatal":
                error = _error(frame)
                if isinstance(error, RunFatal):
                    raise error
                raise WorkerFailed(error.what, why=error.why, cure=error.cure)
        return False

    def _expected(self) -> int:
        """Most bytes that were reckoned; on a card without the driver's own, as torch counts."""
        on_card = self.measures.device.startswith("cuda")
        return self._need.get("total", 0) - (self._need.get("process", 0) if on_card else 0)

    def _measure(self) -> None:
        told, held = self._memory, self.measures
        held.peak = max(held.peak, told.get("peak") or 0)
        held.total = told.get("total") or held.total
        held.busy_s = self._busy_before + (told.get("busy_s") or 0.0)

    def _resolve(self, key: str, reply: Reply) -> bool:
        self._inside.pop(key, None)
        if self._alone:
            self._wake.set()
        if self._open(key):
            self._calls[key][1].set_result(reply)
        return True

    async def _end_process(self) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def answer_frames(calls: list[tuple[str, Call]]) -> Iterator[dict[str, Any]]:
    """Frames that ask these calls, each with the images that its calls name."""
    asked: list[dict[str, Any]] = []
    media: dict[str, str] = {}
    size = 0
    for key, call in calls:
        shown = {part.sha256: part.data for part in _media(call) if part.sha256 not in media}
        more = sum(map(len, shown.values()))
        if asked and size + more > _MEDIA_BYTES:
            yield _answer(asked, media)
            asked, media, size = [], {}, 0
            shown = {part.sha256: part.data for part in _media(call)}
            more = sum(map(len, shown.values()))
        asked.append({"key": key, "call": call_to_json(call)})
        media |= {name: b64encode(data).decode("ascii") for name, data in shown.items()}
        size += more
    if asked:
        yield _answer(asked, media)


def _answer(calls: list[dict[str, Any]], media: dict[str, str]) -> dict[str, Any]:
    return {"type": "answer", "calls": calls, **({"media": media} if media else {})}


def _media(call: Call) -> Iterator[MediaPart]:
    for message in call.prompt.messages:
        for part in message.parts:
            if isinstance(part, MediaPart) and part.data:
                yield part


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def _cure(code: int | None, log: Path) -> str:
    fits = "evalbench models fit tells what fits; try --quantize 4bit or a smaller model"
    return fits if code == -signal.SIGKILL else f"read {log}; {fits}"


def _error(frame: dict[str, Any]) -> ProviderError:
    kind = getattr(errors, frame.get("error", ""), None)
    if not (isinstance(kind, type) and issubclass(kind, ProviderError)):
        kind = ProviderError
    error: ProviderError = kind(
        frame.get("what", "the worker failed"), why=frame.get("why", ""), cure=frame.get("cure", "")
    )
    return error

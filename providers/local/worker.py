"""The worker process: ``python -m evalbench.providers.local.worker``.

It speaks :mod:`evalbench.engine.calls.frames` on the pipes it was started with. Before anything
else can print, those pipes are moved away from descriptors 0 and 1, so that no library can write
into the protocol.

One thread reads frames while the main thread computes, so calls that arrive meanwhile join the next
forward pass. If the engine is gone, the reading thread ends the process at once, in the middle of
any computation.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import traceback
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from evalbench.engine.calls import Reply, frames
from evalbench.engine.calls.messages import call_from_json
from evalbench.engine.calls.options import record_of
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import ProviderError, WorkerFailed
from evalbench.engine.installed import install_command
from evalbench.providers.local.catalogue import resolve
from evalbench.providers.local.options import LocalOptions

if TYPE_CHECKING:
    from evalbench.providers.local.active_calls import ActiveCalls

_REMEMBERED = 20_000
_MEMORY_EVERY_S = 2.0
_PROGRESS_EVERY_S = 0.2


class Wire:
    """The engine's end of the pipes. Frames may be sent from any thread."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self.source = source
        self._sink = sink
        self._lock = threading.Lock()
        self._reported = 0.0

    def send(self, frame: frames.WorkerFrame) -> None:
        """Write one frame. If the reader is gone, the process ends."""
        body = frames.encode(frame)
        with self._lock:
            try:
                self._sink.write(body)
                self._sink.flush()
            except BrokenPipeError:
                os._exit(0)

    def progress(self, what: str, done: int, total: int | None, unit: str) -> None:
        """Report progress; reports in quick succession are dropped."""
        now = time.monotonic()
        if done and done != total and now - self._reported < _PROGRESS_EVERY_S:
            return
        self._reported = now
        self.send({"type": "progress", "what": what, "done": done, "total": total, "unit": unit})

    def failed(self, key: str, error: ProviderError) -> None:
        """One call cannot be answered."""
        self.send(
            {
                "type": "failed",
                "key": key,
                "error": type(error).__name__,
                "what": error.what,
                "why": error.why,
                "hint": error.hint,
            }
        )

    def fatal(self, error: ProviderError) -> None:
        """No call can be answered."""
        self.send(
            {
                "type": "fatal",
                "error": type(error).__name__,
                "what": error.what,
                "why": error.why,
                "hint": error.hint,
            }
        )


def take_over_pipes() -> Wire:
    """Keep the engine's pipes to ourselves; prints go to the log, reads get nothing."""
    source = os.fdopen(os.dup(0), "rb", buffering=0)
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return Wire(source, sink)


class Worker:
    """Accepts frames and sends answers until told to stop."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._inbox: queue.SimpleQueue[frames.EngineFrame] = queue.SimpleQueue()
        self._answering: ActiveCalls | None = None
        self._answered: OrderedDict[str, frames.Replied] = OrderedDict()
        self._leaving = False
        self._told = 0.0
        self._busy = 0.0

    def serve(self) -> int:
        """Work until ``bye`` or a fatal error; returns the exit status."""
        self._wire.send({"type": "hello", "protocol": frames.PROTOCOL, "pid": os.getpid()})
        threading.Thread(target=self._read, daemon=True).start()
        try:
            while not (self._leaving and self._idle()):
                for frame in self._arrived():
                    self._take(frame)
                if self._answering is not None and not self._idle():
                    self._work(self._answering)
        except ProviderError as error:
            self._wire.fatal(error)
            return 1
        self._tell_memory()
        return 0

    # -- taking frames ---------------------------------------------------------

    def _read(self) -> None:
        try:
            while (frame := frames.read_blocking(self._wire.source)) is not None:
                if frame["type"] == "memory" and self._answering is not None:
                    self._tell_memory()
                else:
                    self._leaving |= frame["type"] == "bye"
                    self._inbox.put(frame)
        except Exception:
            # Whatever it was, probably memory: without this thread no call would be answered.
            traceback.print_exc()
            os._exit(1)
        if not self._leaving:
            os._exit(0)

    def _arrived(self) -> Iterable[frames.EngineFrame]:
        """Frames that have arrived; waits for one if there is nothing to compute."""
        if self._idle() and not self._leaving:
            yield self._inbox.get()
        while not self._inbox.empty():
            yield self._inbox.get()

    def _idle(self) -> bool:
        return self._inbox.empty() and (self._answering is None or not len(self._answering))

    def _take(self, frame: frames.EngineFrame) -> None:
        match frame["type"]:
            case "load":
                self._load(frame)
            case "answer":
                media = {name: b64decode(data) for name, data in frame.get("media", {}).items()}
                for entry in frame["calls"]:
                    self._add(entry["key"], entry["call"], media)
            case "cancel":
                self._cancel(frame["keys"])
            case "memory":
                self._tell_memory()

    def _load(self, frame: frames.Load) -> None:
        try:
            from evalbench.providers.local.active_calls import ActiveCalls
        except ImportError as error:
            raise WorkerFailed(
                "local models need packages that are not installed",
                why=str(error),
                hint=install_command("local"),
            ) from error
        source = resolve(frame["model"])
        try:
            self._answering = ActiveCalls.load(
                source,
                record_of(LocalOptions, frame["settings"]),
                self._wire.progress,
                smaller=frame.get("smaller", 0),
                sharing=frame.get("sharing", 1),
            )
        except ProviderError:
            raise
        except Exception as error:
            # Any error that a model's files cause in the libraries would recur at the next start:
            # the run cannot continue.
            traceback.print_exc()
            raise WorkerFailed(
                f"{frame['model']} could not be loaded",
                why=f"{type(error).__name__}: {error}",
                hint="the worker's log has the details",
            ) from error
        self._wire.send({"type": "loaded", "info": self._answering.info})
        self._tell_memory()

    def _add(self, key: str, call: dict[str, Any], media: Mapping[str, bytes]) -> None:
        if key in self._answered:
            self._wire.send(self._answered[key])
            return
        if self._answering is None:
            raise WorkerFailed("the engine asked before it named a model")
        if key in self._answering:
            return
        try:
            self._answering.add(key, call_from_json(call, media).prompt)
        except ProviderError as error:
            self._wire.failed(key, error)

    def _cancel(self, keys: list[str]) -> None:
        if self._answering is not None:
            gone = self._answering.cancel(keys)
            self._wire.send({"type": "cancelled", "keys": gone})

    # -- answering ---------------------------------------------------------------

    def _work(self, answering: ActiveCalls) -> None:
        began = time.monotonic()
        answers = answering.step(self._out_of_memory)
        self._busy += time.monotonic() - began
        for key, answer in answers:
            if isinstance(answer, Reply):
                frame: frames.Replied = {
                    "type": "reply",
                    "key": key,
                    "reply": reply_to_json(answer),
                }
                self._answered[key] = frame
                if len(self._answered) > _REMEMBERED:
                    self._answered.popitem(last=False)
                self._wire.send(frame)
            else:
                self._wire.failed(key, answer)
        if time.monotonic() - self._told > _MEMORY_EVERY_S:
            self._tell_memory()

    def _out_of_memory(self, keys: list[str], budget: int) -> None:
        self._wire.send({"type": "out-of-memory", "keys": keys, "budget": budget})

    def _tell_memory(self) -> None:
        if self._answering is not None:
            self._told = time.monotonic()
            told = {**self._answering.memory(), "busy_s": round(self._busy, 3)}
            self._wire.send(cast("frames.Memory", {"type": "memory", **told}))


def main() -> int:
    """Run a worker on this process's standard input and output."""
    return Worker(take_over_pipes()).serve()


if __name__ == "__main__":
    status = main()
    # Interpreter shutdown with torch loaded takes a quarter of a second and has nothing left to do
    # here.
    os._exit(status)

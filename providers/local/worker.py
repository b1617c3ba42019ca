"""The worker process: ``python -m evalbench.providers.local.worker``.

It speaks :mod:`evalbench.engine.calls.frames` on the pipes or the socket it was started with.
Before anything else can print, those are moved away from descriptors 0 and 1, so that no library
can write into the protocol.

One thread reads frames while the main thread computes, so calls that arrive meanwhile join the next
forward pass. If the engine is gone without a ``bye``, the reading thread ends the process at once,
in the middle of any computation. After a ``bye`` the model may be kept for the next engine, see
:mod:`evalbench.engine.kept_workers`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import time
import traceback
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from evalbench.engine.calls import Reply, frames
from evalbench.engine.calls.messages import call_from_json
from evalbench.engine.calls.options import record_of
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import ProviderError, WorkerFailed
from evalbench.engine.installed import install_command
from evalbench.engine.kept_workers import WaitingWorker
from evalbench.engine.paths import open_private
from evalbench.providers.local.catalogue import resolve
from evalbench.providers.local.options import TRANSFORMERS, LocalOptions
from evalbench.providers.local.short_start import short_imports, without_collection

if TYPE_CHECKING:
    from evalbench.providers.local.active_calls import ActiveCalls

_REMEMBERED = 20_000
_MEMORY_EVERY_S = 2.0
_PROGRESS_EVERY_S = 0.2


class Wire:
    """The connection to the engine. Frames may be sent from any thread.

    Attributes:
        leaving: the engine has said goodbye: this process goes on without it.
        gone: it has also left.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self.source = source
        self.leaving = self.gone = False
        self._reader = threading.Thread()
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
            except (BrokenPipeError, ConnectionResetError):
                if not self.leaving:
                    os._exit(0)
                self.gone = True

    def read_by(self, reader: Callable[[], None]) -> None:
        """Start the thread that reads from ``source``."""
        self._reader = threading.Thread(target=reader, daemon=True)
        self._reader.start()

    def hang_up(self) -> None:
        """End the connection, and wait until its reader has noticed."""
        with contextlib.suppress(OSError), socket.socket(fileno=self._sink.fileno()) as connection:
            connection.shutdown(socket.SHUT_RDWR)
            connection.detach()
        self._reader.join()
        self.source.close()
        self._sink.close()

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


def print_to(log: str) -> None:
    """Let everything that is printed from now on go to the end of a file."""
    with open_private(Path(log), "ab") as file:
        os.dup2(file.fileno(), 2)
    os.dup2(2, 1)


def wait_for_engine(
    wire: Wire, keep: frames.Keep, memory: Mapping[str, Any], usable: Callable[[], bool]
) -> Wire | None:
    """Say goodbye to an engine and wait for the next one; None if there is none.

    Args:
        wire: the connection to the one that leaves.
        keep: its request.
        memory: ``device`` of the model, the bytes ``used`` there, and its ``backend``.
        usable: see :meth:`.kept_workers.WaitingWorker.wait`.
    """
    used = int(memory["used"])
    try:
        where = {"backend": memory["backend"], "device": memory["device"]}
        with WaitingWorker(keep, **where, memory=used) as waiting:
            # Nothing of the run is held any longer: not its log, nor the folder it started in.
            print_to(os.devnull)
            os.chdir("/")
            wire.send({"type": "kept", "seconds": keep["seconds"], "memory": used})
            wire.hang_up()
            found = waiting.wait(usable)
    except OSError as error:
        sys.stderr.write(f"the model is not kept: {error}\n")
        return None
    if found is None:
        return None
    descriptor = found.detach()
    return Wire(
        os.fdopen(os.dup(descriptor), "rb", buffering=0), os.fdopen(descriptor, "wb", buffering=0)
    )


class Worker:
    """Accepts frames and sends answers until told to stop."""

    def __init__(self, wire: Wire, loaded: ActiveCalls | None = None) -> None:
        """Set up.

        Args:
            wire: the connection to the engine.
            loaded: the model, if it was kept.
        """
        self._wire = wire
        self._inbox: queue.SimpleQueue[frames.EngineFrame] = queue.SimpleQueue()
        self._loaded = loaded
        self._answering: ActiveCalls | None = None
        self._answered: OrderedDict[str, frames.Replied] = OrderedDict()
        self._keep: frames.Keep | None = None
        self._reported_at = 0.0
        self._busy = 0.0

    def serve(self) -> int:
        """Work until ``bye`` or a fatal error; returns the exit status."""
        self._wire.send({"type": "hello", "protocol": frames.PROTOCOL, "pid": os.getpid()})
        self._wire.read_by(self._read)
        try:
            while not (self._wire.leaving and self._idle()):
                for frame in self._arrived():
                    self._take(frame)
                if self._answering is not None and not self._idle():
                    self._work(self._answering)
        except ProviderError as error:
            self._wire.fatal(error)
            return 1
        self._tell_memory()
        return 0

    def next(self) -> Worker | None:
        """After :meth:`serve`: the same for the next engine; None if the model is not kept."""
        if self._keep is None or self._answering is None:
            return None
        model, self._answering = self._answering, None
        model.rest()
        where = {"backend": TRANSFORMERS, "device": model.info["device"]}
        memory = {**where, **model.memory()}
        if (wire := wait_for_engine(self._wire, self._keep, memory, lambda: True)) is None:
            return None
        return Worker(wire, model)

    # -- taking frames ---------------------------------------------------------

    def _read(self) -> None:
        try:
            while (frame := frames.read_blocking(self._wire.source)) is not None:
                if frame["type"] == "memory" and self._answering is not None:
                    self._tell_memory()
                else:
                    self._wire.leaving |= frame["type"] == "bye"
                    self._inbox.put(frame)
        except ConnectionResetError:
            # It left without reading everything.
            pass
        except Exception:
            # Whatever it was, probably memory: without this thread no call would be answered.
            traceback.print_exc()
            os._exit(1)
        if not self._wire.leaving:
            os._exit(0)

    def _arrived(self) -> Iterable[frames.EngineFrame]:
        """Frames that have arrived; waits for one if there is nothing to compute."""
        if self._idle() and not self._wire.leaving:
            yield self._inbox.get()
        while not self._inbox.empty():
            yield self._inbox.get()

    def _idle(self) -> bool:
        return self._inbox.empty() and (self._answering is None or not len(self._answering))

    def _take(self, frame: frames.EngineFrame) -> None:
        match frame["type"]:
            case "keep":
                self._keep = frame
                print_to(frame["log"])
            case "load":
                with without_collection():
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
            with short_imports():
                from evalbench.providers.local.active_calls import ActiveCalls
        except ImportError as error:
            raise WorkerFailed(
                "local models need packages that are not installed",
                why=str(error),
                hint=install_command("local"),
            ) from error
        settings = record_of(LocalOptions, frame["settings"])
        shared = {"smaller": frame.get("smaller", 0), "sharing": frame.get("sharing", 1)}
        kept, self._loaded = self._loaded, None
        try:
            if kept is not None:
                self._answering = kept.anew(settings, **shared)
            else:
                source = resolve(frame["model"])
                self._answering = ActiveCalls.load(source, settings, self._wire.progress, **shared)
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
        extra = {} if kept is None else {"kept": True}
        self._wire.send({"type": "loaded", "info": {**self._answering.info, **extra}})
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
            cancelled = self._answering.cancel(keys)
            self._wire.send({"type": "cancelled", "keys": cancelled})

    # -- answering ---------------------------------------------------------------

    def _work(self, answering: ActiveCalls) -> None:
        if self._wire.gone:
            answering.cancel(())
            return
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
        if time.monotonic() - self._reported_at > _MEMORY_EVERY_S:
            self._tell_memory()

    def _out_of_memory(self, keys: list[str], budget: int) -> None:
        self._wire.send({"type": "out-of-memory", "keys": keys, "budget": budget})

    def _tell_memory(self) -> None:
        if self._answering is not None:
            self._reported_at = time.monotonic()
            readings = {**self._answering.memory(), "busy_s": round(self._busy, 3)}
            self._wire.send(cast("frames.Memory", {"type": "memory", **readings}))


def main() -> int:
    """Run a worker on this process's standard input and output, then for those who connect."""
    worker: Worker | None = Worker(take_over_pipes())
    status = 0
    while worker:
        status = worker.serve()
        worker = None if status else worker.next()
    return status


if __name__ == "__main__":
    status = main()
    # Interpreter shutdown with torch loaded takes a quarter of a second and has nothing left to do
    # here.
    os._exit(status)

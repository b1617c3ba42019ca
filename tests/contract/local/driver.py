"""A worker on real pipes, driven frame by frame as the engine drives it."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, cast

from evalbench.engine.calls import Call, ModelRef, Prompt, Reply, frames
from evalbench.engine.calls.frames import answer_frames
from evalbench.engine.calls.options import parse_options
from evalbench.engine.calls.replies import reply_from_json
from evalbench.providers.local import Local

Frame = dict[str, Any]
_PATIENCE_S = 280


class Worker:
    """Starts a worker; frames that it sends are kept in order in ``seen``."""

    def __init__(self, model: str, env: Mapping[str, str] | None = None, **settings: Any) -> None:
        provider = Local(parse_options(Local.options, {"threads": 1, **settings}, "local"))
        command = provider.worker_command(model)
        self.model = model
        self.seen: list[Frame] = []
        self.process = subprocess.Popen(
            command.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **command.env, **(env or {})},
        )
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._said: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._pump_frames, daemon=True),
            threading.Thread(target=self._pump_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self.send({"type": "load", **provider.load_request(model)})

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join(_PATIENCE_S)

    @property
    def log(self) -> str:
        """Everything the worker has printed so far, wherever it meant to print it."""
        return b"".join(self._said).decode()

    def send(self, frame: Any) -> None:
        """Write one frame to the worker."""
        assert self.process.stdin is not None
        self.process.stdin.write(frames.encode(frame))
        self.process.stdin.flush()

    def ask(self, prompts: Mapping[str, Prompt]) -> None:
        """One ``answer`` frame."""
        ref = ModelRef("local", self.model)
        for frame in answer_frames([(key, Call(ref, p)) for key, p in prompts.items()]):
            self.send(frame)

    def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        """The next frame that is wanted; fails when the worker ends first."""
        while True:
            frame = self._frames.get(timeout=_PATIENCE_S)
            assert frame is not None, f"the worker ended:\n{self.log}\nafter {self.seen[-3:]}"
            self.seen.append(frame)
            if wanted(frame):
                return frame

    def next(self, kind: str) -> Frame:
        """The next frame of a type."""
        return self.until(lambda frame: frame["type"] == kind)

    def answers(self, keys: Iterable[str]) -> dict[str, Frame]:
        """Waits until every key has a ``reply`` or ``failed`` frame."""
        left = set(keys)
        found: dict[str, Frame] = {}
        while left:
            frame = self.until(lambda frame: frame["type"] in {"reply", "failed"})
            found[frame["key"]] = frame
            left.discard(frame["key"])
        return found

    def replies(self, prompts: Iterable[Prompt]) -> list[Reply]:
        """Ask everything at once and wait for all replies, in the order asked."""
        named = {f"{len(self.seen)}-{n}": prompt for n, prompt in enumerate(prompts)}
        self.ask(named)
        found = self.answers(named)
        assert all(frame["type"] == "reply" for frame in found.values()), found
        return [reply_from_json(found[key]["reply"]) for key in named]

    def memory(self) -> Frame:
        """The numbers at the end of the work so far."""
        self.send({"type": "memory"})
        return self.next("memory")

    def end(self) -> int:
        """Wait for the exit; its status."""
        while (frame := self._frames.get(timeout=_PATIENCE_S)) is not None:
            self.seen.append(frame)
        return self.process.wait(_PATIENCE_S)

    def _pump_frames(self) -> None:
        assert isinstance(self.process.stdout, io.BufferedReader)
        while (frame := frames.read_blocking(self.process.stdout)) is not None:
            self._frames.put(cast("Frame", frame))
        self._frames.put(None)

    def _pump_log(self) -> None:
        assert isinstance(self.process.stderr, io.BufferedReader)
        while piece := self.process.stderr.read1():
            self._said.append(piece)

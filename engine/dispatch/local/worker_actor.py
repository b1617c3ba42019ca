"""Carries frames between an engine and a worker process on a node of a Ray cluster.

Runs as an actor in a Ray process and starts the same worker program there as a run on a single
machine. When the actor ends, for whatever reason, the worker's pipe closes and the worker
exits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evalbench.engine import installed
from evalbench.engine.calls import frames
from evalbench.engine.core_dumps import no_core_dumps
from evalbench.engine.dispatch.local.worker_slots import end_process, spawn
from evalbench.engine.hardware.gpu import Gpus

_MOST_BYTES = 16 << 20
"""Maximum bytes of frames per message, so that a node's object store need not be large."""
_LOG_BYTES = 4000


class WorkerActor:
    """One worker process, with a mailbox for its output."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._log: Path | None = None
        self._said: deque[bytes] = deque()
        self._code: int | None = None
        self._news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self._gpus = Gpus()
        self._reading = asyncio.Lock()

    async def about(self) -> dict[str, str]:
        """Versions on this node that must match the engine's."""
        return versions()

    async def start(self, argv: Sequence[str], env: Mapping[str, str], python: str) -> int:
        """Start the worker; returns its process id.

        Args:
            argv: its command, as the engine would start it.
            env: variables added to its environment.
            python: the engine's interpreter, replaced by this node's own.
        """
        # Ray started this process, so it lacks the limits that a worker inherits from an engine.
        no_core_dumps()
        command = [sys.executable if word == python else word for word in argv]
        handle, name = tempfile.mkstemp(prefix="evalbench-worker-", suffix=".log")
        os.close(handle)
        self._log = Path(name)
        self._process = await spawn(command, env, self._log)
        self._reader = asyncio.create_task(self._read(self._process))
        return self._process.pid

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while (body := await frames.read_body(process.stdout)) is not None:
            self._said.append(body)
            self._news.set()
        await end_process(process)
        self._code = process.returncode
        self._news.set()

    async def send(self, data: bytes) -> None:
        """Send frames to the worker."""
        pipe = self._process.stdin if self._process else None
        if pipe and not pipe.is_closing():
            pipe.write(data)
            with contextlib.suppress(ConnectionError):
                await pipe.drain()

    async def receive(self, wait_s: float) -> tuple[list[bytes], int | None, bytes]:
        """The worker's output since the last call.

        Args:
            wait_s: seconds to wait for output.

        Returns:
            Bodies of frames; the exit code, once no more output follows; the end of its log.
        """
        if not self._said and self._code is None:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), wait_s)
        taken: list[bytes] = []
        size = 0
        while self._said and (not taken or size + len(self._said[0]) <= _MOST_BYTES):
            taken.append(self._said.popleft())
            size += len(taken[-1])
        if self._said or self._code is None:
            return taken, None, b""
        return taken, self._code, self._last_log()

    def _last_log(self) -> bytes:
        if self._log is None:
            return b""
        try:
            tail = self._log.read_bytes()[-_LOG_BYTES:]
            self._log.unlink()
        except OSError:
            return b""
        return tail

    async def cards(self) -> list[dict[str, Any]]:
        """Read this node's GPUs, see :class:`evalbench.engine.hardware.gpu.Card`."""
        async with self._reading:
            return await asyncio.to_thread(self._gpus.read)


def versions() -> dict[str, str]:
    """Versions that must be equal on all nodes."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "Ray": version("ray"),
        "evalbench": installed.version(),
    }

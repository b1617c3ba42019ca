"""The engine's end of a worker process, and the places where one can be started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from evalbench.engine.calls import WorkerCommand, frames
from evalbench.engine.compat import override
from evalbench.engine.paths import open_private

_LOG_BYTES = 4000
_ENDING_S = 5.0


class NodeLost(Exception):
    """The machine of a worker is gone, or cannot be reached; no call is to blame."""


class WorkerHandle(Protocol):
    """One worker process, wherever it runs."""

    @property
    def pid(self) -> int | None:
        """Its number there; None before it runs."""

    @property
    def code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""

    def send(self, frame: frames.EngineFrame) -> None:
        """Send a frame; to a process that is gone it is lost."""

    async def drain(self) -> None:
        """Wait until what was sent is on its way."""

    async def read(self) -> frames.WorkerFrame | None:
        """The next frame; None at its end.

        Raises:
            NodeLost: its machine is gone.
        """

    async def end(self) -> None:
        """Let it end, or kill it; afterwards it is gone."""

    def last_log_line(self) -> str:
        """The last line that it wrote into its log; empty when there is none."""


class WorkerSlot(Protocol):
    """Where a worker can be started, again and again. Equal names are the same place."""

    @property
    def name(self) -> str:
        """For people; empty where there is only one."""

    @property
    def node(self) -> str:
        """The machine; empty for this one."""

    @property
    def sharing(self) -> int:
        """So many workers share the processors of that machine."""

    async def start(self, command: WorkerCommand, env: Mapping[str, str]) -> WorkerHandle:
        """Start a worker there.

        Raises:
            OSError: it cannot be started.
            NodeLost: the machine is gone.
            WorkerFailed: the machine cannot be used.
        """


class SlotPool(Protocol):
    """All places, now."""

    @property
    def look_s(self) -> float | None:
        """Seconds after which there may be others; None: they stay as they are."""

    @property
    def most(self) -> int | None:
        """Workers in all; None: as many as there are places."""

    @property
    def here(self) -> bool:
        """It is this machine, whose cards the engine reads itself."""

    async def slots(self) -> Sequence[WorkerSlot]:
        """Where workers can be, in the order in which they should be taken.

        Raises:
            EvalbenchError: there can be none.
        """

    def cards(self) -> list[dict[str, Any]]:
        """What the cards of other machines said last, see :class:`..gpu.Card`, with ``node``."""

    async def close(self) -> None:
        """Give everything back."""


class ProcessHandle(WorkerHandle):
    """A worker process on this machine."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log

    @property
    @override
    def pid(self) -> int | None:
        return self._process.pid

    @property
    @override
    def code(self) -> int | None:
        return self._process.returncode

    @override
    def send(self, frame: frames.EngineFrame) -> None:
        pipe = self._process.stdin
        if pipe and not pipe.is_closing():
            pipe.write(frames.encode(frame))

    @override
    async def drain(self) -> None:
        if self._process.stdin:
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.drain()

    @override
    async def read(self) -> frames.WorkerFrame | None:
        assert self._process.stdout is not None
        return await frames.read_frame(self._process.stdout)

    @override
    async def end(self) -> None:
        await end_process(self._process)

    @override
    def last_log_line(self) -> str:
        return last_line(self._log)


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """A place on this machine.

    Attributes:
        log: file for the worker's output.
        env: what its worker's environment has besides.
    """

    log: Path
    name: str = ""
    node: str = ""
    sharing: int = 1
    env: Mapping[str, str] = field(default_factory=dict)

    async def start(self, command: WorkerCommand, env: Mapping[str, str]) -> WorkerHandle:
        """Start a worker there."""
        more = {**command.env, **env, **self.env}
        return ProcessHandle(await spawn(command.argv, more, self.log), self.log)


async def spawn(
    argv: Sequence[str], env: Mapping[str, str], log: Path
) -> asyncio.subprocess.Process:
    """Start a worker program; what it prints to standard error goes to the log."""
    with open_private(log, "ab") as file:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=file,
            env={**os.environ, **env},
            limit=frames.MAX_FRAME,
        )


async def end_process(process: asyncio.subprocess.Process) -> None:
    """Close a worker's pipe, which ends it, and kill it when that does not help."""
    if process.returncode is not None:
        return
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _ENDING_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def last_line(log: Path) -> str:
    """The last line of a worker's log."""
    try:
        lines = log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def was_killed(code: int | None) -> bool:
    """Whether the system ended it at once, as it does when memory runs out."""
    return code == -signal.SIGKILL

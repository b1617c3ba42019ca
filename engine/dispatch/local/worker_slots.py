"""Worker handles (the engine's end of a worker process) and the slots workers start in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evalbench.engine.calls import WorkerCommand, frames
from evalbench.engine.paths import open_private

_LOG_BYTES = 4000
_ENDING_S = 5.0


class NodeLost(Exception):
    """A worker's machine is gone or unreachable; no call is to blame."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How a worker stays loaded after the run.

    Attributes:
        model: ``provider/name``.
        seconds: how long it waits for another run; 0: it serves this one alone.
        identity: what it must have loaded, see ``WorkerProvider.load_identity``.
        need: estimated bytes of the model; 0 if unknown.
        device: where it is loaded: ``auto``, ``cpu``, ``cuda`` or ``mps``.
    """

    model: str
    seconds: float
    identity: Callable[[], Mapping[str, Any]]
    need: int = 0
    device: str = "auto"


class WorkerHandle(Protocol):
    """One worker process, on any machine."""

    @property
    def pid(self) -> int | None:
        """Its process id there; None before it runs."""

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""

    def send(self, frame: frames.EngineFrame) -> None:
        """Send a frame; it is lost if the process is gone."""

    async def drain(self) -> None:
        """Wait until everything sent is on its way."""

    async def read(self) -> frames.WorkerFrame | None:
        """The next frame; None at the end.

        Raises:
            NodeLost: its machine is gone.
        """

    async def end(self) -> None:
        """Let it exit, or kill it; afterwards it is gone."""

    def last_log_line(self) -> str:
        """The last line in its log; empty if there is none."""
        ...


class WorkerSlot(Protocol):
    """Where a worker can be started, any number of times. Equal names mean the same slot."""

    @property
    def name(self) -> str:
        """The display name; empty if there is only one slot."""
        ...

    @property
    def node(self) -> str:
        """The machine; empty for this one."""
        ...

    @property
    def sharing(self) -> int:
        """How many workers share that machine's CPUs."""
        ...

    async def start(
        self, command: WorkerCommand, env: Mapping[str, str], keep: Keep | None = None
    ) -> WorkerHandle:
        """Start a worker in this slot.

        Args:
            command: the worker's program.
            env: variables added to its environment.
            keep: if given, a worker of an earlier run may be used instead, and this one may stay
                for later runs; slots on other machines ignore it.

        Raises:
            OSError: it cannot be started.
            NodeLost: the machine is gone.
            WorkerFailed: the machine cannot be used.
        """
        ...


class SlotPool(Protocol):
    """All slots available now."""

    @property
    def look_s(self) -> float | None:
        """Seconds after which the slots may have changed; None if they never change."""

    @property
    def most(self) -> int | None:
        """Maximum number of workers; None for one per slot."""

    @property
    def here(self) -> bool:
        """Whether the slots are on this machine, whose GPUs the engine reads itself."""
        ...

    async def slots(self) -> Sequence[WorkerSlot]:
        """The worker slots, in the order in which to use them.

        Raises:
            EvalbenchError: there can be none.
        """
        ...

    def cards(self) -> list[dict[str, Any]]:
        """Latest readings of other machines' GPUs, see :class:`..gpu.Card`, with ``node``."""
        ...

    async def close(self) -> None:
        """Release all resources."""


async def spawn(
    argv: Sequence[str], env: Mapping[str, str], log: Path
) -> asyncio.subprocess.Process:
    """Start a worker program; its standard error goes to the log."""
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
    """Close a worker's pipe, which makes it exit; kill it if it does not."""
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
    """How a process ended, as text."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def was_killed(code: int | None) -> bool:
    """Whether the system killed it, as happens when memory runs out."""
    return code == -signal.SIGKILL

"""Worker processes on this machine: new ones, and those that stayed after an earlier run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from evalbench.engine import installed, kept_workers
from evalbench.engine.calls import WorkerCommand, frames
from evalbench.engine.compat import override
from evalbench.engine.dispatch.local.worker_slots import Keep, WorkerHandle, last_line
from evalbench.engine.errors import ProviderError
from evalbench.engine.hardware.devices import device_memory
from evalbench.engine.paths import open_private

_ENDING_S = 5.0
_SHAPING = (
    *("ATEN_", "BNB_", "CUDA_", "GOMP_", "HF_", "HIP_", "KMP_", "LD_", "LLAMA_", "MKL_"),
    *("NCCL_", "NVIDIA_", "OMP_", "OPENBLAS_", "PYTHON", "PYTORCH_", "ROCR_", "SGLANG_"),
    *("TOKENIZERS_", "TORCH_", "TRANSFORMERS_", "VLLM_"),
)
"""Beginnings of the names of variables that change how a worker computes."""
_SECRET = ("TOKEN", "KEY", "SECRET")


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """A worker slot on this machine.

    Attributes:
        log: file for the worker's output.
        env: variables added to its worker's environment.
    """

    log: Path
    name: str = ""
    node: str = ""
    sharing: int = 1
    env: Mapping[str, str] = field(default_factory=dict)

    async def start(
        self, command: WorkerCommand, env: Mapping[str, str], keep: Keep | None = None
    ) -> WorkerHandle:
        """See :class:`.worker_slots.WorkerSlot`."""
        asked = await asyncio.to_thread(self._asked, command, keep) if keep else None
        found = await asyncio.to_thread(kept_workers.take, asked["identity"]) if asked else None
        if keep and not found:
            await asyncio.to_thread(_make_room, keep)
        process = None
        if found:
            connection, pid = found
        else:
            connection, process = _spawn(command, {**command.env, **env, **self.env}, self.log)
            pid = process.pid
        reader, writer = await asyncio.open_connection(sock=connection, limit=frames.MAX_FRAME)
        handle = LocalWorkerHandle(reader, writer, pid, process, self.log)
        if asked:
            handle.send(asked)
        return handle

    def _asked(self, command: WorkerCommand, keep: Keep) -> frames.Keep | None:
        """The request to stay; None if the worker cannot, or should not."""
        if not keep.seconds:
            return None
        try:
            loaded = keep.identity()
        except (ProviderError, OSError):
            return None
        variables = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_SHAPING) and not any(word in name for word in _SECRET)
        }
        identity = {
            "model": keep.model,
            "loaded": loaded,
            "command": command.argv,
            "variables": {**variables, **command.env, **self.env},
            "sharing": self.sharing,
            "python": sys.version,
            "evalbench": installed.version(),
            "processors": _processors(),
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
        }
        body = orjson.dumps(identity, option=orjson.OPT_SORT_KEYS, default=str)
        return {
            "type": "keep",
            "identity": hashlib.sha256(body).hexdigest(),
            "model": keep.model,
            "seconds": keep.seconds,
            "log": str(self.log),
        }


def _processors() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return []


def _make_room(keep: Keep) -> None:
    """Ask kept workers to end as long as memory is short for a new one."""
    for one in kept_workers.kept_workers():
        memory = device_memory(keep.device)
        if keep.need and memory.free >= keep.need:
            break
        if one.on_cpu == (memory.device != "cuda"):
            kept_workers.unload(one)


def _spawn(
    command: WorkerCommand, env: Mapping[str, str], log: Path
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start a worker and return the engine's end of its connection."""
    ours, theirs = socket.socketpair()
    with theirs, open_private(log, "ab") as file:
        try:
            process = subprocess.Popen(
                command.argv,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=file,
                env={**os.environ, **env},
                # It may outlive the engine; without ``keep`` it ends when the connection does.
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return ours, process


class LocalWorkerHandle(WorkerHandle):
    """A worker process on this machine, connected by a socket."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pid: int,
        process: subprocess.Popen[bytes] | None,
        log: Path,
    ) -> None:
        """Take over a connection.

        Args:
            reader, writer: the connection.
            pid: the worker.
            process: the same, if this engine started it.
            log: file for its output.
        """
        self._reader = reader
        self._writer = writer
        self._pid = pid
        self._process = process
        self._log = log
        self._kept = False
        self._ending = False

    @property
    @override
    def pid(self) -> int | None:
        return self._pid

    @property
    @override
    def code(self) -> int | None:
        return self._process.poll() if self._process else None

    @override
    def send(self, frame: frames.EngineFrame) -> None:
        if not self._ending and not self._writer.is_closing():
            self._writer.write(frames.encode(frame))

    @override
    async def drain(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    @override
    async def read(self) -> frames.WorkerFrame | None:
        frame = await frames.read_frame(self._reader)
        if frame is not None and frame["type"] == "kept":
            self._kept = True
        return frame

    @override
    async def end(self) -> None:
        self._ending = True
        if self._writer.can_write_eof() and not self._writer.is_closing():
            with contextlib.suppress(OSError):
                self._writer.write_eof()
        try:
            await asyncio.wait_for(self._farewell(), _ENDING_S)
        except (TimeoutError, ValueError):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._writer.close()
        if self._process is None:
            return
        reaper = threading.Thread(target=self._process.wait, daemon=True)
        reaper.start()
        if not self._kept:
            await asyncio.to_thread(reaper.join)

    async def _farewell(self) -> None:
        """Read until the worker has ended, or says that it stays."""
        while not self._kept and await self.read():
            pass

    @override
    def last_log_line(self) -> str:
        return last_line(self._log)

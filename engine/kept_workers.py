"""Workers that stay after a run: the model is loaded and waits for the next run of it.

A worker without an engine listens on a Unix socket in this user's runtime folder; a record beside
the socket says what it has loaded. The first engine that connects gets the worker, which then
removes both files and accepts no other. A waiting worker ends when its time is over, when it is
asked to, when its record is removed, and when its model can no longer be used.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import orjson

from evalbench.engine import installed
from evalbench.engine.calls import frames
from evalbench.engine.field_checks import record, text, whole
from evalbench.engine.paths import runtime_dir, write_file

_ANSWER_S = 10.0
"""How long a kept worker may take to greet, or to end."""
_LOOK_S = 2.0

_SHAPE = record(
    {
        "pid": whole(1, 2**31),
        "identity": text,
        "model": text,
        "backend": text,
        "device": text,
        "memory": whole(0, 2**60),
        "until": whole(0, 2**40),
        "version": text,
    }
)


@dataclass(frozen=True, slots=True)
class KeptWorker:
    """A worker that waits for an engine.

    Attributes:
        pid: its process.
        identity: what is loaded, and how: equal for workers that can stand in for each other.
        model: ``provider/name``.
        backend: what runs it, such as ``transformers``.
        device: as torch names it, such as ``cpu``.
        memory: bytes that it holds on its device.
        until: when it ends if nobody comes, in seconds since 1970.
        version: of evalbench.
        path: its socket.
    """

    pid: int
    identity: str
    model: str
    backend: str
    device: str
    memory: int
    until: int
    version: str
    path: Path

    @property
    def on_cpu(self) -> bool:
        """Whether it holds main memory."""
        return not self.device.startswith("cuda")


def kept_workers() -> list[KeptWorker]:
    """This user's kept workers on this machine, the soonest to end first."""
    try:
        files = list(runtime_dir().glob("*.json"))
    except OSError:
        return []
    found = filter(None, map(_read, files))
    return sorted(found, key=lambda one: (one.until, one.pid))


def _read(file: Path) -> KeptWorker | None:
    try:
        _SHAPE(stored := orjson.loads(file.read_bytes()))
        one = KeptWorker(**stored, path=file.with_suffix(".sock"))
    except (OSError, ValueError, TypeError):
        return None
    if _alive(one.pid):
        return one
    _remove(one.path)
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _remove(path: Path) -> None:
    for file in (path.with_suffix(".json"), path):
        with contextlib.suppress(OSError):
            file.unlink()


def take(identity: str) -> tuple[socket.socket, int] | None:
    """Connect to a kept worker, which then works for nobody else.

    Workers of other versions of evalbench are asked to end: nothing would use them any more.

    Args:
        identity: see :class:`KeptWorker`.

    Returns:
        The connection, after the worker's ``hello``, and its process id; None if there is none.
    """
    for one in kept_workers():
        if one.version != installed.version():
            unload(one)
        elif one.identity == identity and (connection := _connect(one)):
            return connection, one.pid
    return None


def unload(one: KeptWorker) -> bool:
    """Ask a kept worker to end, and wait until it has; False if it is not there any more."""
    connection = _connect(one)
    if connection is None:
        return False
    with connection, contextlib.suppress(OSError):
        connection.sendall(frames.encode({"type": "bye"}))
        while connection.recv(1 << 16):
            pass
    return True


def _connect(one: KeptWorker) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_ANSWER_S)
    try:
        connection.connect(str(one.path))
        if _peer(connection) not in (one.pid, None):
            raise ConnectionRefusedError
        with connection.makefile("rb", buffering=0) as stream:
            hello = cast("Any", frames.read_blocking(cast("Any", stream)))
    except (ConnectionRefusedError, FileNotFoundError):
        _remove(one.path)
    except (OSError, ValueError):
        pass
    else:
        # Another engine may have come first: then there is no greeting.
        if hello and hello.get("type") == "hello":
            return connection
    connection.close()
    return None


def _peer(connection: socket.socket) -> int | None:
    """The process at the other end; None if the system does not tell."""
    if sys.platform != "linux":
        return None
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid: int = struct.unpack("3i", credentials)[0]
    return pid


class WaitingWorker:
    """The worker's side: waits for an engine.

    Use it as a context manager; its files are gone afterwards.
    """

    def __init__(self, keep: frames.Keep, *, backend: str, device: str, memory: int) -> None:
        """Start to listen.

        Args:
            keep: the last engine's request.
            backend, device, memory: see :class:`KeptWorker`.

        Raises:
            OSError: there is no place for the socket.
        """
        self._seconds = keep["seconds"]
        stem = f"{keep['identity'][:16]}-{os.getpid()}"
        self._path = runtime_dir() / f"{stem}.sock"
        self._record = self._path.with_suffix(".json")
        self._listener = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        try:
            mask = os.umask(0o177)
            try:
                self._listener.bind(str(self._path))
            finally:
                os.umask(mask)
            self._listener.listen(1)
            record = {
                "pid": os.getpid(),
                "identity": keep["identity"],
                "model": keep["model"],
                "backend": backend,
                "device": device,
                "memory": memory,
                "until": round(time.time() + self._seconds),
                "version": installed.version(),
            }
            write_file(self._record, orjson.dumps(record))
        except OSError:
            self.close()
            raise

    def __enter__(self) -> WaitingWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        _remove(self._path)
        self._listener.close()

    def wait(
        self,
        usable: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> socket.socket | None:
        """The connection of the next engine; None if the time is over.

        Args:
            usable: whether the model can still be used, asked every other second.
            clock: the time in seconds.
        """
        end = clock() + self._seconds
        while (left := end - clock()) > 0 and self._record.exists() and usable():
            ready, _, _ = select.select([self._listener], [], [], min(left, _LOOK_S))
            if ready:
                connection, _ = self._listener.accept()
                self.close()
                return connection
        return None

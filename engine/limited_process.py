"""Runs work with time and memory limits in a child process, enforced by the system.

For input from untrusted files: a regular expression that backtracks forever or a template that
fills all memory runs in C code that cannot be interrupted from within the process. The child is
started on first use and reused. Its limits are the system's own: they end it even if its parent
is gone.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

SECONDS = 3.0
"""CPU seconds for one piece of work."""
MEGABYTES = 512
"""Memory limit of the child, above what it needs to load its libraries."""

_AT_ONCE_MS = 5
_ENDS_WITHIN_S = 5.0
_KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TMPDIR")


class WorkFailed(Exception):
    """The work raised an exception; the message names it."""


class LimitExceeded(WorkFailed):
    """The work took too much time or memory."""


class LimitedProcess:
    """A child process for one kind of work.

    Input and result of a piece of work can be any JSON value; other types, such as dates, are sent
    as text.
    """

    def __init__(self, module: str, seconds: float = SECONDS) -> None:
        """Set up; nothing is started yet.

        Args:
            module: the module that the child runs; it calls :func:`serve`.
            seconds: CPU seconds for one piece of work.
        """
        self._module = module
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()

    def results(self, pieces: Sequence[Any]) -> Iterator[Any]:
        """The results of these pieces, in order.

        Raises:
            WorkFailed: the next piece failed.
        """
        process = self._hand_over(pieces)
        for _ in pieces:
            yield self._result(process)

    async def result(self, piece: Any) -> Any:
        """The result of one piece, without blocking other tasks.

        Raises:
            WorkFailed: it failed.
        """
        async with self._turn:
            process = self._hand_over([piece])
            try:
                await _readable(process)
            except BaseException:
                self.close()  # the result is no longer wanted
                raise
            return self._result(process)

    def close(self) -> None:
        """End the child, if it is running."""
        if self._process:
            end_child(self._process)
            self._process = None

    def _hand_over(self, pieces: Sequence[Any]) -> subprocess.Popen[bytes]:
        process = self._process or self._start()
        assert process.stdin
        with suppress(BrokenPipeError):  # reading shows why
            process.stdin.write(json.dumps(list(pieces), default=str).encode() + b"\n")
            process.stdin.flush()
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        known = {
            name: value
            for name, value in os.environ.items()
            if name in _KEPT or name.startswith("PYTHON")
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, str(self._seconds), str(MEGABYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=known,
            start_new_session=True,
        )
        weakref.finalize(self, end_child, self._process)
        return self._process

    def _result(self, process: subprocess.Popen[bytes]) -> Any:
        assert process.stdout
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_WITHIN_S)
            self.close()
            if process.returncode == -signal.SIGPROF:
                raise LimitExceeded(f"took longer than {self._seconds:g} s")
            raise LimitExceeded(f"ended its process ({_how(process.returncode)})")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkFailed(answer["error"])
        if "result" not in answer:
            raise LimitExceeded(f"needed more than {MEGABYTES} MB of memory")
        return answer["result"]


def serve(work: Callable[[Any], Any], load: Callable[[Any], None] = lambda piece: None) -> None:
    """Run as the child: process pieces until standard input ends.

    The system ends this process if one of them takes too much CPU time.

    Args:
        work: makes the result of a piece.
        load: imports what a piece needs. Neither its time nor its memory is counted: a slow machine
            would fail the first piece, and one with many processors any piece, since libraries of
            mathematics reserve addresses for each of them.
    """
    seconds, megabytes = float(sys.argv[1]), int(sys.argv[2])
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    loaded, memory = 0, resource.RLIM_INFINITY
    for line in sys.stdin.buffer:
        for piece in json.loads(line):
            _limit_memory(resource.RLIM_INFINITY)
            with suppress(Exception):  # the work itself will say what is wrong
                load(piece)
            if len(sys.modules) > loaded:
                loaded, memory = len(sys.modules), _mapped() + (megabytes << 20)
            _limit_memory(memory)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer = _answer(work, piece)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.write(answer)


def _mapped() -> int:
    """The size of this process's address space, in bytes; 0 where the system does not say."""
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


def _limit_memory(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        size = hard if size == resource.RLIM_INFINITY else min(size, hard)
    with suppress(ValueError, OSError):  # macOS defines this limit but does not accept it
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))


def _answer(work: Callable[[Any], Any], piece: Any) -> bytes:
    try:
        return json.dumps({"result": work(piece)}).encode() + b"\n"
    except MemoryError:
        return b"{}\n"
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n"


async def _readable(process: subprocess.Popen[bytes]) -> None:
    """Wait until a child writes something, or exits."""
    assert process.stdout
    soon = select.poll()
    soon.register(process.stdout, select.POLLIN)
    if soon.poll(_AT_ONCE_MS):
        return
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(process.stdout, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(process.stdout)


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Kill a child, and close the pipes to it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {-code}"
    return f"exit status {code}"

"""Runs Python programs that nobody has read, such as answers of models, where they harm nothing.

A program runs in bubblewrap: no network, its own processes, and of the file system only the
system's programs and Python's standard library, read-only, and a small folder in memory.
Where there is no bubblewrap, in a container (podman or docker) under the same rules. What
a program may use of time, memory, processes and output is limited. Without either, nothing
is run, unless the user says by name that it may run as they.

A program has *finished* if it came to its end. One that ends itself before, by
``os._exit(0)`` say, has not: a word that it is not told proves the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import secrets
import shutil
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from evalbench.engine.compat import override
from evalbench.engine.errors import EvalbenchError

BUBBLEWRAP, PODMAN, DOCKER = "bubblewrap", "podman", "docker"
UNCONFINED = "none"
"""No sandbox at all: the program runs as the user."""

IMAGE = "docker.io/library/python:3-slim"
"""What containers are made of."""

_FOLDER = "/tmp"  # noqa: S108 - in the sandbox
"""The one place where a program may write."""

_LOOK_S = 0.05
_GRACE_S = 20.0
"""How long the sandbox itself may take to start and to end, besides the program's time."""
_ENDS_WITHIN_S = 10.0
_FIRST_UID = 61184
_UIDS = 4000
"""Users that root lets programs be: systemd's range for users that exist for a moment."""

_LAUNCHER = """
import json, os, resource, sys
told = json.loads(sys.argv[1])
for name, most in told["limits"].items():
    limit = getattr(resource, name)
    hard = resource.getrlimit(limit)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(limit, (most, most))
    except (OSError, ValueError):
        pass
if told["uid"]:
    os.setgroups([])
    os.setgid(told["uid"])
    os.setuid(told["uid"])
source = sys.stdin.buffer.read().decode("utf-8", "replace")
proof, end, exit = told["proof"], os.write, os._exit
del told, resource, json
sys.argv = ["program.py"]
def run():
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(source, "program.py", "exec", dont_inherit=True), names)
run()
sys.stdout.flush()
end(1, proof.encode())
"""


@dataclass(frozen=True)
class Limits:
    """What a program may use.

    Attributes:
        seconds: of real time, and of CPU.
        megabytes: of memory, for one process and for all of them together; also of files.
        processes: and threads, at the same time.
        output: bytes of standard output, and as many of errors.
    """

    seconds: float = 10.0
    megabytes: int = 1024
    processes: int = 64
    output: int = 1 << 18

    def of_process(self) -> dict[str, int]:
        """What the system holds each process to, by the names of ``resource``."""
        memory = self.megabytes << 20
        return {
            "RLIMIT_AS": memory,
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": int(self.seconds) + 2,
            "RLIMIT_FSIZE": memory // 16,
            "RLIMIT_NOFILE": 256,
            "RLIMIT_NPROC": self.processes,
        }


@dataclass(frozen=True)
class Ran:
    """How a program ended.

    Attributes:
        finished: it came to its end without an exception.
        stopped_for: the limit that it was ended for: ``time``, ``memory``, ``processes``
            or ``output``; empty where it ended by itself.
        stdout, stderr: what it printed, cut at the limit.
    """

    finished: bool
    stopped_for: str
    stdout: str
    stderr: str

    @property
    def why(self) -> str:
        """In one line, why it did not finish; empty where it did."""
        if self.finished:
            return ""
        if self.stopped_for:
            return f"stopped: too much {self.stopped_for}"
        lines = self.stderr.strip().splitlines()
        return lines[-1][:300] if lines else "it ended itself early"


class SandboxMissing(EvalbenchError):
    """Code of a model would be run, and nothing here can confine it."""

    exit_code = 5


class Sandbox(ABC):
    """A way to run programs.

    Attributes:
        name: as users choose it.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        # More at once would only take each other's time.
        self._turns = asyncio.Semaphore(os.cpu_count() or 1)
        self._number = 0

    async def run(self, program: str, limits: Limits | None = None) -> Ran:
        """Run one program to its end, or to the end of what it may use.

        Raises:
            OSError: the sandbox itself could not be started.
        """
        async with self._turns:
            self._number += 1
            return await self._run(program, limits or Limits(), f"evalbench-{secrets.token_hex(8)}")

    @abstractmethod
    def command(self, limits: Limits, name: str) -> list[str]:
        """The command that runs Python; the launcher and its argument follow."""

    async def end(self, name: str) -> None:
        """End what killing the command does not."""
        return

    def uid(self) -> int:
        """Which user the program becomes; 0: it stays who it is."""
        return 0

    async def _run(self, program: str, limits: Limits, name: str) -> Ran:
        proof = secrets.token_hex(16)
        told = {"limits": limits.of_process(), "uid": self.uid(), "proof": proof}
        words = [*self.command(limits, name), "-c", _LAUNCHER, json.dumps(told)]
        starting = asyncio.ensure_future(self._start(words))
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A start that is cancelled halfway is waited for without end by some Pythons.
            await self._kill(await starting, name)
            raise
        watch = _Watch(process, limits)
        try:
            stopped_for = await watch.over(program.encode("utf-8", "replace"))
        finally:
            await self._kill(process, name)
        out, told_errors = watch.out, watch.errors.decode("utf-8", "replace")
        finished = out.endswith(proof.encode()) and not stopped_for
        out = out.removesuffix(proof.encode())
        if not stopped_for and "MemoryError" in told_errors[-200:]:
            stopped_for = "memory"
        return Ran(finished, stopped_for, out.decode("utf-8", "replace"), told_errors)

    async def _start(self, words: Sequence[str]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment(),
            start_new_session=True,
        )

    async def _kill(self, process: asyncio.subprocess.Process, name: str) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await self.end(name)
        # What it printed has to be read: a process whose pipes are full is waited for in vain.
        streams = [stream for stream in (process.stdout, process.stderr) if stream]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDS_WITHIN_S):
                await asyncio.gather(*map(_empty, streams))
                await process.wait()

    def environment(self) -> dict[str, str]:
        """What a program's environment holds: nothing of ours."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": _FOLDER,
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
        }


class _Watch:
    """Reads what a program prints, and looks at what it uses, until it ends or must end."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._too_much = asyncio.Event()
        self.out = self.errors = b""

    async def over(self, program: bytes) -> str:
        """Which limit was reached, if any."""
        process, limits = self._process, self._limits
        assert process.stdin
        done = asyncio.create_task(self._read())
        waits = {done, asyncio.create_task(self._too_much.wait())}
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(program)
                process.stdin.close()
            loop = asyncio.get_running_loop()
            begun = loop.time()
            while not done.done() and not self._too_much.is_set():
                await asyncio.wait(waits, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                if not done.done() and loop.time() - begun > limits.seconds:
                    return "time"
                if used := self._overused():
                    return used
            return "output" if self._too_much.is_set() else ""
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _read(self) -> None:
        assert self._process.stdout
        assert self._process.stderr
        await asyncio.gather(
            self._drain(self._process.stdout, "out"), self._drain(self._process.stderr, "errors")
        )

    async def _drain(self, stream: asyncio.StreamReader, kept: str) -> None:
        most = self._limits.output
        while chunk := await stream.read(1 << 16):
            held = getattr(self, kept) + chunk
            setattr(self, kept, held[:most])
            if len(held) > most:
                self._too_much.set()

    def _overused(self) -> str:
        memory = processes = 0
        for pid in _family(self._process.pid):
            processes += 1
            with contextlib.suppress(OSError, ValueError, IndexError):
                memory += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        if memory * resource.getpagesize() > self._limits.megabytes << 20:
            return "memory"
        # The sandbox itself is two of them.
        return "processes" if processes > self._limits.processes + 2 else ""


def _family(pid: int) -> Iterator[int]:
    """A process and all that it started, as Linux tells; on other systems it alone."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        for task in _listed(f"/proc/{one}/task"):
            with contextlib.suppress(OSError):
                children = Path(f"/proc/{one}/task/{task}/children").read_text()
                waiting += map(int, children.split())


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


class Bubblewrap(Sandbox):
    """bubblewrap: namespaces of its own for everything, and a file system of a few folders."""

    name = BUBBLEWRAP

    @override
    def command(self, limits: Limits, name: str) -> list[str]:
        words = [
            *(_where("bwrap") or "bwrap", "--die-with-parent", "--new-session"),
            *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            *("--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL"),
        ]
        if self.uid():
            words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            words += ["--unshare-user"]
            words += ["--disable-userns"] * ("--disable-userns" in _help())
        words += ["--ro-bind", "/usr", "/usr"]
        for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
            if os.path.islink(folder):
                words += ["--symlink", os.readlink(folder), folder]
            elif os.path.isdir(folder):
                words += ["--ro-bind", folder, folder]
        words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        prefix = Path(sys.base_prefix)
        if not prefix.is_relative_to("/usr"):
            for parent in list(prefix.parents)[-2::-1]:
                words += ["--perms", "0755", "--dir", str(parent)]
            words += ["--ro-bind", str(prefix), str(prefix)]
        words += ["--proc", "/proc", "--dev", "/dev"]
        size = limits.megabytes << 16  # a sixteenth
        words += ["--perms", "1777"] + ["--size", str(size)] * ("--size" in _help())
        words += ["--tmpfs", _FOLDER, "--chdir", _FOLDER]
        # The sandbox's own folders can be written by root only; make that hold for all of them.
        words += ["--remount-ro", "/", "--", _python()]
        return [*words, "-s", "-B", "-X", "utf8"]

    def uid(self) -> int:
        """Root has no limit of processes, so a program of root becomes somebody else."""
        if os.geteuid() != 0 or not _may_become(_FIRST_UID + _UIDS):
            return 0
        return _FIRST_UID + (os.getpid() + self._number) % _UIDS


class Container(Sandbox):
    """A container of podman or docker, made for each program."""

    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    @override
    def command(self, limits: Limits, name: str) -> list[str]:
        memory = f"{limits.megabytes}m"
        return [
            *(_where(self._program) or self._program, "run", "--rm", "--interactive"),
            *("--name", name, "--network", "none", "--read-only"),
            *("--tmpfs", f"{_FOLDER}:rw,mode=1777,size={limits.megabytes // 16}m"),
            *("--workdir", _FOLDER),
            *("--memory", memory, "--memory-swap", memory),
            *("--pids-limit", str(limits.processes), "--cap-drop", "ALL"),
            *("--security-opt", "no-new-privileges", "--user", "65534:65534"),
            *("--env", "PYTHONHASHSEED=0", "--env", f"HOME={_FOLDER}", IMAGE),
            *("python", "-s", "-B", "-X", "utf8"),
        ]

    def environment(self) -> dict[str, str]:
        """The client's: it may have to know where its service is."""
        known = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "LANG")
        return {name: os.environ[name] for name in known if name in os.environ}

    async def end(self, name: str) -> None:
        """Killing the client leaves the container."""
        process = await asyncio.create_subprocess_exec(
            *(_where(self._program) or self._program, "rm", "--force", name),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            env=self.environment(),
        )
        await process.wait()


class Podman(Container):
    """Containers of podman."""

    name = PODMAN

    def __init__(self) -> None:
        super().__init__("podman")


class Docker(Container):
    """Containers of docker."""

    name = DOCKER

    def __init__(self) -> None:
        super().__init__("docker")


class Unconfined(Sandbox):
    """No sandbox: the program may do what the user may, but for the limits."""

    name = UNCONFINED

    @override
    def command(self, limits: Limits, name: str) -> list[str]:
        return [_python(), "-s", "-B", "-X", "utf8"]


_ALL: dict[str, type[Bubblewrap | Podman | Docker]] = {
    BUBBLEWRAP: Bubblewrap,
    PODMAN: Podman,
    DOCKER: Docker,
}


async def find_sandbox(*, unsafe: bool = False) -> Sandbox:
    """The first way that works here: bubblewrap, podman, docker.

    Args:
        unsafe: the user said that programs may run without a sandbox.

    Raises:
        SandboxMissing: none works; it says why.
    """
    if unsafe:
        return Unconfined()
    why = []
    for name, kind in _ALL.items():
        if not _where("bwrap" if name == BUBBLEWRAP else name):
            continue
        sandbox = kind()
        ran = await sandbox.run("", Limits(seconds=_GRACE_S * (1 if name == BUBBLEWRAP else 6)))
        if ran.finished:
            return sandbox
        why.append(f"{name} cannot start: {ran.why}")
    raise SandboxMissing(
        "this benchmark runs code that models write, and there is no sandbox to run it in",
        why="; ".join(why) or "neither bubblewrap nor podman nor docker is installed",
        hint="install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or podman; "
        "to run the code as you, without any protection: --unsafe-run-code",
    )


async def _empty(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass


def _where(program: str) -> str | None:
    return shutil.which(program)


@cache
def _help() -> str:
    """What options this bubblewrap has."""
    import subprocess

    program = _where("bwrap")
    if not program:
        return ""
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@cache
def _python() -> str:
    """A Python with nothing but the standard library."""
    return str(Path(getattr(sys, "_base_executable", "") or sys.executable).resolve())


@cache
def _may_become(uid: int) -> bool:
    """Whether a user is known where this process lives (a container may know only a few)."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return False
    spans: list[Sequence[int]] = [tuple(map(int, line.split())) for line in lines]
    return any(first <= uid < first + length for first, _, length in spans)

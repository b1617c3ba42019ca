"""Runs untrusted Python programs, such as models' answers, without risk.

A program runs in bubblewrap: no network, its own process namespace, and a file system with only
the system's programs and Python's standard library, read-only, and a small folder in memory. If
there is no bubblewrap, it runs in a container (podman or docker) with the same restrictions.
Time, memory, processes and output are limited. Without either, nothing is run, unless the user
explicitly allows programs to run with the user's rights.

A program has *finished* if it ran to its end. One that exits early, for example by
``os._exit(0)``, has not: the secret word that is written at the end is missing. A program written
to cheat this very launcher can find the word, as it can cheat any test in its own process; it
cannot do harm.
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
from evalbench.engine.errors import SandboxMissing
from evalbench.engine.syscall_filter import syscall_filter

BUBBLEWRAP, PODMAN, DOCKER = "bubblewrap", "podman", "docker"
UNCONFINED = "none"
"""No sandbox at all: the program runs as the user."""

UNSAFE = "run programs without a sandbox, with all that you may do yourself"
"""What ``--unsafe-run-code`` does."""

IMAGE = "docker.io/library/python:3-slim"
"""The container image."""

_FOLDER = "/tmp"  # noqa: S108 - in the sandbox
"""The only folder where a program may write."""

_LOOK_S = 0.05
_GRACE_S = 20.0
"""Extra time for the sandbox itself to start and exit."""
_ENDS_WITHIN_S = 10.0
_FIRST_UID = 61184
_UIDS = 4000
"""User ids that root assigns to programs: systemd's range for transient users."""

_LAUNCHER = """
import os, sys
def begin():
    import json, resource
    orders = json.loads(sys.stdin.buffer.readline())
    for name, most in orders["limits"].items():
        limit = getattr(resource, name)
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(limit, (most, most))
        except (OSError, ValueError):
            pass
    if orders["uid"]:
        os.setgroups([])
        os.setgid(orders["uid"])
        os.setuid(orders["uid"])
    kept, end = os.pipe()
    os.write(end, orders["proof"].encode())
    os.close(end)
    return kept, sys.stdin.buffer.read().decode("utf-8", "replace")
def run(read, write):
    kept, source = begin()
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(source, "program.py", "exec", dont_inherit=True), names)
    sys.stdout.flush()
    write(1, read(kept, 64))
sys.argv = ["program.py"]
run(os.read, os.write)
"""
"""Reads what it may do, in one line, and then the program. The secret word waits in a pipe, where
the program finds it neither among its variables nor in its command line."""


@dataclass(frozen=True)
class Limits:
    """Limits for a program.

    Attributes:
        seconds: of wall-clock time, and of CPU time.
        megabytes: of memory, per process and in total; also of files.
        processes: including threads, at the same time.
        output: bytes of standard output, and the same for standard error.
    """

    seconds: float = 10.0
    megabytes: int = 1024
    processes: int = 64
    output: int = 1 << 18

    def of_process(self) -> dict[str, int]:
        """The system limits of each process, by their names in ``resource``."""
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
    """The result of running a program.

    Attributes:
        finished: whether it ran to its end without an exception.
        stopped_for: the limit for which it was killed: ``time``, ``memory``, ``processes`` or
            ``output``; empty if it ended on its own.
        stdout, stderr: its output, cut at the limit.
    """

    finished: bool
    stopped_for: str
    stdout: str
    stderr: str

    @property
    def why(self) -> str:
        """Why it did not finish, in one line; empty if it did."""
        if self.finished:
            return ""
        if self.stopped_for:
            return f"stopped: too much {self.stopped_for}"
        lines = self.stderr.strip().splitlines()
        return lines[-1][:300] if lines else "it ended itself early"

    @property
    def result(self) -> str:
        """``passed``, ``stopped: …`` or ``failed: …``, whatever the program wrote."""
        if self.finished:
            return "passed"
        return self.why if self.stopped_for else f"failed: {self.why}"


class Sandbox(ABC):
    """A way to run programs.

    Attributes:
        name: the name by which users select it.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        # More would only compete for time.
        self._turns = asyncio.Semaphore(os.cpu_count() or 1)
        self._number = 0

    async def run(self, program: str, limits: Limits | None = None) -> Ran:
        """Run one program until it ends or reaches a limit.

        Raises:
            OSError: the sandbox itself could not be started.
        """
        async with self._turns:
            self._number += 1
            return await self._run(program, limits or Limits(), f"evalbench-{secrets.token_hex(8)}")

    @abstractmethod
    def command(self, limits: Limits, name: str) -> list[str]:
        """The command that runs Python; the launcher and its argument are appended."""

    async def end(self, name: str) -> None:
        """Clean up anything that outlives the killed command."""
        return

    def uid(self) -> int:
        """The user id that the program gets; 0 to keep the current one."""
        return 0

    async def _run(self, program: str, limits: Limits, name: str) -> Ran:
        proof = secrets.token_hex(16)
        instructions = {"limits": limits.of_process(), "uid": self.uid(), "proof": proof}
        given = json.dumps(instructions).encode() + b"\n" + program.encode("utf-8", "replace")
        starting = asyncio.ensure_future(
            self._start([*self.command(limits, name), "-c", _LAUNCHER])
        )
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Some Pythons wait forever for a start that is cancelled halfway.
            await self._kill(await starting, name)
            raise
        watch = _Watch(process, limits)
        try:
            stopped_for = await watch.over(given)
        finally:
            await self._kill(process, name)
        out, told_errors = watch.out, watch.errors.decode("utf-8", "replace")
        finished = out.endswith(proof.encode()) and not stopped_for
        out = out.removesuffix(proof.encode())
        if not stopped_for and "MemoryError" in told_errors[-200:]:
            stopped_for = "memory"
        return Ran(finished, stopped_for, out.decode("utf-8", "replace"), told_errors)

    async def _start(
        self, words: Sequence[str], files: Sequence[int] = ()
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *words,
            pass_fds=files,
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
        # Its output must be read: waiting for a process with full pipes never ends.
        streams = [stream for stream in (process.stdout, process.stderr) if stream]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDS_WITHIN_S):
                await asyncio.gather(*map(_empty, streams))
                await process.wait()

    def environment(self) -> dict[str, str]:
        """The program's environment: nothing of ours."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": _FOLDER,
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
        }


class _Watch:
    """Reads a program's output and monitors its resources until it ends or must be killed."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._too_much = asyncio.Event()
        self.out = self.errors = b""

    async def over(self, given: bytes) -> str:
        """The limit that was reached, if any; ``given`` is its standard input."""
        process, limits = self._process, self._limits
        assert process.stdin
        done = asyncio.create_task(self._read())
        waits = {done, asyncio.create_task(self._too_much.wait())}
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(given)
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
            output = getattr(self, kept) + chunk
            setattr(self, kept, output[:most])
            if len(output) > most:
                self._too_much.set()

    def _overused(self) -> str:
        memory = processes = 0
        for pid in _family(self._process.pid):
            processes += 1
            with contextlib.suppress(OSError, ValueError, IndexError):
                memory += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        if memory * resource.getpagesize() > self._limits.megabytes << 20:
            return "memory"
        # The sandbox itself accounts for two of them.
        return "processes" if processes > self._limits.processes + 2 else ""


def _family(pid: int) -> Iterator[int]:
    """A process and all its descendants on Linux; elsewhere only the process."""
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
    """bubblewrap: separate namespaces for everything, and a file system of a few folders."""

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
        # /dev is a folder in memory too, and without a limit.
        words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
        size = limits.megabytes << 16  # a sixteenth
        words += ["--perms", "1777"] + ["--size", str(size)] * ("--size" in _help())
        words += ["--tmpfs", _FOLDER, "--chdir", _FOLDER]
        # Root could still write to the sandbox's own folders; make all of them read-only.
        words += ["--remount-ro", "/", "--", _python()]
        return [*words, "-s", "-B", "-X", "utf8"]

    @override
    async def _start(
        self, words: Sequence[str], files: Sequence[int] = ()
    ) -> asyncio.subprocess.Process:
        rules = syscall_filter()
        if not rules:
            return await super()._start(words, files)
        taken, given = os.pipe()
        try:
            with os.fdopen(given, "wb") as pipe:
                pipe.write(rules)
            words = [words[0], "--seccomp", str(taken), *words[1:]]
            return await super()._start(words, [*files, taken])
        finally:
            os.close(taken)

    def uid(self) -> int:
        """Root has no process limit, so a program started by root gets another user id."""
        if os.geteuid() != 0 or not _may_become(_FIRST_UID + _UIDS):
            return 0
        return _FIRST_UID + (os.getpid() + self._number) % _UIDS


class Container(Sandbox):
    """A podman or docker container, created for each program."""

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
        """The client's own environment: it may need it to find its service."""
        known = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "LANG")
        return {name: os.environ[name] for name in known if name in os.environ}

    async def end(self, name: str) -> None:
        """Killing the client does not end the container."""
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
    """No sandbox: the program can do whatever the user can, within the limits."""

    name = UNCONFINED

    @override
    def command(self, limits: Limits, name: str) -> list[str]:
        return [_python(), "-s", "-B", "-X", "utf8"]


_ALL: dict[str, type[Bubblewrap | Podman | Docker]] = {
    BUBBLEWRAP: Bubblewrap,
    PODMAN: Podman,
    DOCKER: Docker,
}


INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or podman"
"""What to do without a sandbox."""


def installed_sandboxes() -> list[str]:
    """Those whose programs are installed, the preferred one first. Whether they work is unknown."""
    return [name for name in _ALL if _where("bwrap" if name == BUBBLEWRAP else name)]


async def find_sandbox(*, unsafe: bool = False) -> Sandbox:
    """The first sandbox that works here: bubblewrap, podman, docker.

    Args:
        unsafe: whether the user allows programs to run without a sandbox.

    Raises:
        SandboxMissing: none works; says why.
    """
    if unsafe:
        return Unconfined()
    why = []
    for name in installed_sandboxes():
        sandbox = _ALL[name]()
        ran = await sandbox.run("", Limits(seconds=_GRACE_S * (1 if name == BUBBLEWRAP else 6)))
        if ran.finished:
            return sandbox
        why.append(f"{name} cannot start: {ran.why}")
    raise SandboxMissing(
        "this benchmark runs code that models write, and there is no sandbox to run it in",
        why="; ".join(why) or "neither bubblewrap nor podman nor docker is installed",
        hint=f"{INSTALL}; to run the code as you, without any protection: --unsafe-run-code",
    )


class SandboxOfRun:
    """The sandbox that all samples of a run share, found when the first one needs it.

    It limits how many programs run at once.
    """

    def __init__(self, *, unsafe: bool) -> None:
        self._unsafe = unsafe
        self._found: Sandbox | None = None
        self._finding = asyncio.Lock()

    async def get(self) -> Sandbox:
        """The sandbox.

        Raises:
            SandboxMissing: none works; says why.
        """
        async with self._finding:
            if self._found is None:
                self._found = await find_sandbox(unsafe=self._unsafe)
            return self._found


async def _empty(stream: asyncio.StreamReader) -> None:
    while await stream.read(1 << 16):
        pass


def _where(program: str) -> str | None:
    return shutil.which(program)


@cache
def _help() -> str:
    """The options of this bubblewrap."""
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
    """Whether a user id exists in this process's namespace (a container may have only a few)."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return False
    spans: list[Sequence[int]] = [tuple(map(int, line.split())) for line in lines]
    return any(first <= uid < first + length for first, _, length in spans)

"""Python processes that are forked from one that has imported what they need.

Most of what a command of ours costs is Python's start and its imports, and tests start
hundreds. Here a child is still a process of its own: it has its own id, group, environment,
working folder, signals and standard streams, and can be killed; only its modules were loaded
before. So are the preflight children and engines that commands start, but not what engines start,
and the children that look into the keychain or do work with a limit.

What a fresh interpreter alone shows (its command line, which modules it loads, what its
variables change at the start) needs a real one: see :func:`can_serve`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from typing import Any, NoReturn, Self

FEW = (
    *(
        "evalbench.engine.benchmarks.custom.child_work",
        "evalbench.engine.keys.keychain_child",
        "jinja2.sandbox",
    ),
    *("keyring.core", "keyring.backends.fail", "keyring.backends.null"),
    *("evalbench.tui.cli.main", "evalbench.tui.cli.output"),
)
"""What is imported once where no test is about commands and engines."""

PRELOADED = (
    *FEW,
    *("evalbench.engine.process.main", "evalbench.engine.preflight.child", "evalbench.run"),
    *("evalbench.tui.cli.live", "evalbench.tui.cli.commands"),
    *("evalbench.providers.anthropic", "evalbench.providers.openai"),
    *("evalbench.providers.compatible", "evalbench.providers.google"),
    *("evalbench.providers.bedrock", "evalbench.providers.together"),
    *("aiohttp", "anthropic", "openai", "google.genai", "together", "boto3"),
)
"""What is imported once, besides every command, where tests are about commands and engines."""

_OURS = "evalbench."
_COMMAND = "evalbench.tui.cli.main"
_BY_PATH = "evalbench.engine.keys.keychain_child"
_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_SET_CHILD_SUBREAPER = 36
_AT_THE_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_")
_FOR_SOME = ("COVERAGE_", "HF_", "EVALBENCH_TESTS")
_READ_LATER = ("PYTHON_KEYRING_BACKEND",)


def can_serve(words: Sequence[str], env: Mapping[str, str], beginning: Mapping[str, str]) -> bool:
    """Whether a Python with these words and variables may be forked from one begun with others."""
    if Warm.off():
        return False
    if _module(words) is None or _fixed(env) != _fixed(beginning):
        return False
    # A child from which these were kept is no other for that.
    return all(
        beginning.get(name) == value for name, value in env.items() if name.startswith(_FOR_SOME)
    )


def _fixed(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that decide what an interpreter is from its start on."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_AT_THE_START) and name not in _READ_LATER
    }


def _module(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The module of ours that ``python *words`` runs, if it is one, and the words for it."""
    after = list(words[words[:1] == ["-P"] :])
    if len(after) > 1 and after[0] == "-m" and after[1].startswith(_OURS):
        return after[1], after[2:]
    if after != list(words) and after[0].endswith("/engine/keys/keychain_child.py"):
        return _BY_PATH, after[1:]
    return None


# -- the side of the tests --------------------------------------------------------------------


class Warm:
    """Within it, Pythons of ours that this process starts are forked from a warm one.

    They are this process's children all the same. The warm process starts with the first one,
    or with :meth:`begin`.
    """

    def __init__(self, env: Mapping[str, str], modules: Sequence[str] = PRELOADED) -> None:
        """``env``: the variables that the warm process begins with; ``modules``: its imports."""
        self._env = dict(env)
        self._modules = modules
        self._server: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    @staticmethod
    def off() -> bool:
        """Whether every Python is to be started."""
        return bool(os.environ.get("EVALBENCH_TESTS_COLD")) or sys.platform != "linux"

    def __enter__(self) -> Self:
        _replace(self._fork_exec)
        return self

    def __exit__(self, *_: object) -> None:
        _replace(_exec)

    def begin(self) -> None:
        """Have the warm process start, and not wait for it."""
        if self._ours is None:
            self._ours, theirs = socket.socketpair()
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, "-P", __file__, str(theirs.fileno()), *self._modules],
                    env=self._env,
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                )

    def close(self) -> None:
        """End the warm process; what was forked lives on."""
        if self._server and self._ours:
            self._ours.close()
            self._server.wait(60)
            self._server = self._ours = None

    def _fork_exec(self, *given: Any) -> int:
        wanted = Wanted.of(given)
        if not can_serve(wanted.words, wanted.env, self._env):
            return _exec(*given)
        self.begin()
        with _turn:
            assert self._ours
            return wanted.send(self._ours)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Children of children become this process's when their parents end."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot adopt processes")
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# -- the side of the process that forks -------------------------------------------------------


def begin(ours: socket.socket, modules: Sequence[str]) -> None:
    """Import what all will need, and fork whatever is asked for."""
    for name in modules:
        import_module(name)
    started = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    _own_path.extend(sys.path[len([*started]) :])
    if commands := sys.modules.get("evalbench.tui.cli.commands"):
        for command in commands.COMMANDS.values():
            import_module(f"evalbench.tui.cli.{command.module}")
    gc.collect()
    gc.freeze()
    _serve(ours)


def _serve(ours: socket.socket) -> None:
    """Fork whatever is asked for, until nobody can ask any more."""
    while (wanted := Wanted.receive(ours)) is not None:
        reader, writer = os.pipe()
        between = os.fork()
        if between == 0:
            # What it forks is taken over by the process that asked, as soon as this one is gone.
            pid = os.fork()
            if pid == 0:
                wanted.become()
            os.write(writer, b"%d" % pid)
            os._exit(0)
        os.waitpid(between, 0)
        ours.sendall(b"%9d" % int(os.read(reader, 9)))
        for fd in (reader, writer, *wanted.fds):
            os.close(fd)


def _keep_a_helper() -> None:
    """Have a process at hand that forks what this one will start.

    This one will have threads, locks and files open, which a fork would copy.
    """
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        with contextlib.suppress(BaseException):
            ours.close()
            _close_all_but({theirs.fileno()})
            for number in _ENDING:
                signal.signal(number, signal.SIG_IGN)
            _serve(theirs)
        os._exit(0)
    theirs.close()

    def fork_exec(*given: Any) -> int:
        wanted = Wanted.of(given)
        if not can_serve(wanted.words, wanted.env, os.environ):
            return _exec(*given)
        with _turn:
            return wanted.send(ours)

    _replace(fork_exec)


# -- both --------------------------------------------------------------------------------------


@dataclass
class Wanted:
    """A Python that is to be, as :mod:`subprocess` wants it.

    Attributes:
        words: what follows ``python``.
        fds: standard streams (-1: as they are), and what else it shall have open.
        numbers: what the descriptors are to be called.
        ignored: signals that it ignores from its start on.
    """

    words: list[str]
    env: dict[str, str]
    cwd: str | None
    session: bool
    group: int
    numbers: list[int]
    fds: list[int]
    ignored: list[int]

    @classmethod
    def of(cls, given: Sequence[Any]) -> Wanted:
        """From the arguments of ``subprocess._fork_exec``; an empty one for other programs."""
        args, _, _, keep, cwd, env = given[:6]
        p2cread, _, _, c2pwrite, _, errwrite, _, failed = given[6:14]
        words = [os.fsdecode(word) for word in args]
        variables = dict(os.environ)
        if env is not None:
            variables = dict(os.fsdecode(one).split("=", 1) for one in env)
        streams = [(0, p2cread), (1, c2pwrite), (2, errwrite)]
        more = [(fd, fd) for fd in keep if fd != failed and fd > 2]
        held = [(number, fd if fd >= 0 else number) for number, fd in streams] + more
        return cls(
            words=words[1:] if words[0] == sys.executable else [],
            env=variables,
            cwd=None if cwd is None else os.fsdecode(cwd),
            session=bool(given[15]),
            group=int(given[16]),
            numbers=[number for number, _ in held],
            fds=[fd for _, fd in held],
            ignored=[one for one in _ENDING if signal.getsignal(one) is signal.SIG_IGN],
        )

    def send(self, to: socket.socket) -> int:
        """Have it forked by the process at the other end; its id."""
        told = {**vars(self), "cwd": self.cwd or os.getcwd(), "fds": []}
        body = json.dumps(told).encode()
        with _adopting():
            socket.send_fds(to, [len(body).to_bytes(4, "big")], self.fds)
            to.sendall(body)
            said = _exactly(to, 9)
        if not said:
            raise RuntimeError("the warm process has ended")
        return int(said)

    @classmethod
    def receive(cls, ours: socket.socket) -> Wanted | None:
        """The next one that is asked for; None when nobody can ask any more."""
        head, fds, _, _ = socket.recv_fds(ours, 4, 64)
        if not head:
            return None
        return cls(**{**json.loads(_exactly(ours, int.from_bytes(head, "big"))), "fds": fds})

    def become(self) -> NoReturn:
        """Be it from now on."""
        code = 70
        try:
            if self.session:
                os.setsid()
            elif self.group >= 0:
                os.setpgid(0, self.group)
            self._settle()
            if not _found_alike(self.env.get("PYTHONPATH", "")):
                os.execve(sys.executable, [sys.executable, *self.words], self.env)
            code = _run(self.words)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _settle(self) -> None:
        # Above all numbers that are wanted, so that none is written over before its turn.
        safe = [fcntl.fcntl(fd, fcntl.F_DUPFD, 512) for fd in self.fds]
        for number, fd in zip(self.numbers, safe, strict=True):
            os.dup2(fd, number)
        _close_all_but({*self.numbers})
        reads, says = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        warns = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
        vars(sys).update(stdin=reads, stdout=says, stderr=warns)
        vars(sys).update(__stdin__=reads, __stdout__=says, __stderr__=warns)
        os.chdir(self.cwd or os.getcwd())
        _search(self.env.get("PYTHONPATH", ""))
        os.environ.clear()
        os.environ.update(self.env)
        time.tzset()
        for number in _ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in self.ignored:
            signal.signal(number, signal.SIG_IGN)


def _search(path: str) -> None:
    """Look for modules where this ``PYTHONPATH`` says, and not where that of the start said."""
    sys.path[:] = [*map(os.path.abspath, filter(None, path.split(os.pathsep))), *_own_path]
    invalidate_caches()


def _found_alike(path: str) -> bool:
    """Whether what was loaded before is what would be found by this ``PYTHONPATH`` as well."""
    for folder in filter(os.path.isdir, path.split(os.pathsep)):
        for entry in os.listdir(folder):
            name = entry.partition(".")[0]
            loaded = getattr(sys.modules.get(name), "__file__", None)
            if name in ("sitecustomize", "usercustomize") or entry.endswith(".pth"):
                return False
            if name in sys.modules and not (loaded or "").startswith(os.path.abspath(folder)):
                return False
    return True


def _close_all_but(kept: set[int]) -> None:
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in kept:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(fd)


def _exactly(ours: socket.socket, size: int) -> bytes:
    said = b""
    while len(said) < size and (more := ours.recv(size - len(said))):
        said += more
    return said


def _run(words: Sequence[str]) -> int:
    """Do what ``python *words`` does, to its end; the exit code."""
    module = _module(words)
    assert module is not None
    name, given = module
    sys.argv = [name, *given]
    if words[0] != "-P":
        sys.path.insert(0, os.getcwd())
    sys.modules.pop(name, None)
    if name == _COMMAND:
        _keep_a_helper()
    code = 0
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    return code


_own_path: list[str] = []
"""Where modules are looked for after the folders of ``PYTHONPATH``."""
_turn = threading.Lock()
_exec: Callable[..., int] = subprocess._fork_exec  # type: ignore[attr-defined]


def _replace(fork_exec: Callable[..., int]) -> None:
    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]


if __name__ == "__main__":
    begin(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])

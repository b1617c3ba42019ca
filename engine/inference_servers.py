"""Third-party inference servers as child processes on this machine.

None is imported: they pin their own torch. Their output is untrusted text.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evalbench.engine.errors import UsageError, WorkerFailed
from evalbench.engine.paths import expand
from evalbench.engine.terminal_text import one_line

HOST = "127.0.0.1"
_LAST_LINES = 12
_MOST_ERRORS = 4
_ERROR = re.compile(
    r"(?:^|\] |^\([^)]+ pid=\d+\)\s+)((?:\w+\.)*\w*(?:Error|Exception): .+|Value error, .+)"
    r"|\b(\w+: error loading model: .+)"
)
"""A Python error, alone or after the prefix of a logger or a process, a detail of one of pydantic,
or an error of llama.cpp. The cause comes first: servers of several processes print what follows
from it last, with long tracebacks."""
_QUOTED = 300
"""vLLM lists all architectures that it knows, in thousands of characters."""
_LONGEST = 4096
_ANSWER_S = 2.0
_SECONDS_TO_END = 20.0
_LOOK_S = 0.1
_ORPHAN_S = 5.0
"""How long a server may take to end after the process that started it."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """One kind of server; declared by the provider that calls it.

    Attributes:
        name: as in ``--engine`` and ``--backend``.
        title: display name.
        program: executable searched on PATH, and next to the Python that runs.
        provider: the provider's name.
        port: that provider's default port.
        server_key: variable with the key that the server demands; empty if it reads none.
        our_key: variable with the key that our provider sends.
        install: how to install it.
        arguments: its first arguments, for a model under a name.
        package, module: a Python package that contains the server, and our module that runs it,
            if the program is not there.
    """

    name: str
    title: str
    program: str
    provider: str
    port: int
    server_key: str
    our_key: str
    install: str
    arguments: Callable[[str, str], list[str]]
    package: str = ""
    module: str = ""

    def path(self) -> str | None:
        """The path of its program; None if it is not installed."""
        beside = Path(sys.executable).parent / self.program
        return shutil.which(self.program) or (str(beside) if os.access(beside, os.X_OK) else None)

    def installed(self) -> bool:
        """Whether it can be started."""
        return bool(self.path() or (self.package and find_spec(self.package)))

    @property
    def absence(self) -> tuple[str, str]:
        """What to say and why, if it is not installed; what to do is ``install``."""
        return f"{self.title} is not installed", f"there is no {self.program} on PATH"

    def command(self, model: str, name: str, port: int) -> list[str]:
        """The command line that starts it on 127.0.0.1 with a model under a name."""
        program = [self.path() or self.program]
        if self.path() is None and self.installed():
            program = [sys.executable, "-P", "-m", self.module]
        return [*program, *self.arguments(model, name), "--host", HOST, "--port", str(port)]


class InferenceServer:
    """A started server. ``say`` is called with each line of its output, cleaned.

    Attributes:
        kind: the kind of server.
        port: its port on 127.0.0.1.
        last_line: its last line of output.
    """

    def __init__(
        self,
        kind: ServerProgram,
        command: Sequence[str],
        port: int,
        say: Callable[[str], None],
        *,
        env: Mapping[str, str],
        key: str = "",
        scratch: Path | None = None,
    ) -> None:
        """Start it.

        Args:
            kind: what it is.
            command: its command line.
            port: the port in it.
            say: called with each line.
            env: its whole environment.
            key: the key that it demands.
            scratch: a folder of its files, which is removed if this process ends without
                :meth:`end`.

        Raises:
            UsageError: it cannot be started.
        """
        self.kind = kind
        self.port = port
        self.last_line = ""
        self._say = say
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._errors: deque[str] = deque(maxlen=_MOST_ERRORS)
        self._key = key
        try:
            self._child = subprocess.Popen(
                list(command),
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C reaches only the command, which then ends the server and its children.
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                f"{kind.title} cannot be started", why=f"{command[0]}: {error.strerror or error}"
            ) from None
        self._guard = _guard(self._child.pid, env, scratch)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its process."""
        return self._child.pid

    @property
    def base_url(self) -> str:
        """The ``--base-url`` value."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._child.poll()

    def check(self) -> None:
        """Check that it is running.

        Raises:
            WorkerFailed: it has ended; with its last errors and lines.
        """
        code = self.code
        if code is None:
            return
        self._reader.join(_ANSWER_S)
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        last = [line for line in self._lines if line not in self._errors]
        said = [("its errors", self._errors), ("it said last", last)]
        why = "\n  ".join(
            f"{what}:" + "".join(f"\n    {_clipped(line)}" for line in lines)
            for what, lines in said
            if lines
        )
        raise WorkerFailed(
            f"{self.kind.title} has ended {how}",
            why=why or "no output",
            hint=f"{self.kind.program} --help lists its options",
        )

    def healthy(self) -> bool:
        """Whether it reports that it is ready."""
        return self.get("/health") is not None

    def models(self) -> list[str]:
        """The models that it serves, by the names to use in calls."""
        with contextlib.suppress(ValueError, TypeError, KeyError):
            listed: Any = json.loads(self.get("/v1/models") or b"{}")
            return [one["id"] for one in listed["data"] if isinstance(one["id"], str)]
        return []

    def end(self, within_s: float | None = None) -> None:
        """End it and its children: first gracefully, then by force."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_SECONDS_TO_END if within_s is None else within_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._guard.kill()
        self._guard.communicate()
        self._reader.join(_ANSWER_S)

    def get(self, path: str) -> bytes | None:
        """The body of a response with status 200."""
        # Slow to import, and engines without such a server load this module too.
        import http.client

        connection = http.client.HTTPConnection(HOST, self.port, timeout=_ANSWER_S)
        try:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            return body if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def _read(self) -> None:
        stream: Any = self._child.stdout
        with contextlib.suppress(OSError, ValueError):
            for raw in iter(lambda: stream.readline(_LONGEST), ""):
                if line := one_line(raw):
                    self._lines.append(line)
                    if error := _ERROR.search(line):
                        what = error[1] or error[2]
                        if what not in self._errors:
                            self._errors.append(what)
                    self.last_line = line
                    self._say(line)


def _clipped(line: str) -> str:
    return line if len(line) <= _QUOTED else f"{line[: _QUOTED - 1]}…"


def served_name(model: str) -> str:
    """The model name to use in calls: a hub id unchanged, a file or folder by its last part."""
    path = expand(model)
    if not path.exists():
        return model
    return path.stem if path.suffix.lower() == ".gguf" else path.resolve().name


def wait_a_moment() -> None:
    """Wait between two checks of a server."""
    time.sleep(_LOOK_S)


def _guard(pid: int, env: Mapping[str, str], scratch: Path | None) -> subprocess.Popen[bytes]:
    """Starts what ends a server if this process ends without doing so."""
    script = Path(__file__).with_name("server_guard.py")
    folders = [str(scratch)] if scratch else []
    return subprocess.Popen(
        [sys.executable, "-P", "-I", "-S", str(script), str(pid), str(_ORPHAN_S), *folders],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

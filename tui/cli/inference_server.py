"""Third-party inference servers, vLLM and llama.cpp, as child processes on this machine.

Neither is imported: vLLM pins its own torch. Their output is untrusted text.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalbench.engine.errors import UsageError, WorkerFailed
from evalbench.engine.keys import strip_environment
from evalbench.engine.paths import expand
from evalbench.tui.cli.port import HOST
from evalbench.tui.state.clean import one_line

_LAST_LINES = 12
_LONGEST = 4096
_ANSWER_S = 2.0
_SECONDS_TO_END = 20.0
_LOOK_S = 0.1
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class Kind(NamedTuple):
    """One kind of server.

    Attributes:
        name: ``--engine`` value.
        title: display name.
        program: executable searched on PATH.
        provider: our provider for it.
        port: that provider's default port.
        server_key: variable with the key that the server demands.
        our_key: variable with the key that our provider sends.
        install: how to install it.
    """

    name: str
    title: str
    program: str
    provider: str
    port: int
    server_key: str
    our_key: str
    install: str

    def path(self) -> str | None:
        """The path of its program; None if it is not installed."""
        return shutil.which(self.program)

    def command(self, model: str, name: str, port: int) -> list[str]:
        """The command line that starts it on 127.0.0.1 with a model under a name."""
        program = self.path() or self.program
        place = ["--host", HOST, "--port", str(port)]
        if self is VLLM:
            return [program, "serve", model, "--served-model-name", name, *place]
        source = "-m" if model.lower().endswith(".gguf") else "-hf"
        return [program, source, model, "--alias", name, *place]


VLLM = Kind(
    "vllm",
    "vLLM",
    "vllm",
    "vllm",
    8000,
    "VLLM_API_KEY",
    "VLLM_API_KEY",
    "python3 -m venv ~/vllm && ~/vllm/bin/pip install vllm, an environment of its own since it"
    ' pins its own torch; then PATH="$HOME/vllm/bin:$PATH" evalbench serve …',
)
LLAMA_CPP = Kind(
    "llama.cpp",
    "llama.cpp",
    "llama-server",
    "llamacpp",
    8080,
    "LLAMA_API_KEY",
    "LLAMACPP_API_KEY",
    "brew install llama.cpp, or unpack a release of https://github.com/ggml-org/llama.cpp into"
    " a folder on PATH",
)
KINDS = {kind.name: kind for kind in (VLLM, LLAMA_CPP)}


def choose_kind(model: str, name: str | None) -> Kind:
    """The server for a model: the named one, else llama.cpp for GGUF and vLLM for others.

    Raises:
        UsageError: it is not installed, or the model does not exist.
    """
    if model.startswith((".", "/", "~")) and not expand(model).exists():
        raise UsageError(f"there is no {model}", hint="name a folder, a GGUF file or org/name")
    gguf = "gguf" in model.lower()
    kind = KINDS[name] if name else LLAMA_CPP if gguf else VLLM
    if kind.path():
        return kind
    (other,) = (one for one in KINDS.values() if one is not kind)
    why = f"there is no {kind.program} on PATH"
    if not name:
        why += "; a GGUF model needs it" if gguf else "; models that are not GGUF need it"
        if other.path():
            why += f" ({other.title} is there; --engine {other.name} can be tried anyway)"
    raise UsageError(f"{kind.title} is not installed", why=why, hint=kind.install)


def served_name(model: str) -> str:
    """The model name to use in calls: a hub id unchanged, a file or folder by its last part."""
    path = expand(model)
    if not path.exists():
        return model
    return path.stem if path.suffix.lower() == ".gguf" else path.resolve().name


def environment(kind: Kind, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server, without keys except those for the hub and for itself."""
    stripped = strip_environment(env, keep=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))
    stripped.pop(kind.server_key, None)
    if key := env.get(kind.our_key):
        stripped[kind.server_key] = key
    return stripped


class InferenceServer:
    """A started server. ``say`` is called with each line of its output, cleaned.

    Attributes:
        kind: the kind of server.
        port: its port on 127.0.0.1.
        last_line: its last line of output.
    """

    def __init__(
        self, kind: Kind, command: Sequence[str], port: int, say: Callable[[str], None]
    ) -> None:
        self.kind = kind
        self.port = port
        self.last_line = ""
        self._say = say
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._key = os.environ.get(kind.our_key, "")
        try:
            self._child = subprocess.Popen(
                list(command),
                env=environment(kind, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                # Ctrl-C reaches only this command, which then ends the server and its children.
                start_new_session=True,
                preexec_fn=_die_with_parent(),  # safe: there is only one thread yet
            )
        except OSError as error:
            raise UsageError(
                f"{kind.title} cannot be started", why=f"{command[0]}: {error.strerror or error}"
            ) from None
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

    def check(self) -> None:
        """Check that it is running.

        Raises:
            WorkerFailed: it has ended; with its last lines.
        """
        code = self._child.poll()
        if code is None:
            return
        self._reader.join(_ANSWER_S)
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        said = "".join(f"\n    {line}" for line in self._lines)
        raise WorkerFailed(
            f"{self.kind.title} has ended {how}",
            why=f"it said last:{said}" if said else "no output",
            hint=f"{self.kind.program} --help lists its options; pass them after --",
        )

    def healthy(self) -> bool:
        """Whether it reports that it is ready."""
        return self._get("/health") is not None

    def models(self) -> list[str]:
        """The models that it serves, by the names to use in calls."""
        with contextlib.suppress(ValueError, TypeError, KeyError):
            listed: Any = json.loads(self._get("/v1/models") or b"{}")
            return [one["id"] for one in listed["data"] if isinstance(one["id"], str)]
        return []

    def end(self) -> None:
        """End it and its children: first gracefully, then by force."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(_SECONDS_TO_END)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._reader.join(_ANSWER_S)

    def _read(self) -> None:
        stream: Any = self._child.stdout
        with contextlib.suppress(OSError, ValueError):
            for raw in iter(lambda: stream.readline(_LONGEST), ""):
                if line := one_line(raw):
                    self._lines.append(line)
                    self.last_line = line
                    self._say(line)

    def _get(self, path: str) -> bytes | None:
        """The body of a response with status 200."""
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


def wait_a_moment() -> None:
    """Wait between two checks of a server."""
    time.sleep(_LOOK_S)


def _die_with_parent() -> Callable[[], object] | None:
    """On Linux, makes a child end with this process even if that is killed."""
    if sys.platform != "linux":
        return None
    import ctypes

    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_DIE_WITH_PARENT, signal.SIGTERM, 0, 0, 0)

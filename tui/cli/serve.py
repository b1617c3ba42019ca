"""``evalbench serve``: serve a local model with vLLM, SGLang or llama.cpp, for runs here."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence

from evalbench.engine.config import registry
from evalbench.engine.errors import UsageError
from evalbench.engine.inference_servers import (
    InferenceServer,
    ServerProgram,
    served_name,
    wait_a_moment,
)
from evalbench.engine.keys import strip_environment
from evalbench.engine.paths import expand
from evalbench.tui.cli.output import Out, plain_terminal, stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.port import free_port, listen
from evalbench.tui.cli.signals import Signals
from evalbench.tui.state import figures

_PROVIDERS = ("llamacpp", "sglang", "vllm")
_OURS = ("--host", "--port")
_TELL_EVERY_S = 10.0
_DRAW_EVERY_S = 0.5
_MINUTE_S = 60


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.short_usage("MODEL [--engine NAME] [--port N] [-- options of the server]")
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="Hugging Face org/name, folder or GGUF file; for llama.cpp also org/name-GGUF[:quant]",
    )
    parser.add_argument(
        "--engine",
        choices=sorted(_server_programs()),
        help="server to start (default: llama.cpp for GGUF, otherwise vLLM)",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="port on 127.0.0.1 (default: the server's own, or a free one)",
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's output")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object when the server is ready"
    )
    parser.passes_on()
    parser.examples(
        "evalbench serve Qwen/Qwen3-0.6B",
        "evalbench serve ./my-model.gguf --port 9000",
        "evalbench serve Qwen/Qwen3-0.6B -- --max-model-len 8192 --tensor-parallel-size 2",
    )


def execute(args: argparse.Namespace) -> int:
    """Start the server, print how to use it, and wait until it is stopped."""
    for word in args.passed_on:
        if word.partition("=")[0] in _OURS:
            raise UsageError(
                f"{word} cannot be given after --",
                why="the server is for this machine only, at a port that evalbench knows",
                hint="evalbench serve MODEL --port N; or start the server by yourself",
            )
    kind = _choose_kind(args.model, args.engine)
    port = _port(args.port, kind.port)
    name = served_name(args.model)
    model = str(expand(args.model)) if name != args.model else args.model
    command = [*kind.command(model, name, port), *args.passed_on]
    out, err = stdout(), stderr()
    waiting = _Waiting(err, kind.title, quiet=args.verbose)
    with Signals() as signals:
        server = InferenceServer(
            kind,
            command,
            port,
            err.line if args.verbose else _nothing,
            env=_environment(kind, os.environ),
            key=os.environ.get(kind.our_key, "") if kind.server_key else "",
        )
        try:
            while not server.healthy():
                server.check()
                if signals.take():
                    return 4
                waiting.tell(server.last_line)
                wait_a_moment()
            waiting.done()
            _tell(out, server, name, as_json=args.json)
            while not signals.take():
                server.check()
                wait_a_moment()
        finally:
            waiting.done()
            server.end()
    return 0


def _nothing(line: str) -> None:
    """Output lines that are of no interest."""


def _port(wanted: int | None, usual: int) -> int:
    again = "evalbench serve MODEL"
    if wanted is None:
        return free_port(usual, again)
    with listen(wanted, again) as listener:
        port: int = listener.getsockname()[1]
    return port


def _tell(out: Out, server: InferenceServer, name: str, *, as_json: bool) -> None:
    names = server.models()
    # Options after -- may have set another name.
    model = f"{server.kind.provider}/{name if name in names or not names else names[0]}"
    run = ["evalbench", "run", "quickstart", "--model", model, "--base-url", server.base_url]
    if as_json:
        from evalbench.tui.cli import jsonlines

        jsonlines.write(
            out,
            "serving",
            engine=server.kind.name,
            model=model,
            base_url=server.base_url,
            pid=server.pid,
            run=run,
        )
        return
    from evalbench.engine.terminal_text import one_line

    out.line(f"{server.kind.title} is ready at {server.base_url}")
    out.line(f"ask it: {one_line(shlex.join(run))}")
    out.line("for this machine only; Ctrl-C ends it")


class _Waiting:
    """Shows that the server is not ready yet: one line, redrawn, or one from time to time."""

    def __init__(self, err: Out, title: str, *, quiet: bool) -> None:
        self._err = err
        self._title = title
        self._quiet = quiet
        self._drawn = err.isatty() and not plain_terminal()
        self._began = time.monotonic()
        self._due = self._began + (_DRAW_EVERY_S if self._drawn else _TELL_EVERY_S)
        self._on_screen = False

    def tell(self, last: str) -> None:
        """Show it again, if it is time; ``last`` is the server's last line of output."""
        now = time.monotonic()
        if self._quiet or now < self._due:
            return
        waited = now - self._began
        since = figures.duration(waited) if waited >= _MINUTE_S else f"{waited:.0f} s"
        words = f"waiting for {self._title}, {since}" + (last and f": {last}")
        if self._drawn:
            self._due = now + _DRAW_EVERY_S
            # Room for the ^C that a terminal adds: on two lines, only one would be cleared.
            self._err.write(f"\r\x1b[K{words[: shutil.get_terminal_size().columns - 3]}")
            self._err.flush()
            self._on_screen = True
        else:
            self._due = now + _TELL_EVERY_S
            self._err.line(words)

    def done(self) -> None:
        """Clear an unfinished line."""
        if self._on_screen:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._on_screen = False


def _server_programs() -> dict[str, ServerProgram]:
    """The servers that can be started, by ``--engine`` value."""
    found = (registry.provider_class(name).server for name in _PROVIDERS)
    return {program.name: program for program in found if program}


def _choose_kind(model: str, name: str | None) -> ServerProgram:
    """The server for a model: the named one, else llama.cpp for GGUF and vLLM for others.

    Raises:
        UsageError: it is not installed, or the model does not exist.
    """
    if model.startswith((".", "/", "~")) and not expand(model).exists():
        raise UsageError(f"there is no {model}", hint="name a folder, a GGUF file or org/name")
    programs = _server_programs()
    gguf = "gguf" in model.lower()
    usual, other = ("llama.cpp", "vllm") if gguf else ("vllm", "llama.cpp")
    kind = programs[name or usual]
    if kind.installed():
        return kind
    what, why = kind.absence
    if not name:
        why += "; a GGUF model needs it" if gguf else "; models that are not GGUF need it"
        if programs[other].installed():
            why += f" ({programs[other].title} is there; --engine {other} can be tried anyway)"
    raise UsageError(what, why=why, hint=kind.install)


def _environment(kind: ServerProgram, env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server, without keys except those for the hub and for itself."""
    stripped = strip_environment(env, keep=("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"))
    stripped.pop(kind.server_key, None)
    if kind.server_key and (key := env.get(kind.our_key)):
        stripped[kind.server_key] = key
    return stripped

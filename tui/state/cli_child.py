"""Commands of evalbench run for the app, each in a child process of its own.

What the app does, the command line does: it starts runs, estimates costs, lists
models, sets keys. So the app imports nothing heavy, cannot be frozen by it,
and never holds a key longer than it takes to hand it on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state.session_keys import handing

Line = dict[str, Any]
"""One JSON line (docs/json-lines.md)."""

_LONGEST_LINE = 64 << 20
_GRACE_S = 3.0


class CommandFailed(EvalbenchError):
    """The command ended with an error; carries what it said, why, and the hint.

    Attributes:
        setting: name of the setting that is wrong or missing; empty where it is none.
    """

    setting = ""


async def run_command(
    *words: str,
    secret: str = "",
    on_line: Callable[[Line], None] | None = None,
    accept: Sequence[int] = (0,),
    ask: Callable[[Line], Awaitable[bool]] | None = None,
) -> list[Line]:
    """Run ``evalbench WORDS --json``; returns every line it printed.

    Cancelling ends the command and whatever it started for itself.

    Args:
        words: the command line, without ``--json``.
        secret: one line for its standard input.
        on_line: told each line as it comes.
        accept: exit codes that are no failure.
        ask: given the line that names hosts where a key has never been, whether it may go
            there; with a yes the command is run again, with a no nothing is returned.

    Raises:
        CommandFailed: it ended with another exit code.
    """
    named: list[Line] = []

    def hear(line: Line) -> None:
        if line.get("event") == "key-hosts":
            named.append(line)
        elif on_line:
            on_line(line)

    try:
        lines = await _run(words, secret, hear, accept)
    except CommandFailed:
        if not (ask and named):
            raise
    else:
        if not (ask and named):
            return lines
    if not await ask(named[-1]):
        return []
    allowed = [word for host in named[-1]["hosts"] for word in ("--allow-host", host)]
    return await _run((*words, *allowed), secret, on_line, accept)


async def _run(
    words: Sequence[str],
    secret: str,
    on_line: Callable[[Line], None] | None,
    accept: Sequence[int],
) -> list[Line]:
    try:
        child = await _child(words)
    except (OSError, ValueError) as error:
        # A word that no command line can carry: a NUL, half a letter, a megabyte.
        raise CommandFailed("the command could not be started", why=str(error)) from None
    assert child.stdin
    assert child.stdout
    assert child.stderr
    said = asyncio.create_task(child.stderr.read())
    try:
        with contextlib.suppress(ConnectionError):
            if secret:
                child.stdin.write(secret.encode() + b"\n")
                await child.stdin.drain()
                secret = ""
            child.stdin.close()
        lines: list[Line] = []
        async for raw in child.stdout:
            with contextlib.suppress(ValueError):
                line = orjson.loads(raw)
                lines.append(line)
                if on_line:
                    on_line(line)
        code = await child.wait()
        words_said = (await said).decode("utf-8", "replace")
    finally:
        said.cancel()
        if child.returncode is None:
            try:
                await _end(child)
            finally:
                # What it started may hold its pipes, which nobody reads any more.
                child._transport.close()  # type: ignore[attr-defined]
    if code not in accept:
        raise _failure(code, lines, words_said)
    return lines


async def _child(words: Sequence[str]) -> asyncio.subprocess.Process:
    with handing() as (variables, pipes):
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "evalbench.tui.cli.main",
            *words,
            "--json",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, **variables},
            pass_fds=pipes,
            start_new_session=True,
        )


async def _end(child: asyncio.subprocess.Process) -> None:
    """Interrupt a command: unlike being terminated, that lets it end its own helpers."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), _GRACE_S)
            return


def _failure(code: int, lines: Sequence[Line], said: str) -> CommandFailed:
    for line in reversed(lines):
        if line.get("event") == "error":
            error = CommandFailed(line["what"], why=line["why"], hint=line["try"])
            error.exit_code = code
            error.setting = str(line.get("setting") or "")
            return error
    last = said.strip().splitlines()[-1:] or ["no output"]
    error = CommandFailed(f"the command ended with exit code {code}", why=last[0])
    error.exit_code = code
    return error

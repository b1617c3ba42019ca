"""Running evalbench commands for the app, each in its own child process.

The app acts only through the command line: starting runs, estimating costs, listing models, setting
keys. So it imports nothing heavy, cannot be frozen by such work, and never holds a key longer than
it takes to pass it on.
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
    """The command failed; carries the message, the reason and the hint.

    Attributes:
        setting: name of the invalid or missing setting, ``key`` for a missing key; empty if it is
            not about one.
    """

    setting = ""


def setting_of(error: EvalbenchError) -> str:
    """The setting that an error of a command is about; empty if none."""
    return error.setting if isinstance(error, CommandFailed) else ""


async def run_command(
    *words: str,
    secret: str = "",
    on_line: Callable[[Line], None] | None = None,
    accept: Sequence[int] = (0,),
    ask: Callable[[Line], Awaitable[bool]] | None = None,
) -> list[Line]:
    """Run ``evalbench WORDS --json``; returns every line it printed.

    Cancelling ends the command and any process it started for itself.

    Args:
        words: the command line, without ``--json``.
        secret: one line for its standard input.
        on_line: called with each line as it arrives.
        accept: exit codes that do not count as failure.
        ask: asks, given the line that lists hosts where a key has never been sent, whether it may
            be sent there; with a yes the command is run again, with a no nothing is returned.

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
        # An argument that no command line can carry: a NUL, a lone surrogate, a megabyte.
        raise CommandFailed("the command could not be started", why=str(error)) from None
    assert child.stdin
    assert child.stdout
    assert child.stderr
    errors = asyncio.create_task(child.stderr.read())
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
        words_said = (await errors).decode("utf-8", "replace")
    finally:
        errors.cancel()
        if child.returncode is None:
            try:
                await _end(child)
            finally:
                # Its child processes may still hold its pipes, which are no longer read.
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
    """Interrupt a command: unlike termination, that lets it end its own helpers."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), _GRACE_S)
            return


def _failure(code: int, lines: Sequence[Line], errors: str) -> CommandFailed:
    for line in reversed(lines):
        if line.get("event") == "error":
            error = CommandFailed(line["what"], why=line["why"], hint=line["try"])
            error.exit_code = code
            error.setting = str(line.get("setting") or "")
            return error
    last = errors.strip().splitlines()[-1:] or ["no output"]
    error = CommandFailed(f"the command ended with exit code {code}", why=last[0])
    error.exit_code = code
    return error

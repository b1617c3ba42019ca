"""A user-defined command that runs when a run is at rest."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import clean, one_line

log = logging.getLogger("evalbench")

LONGEST_S = 60.0
"""Seconds that the command is given."""

_MOST_LOGGED, _LONGEST_REASON = 10_000, 300
"""Bytes that are logged of what a command says, and characters of it in a reason."""


def read_command(text: str) -> tuple[str, ...]:
    """Split a command line into program and arguments; only quoting works as in a shell.

    Raises:
        UsageError: it cannot be parsed, or the program does not exist.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            "the command of --on-end cannot be read", why=str(error).lower(), hint="close the quote"
        ) from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        named = repr(words[0]) if words else "nothing"
        raise UsageError(
            f"--on-end names {named}, which is no program here",
            why="it is started directly, without a shell",
            hint="give a program, or: --on-end \"sh -c '...'\"",
        )
    return os.path.abspath(program), *words[1:]


async def run_hook(command: Sequence[str], folder: RunFolder) -> str:
    """Run the command for one run; the run's facts are in its environment, not its arguments.

    ``EVALBENCH_RUN`` (id), ``EVALBENCH_RUN_DIR``, ``EVALBENCH_STATE``, ``EVALBENCH_SCORE`` (of the
    headline metric; empty if there is none), ``EVALBENCH_BENCHMARK``, ``EVALBENCH_MODEL`` and
    ``EVALBENCH_EXIT_CODE``. The command is killed after a minute. What it prints to standard error
    is logged.

    Returns:
        How it failed, in one line; empty if it did not.
    """
    status = folder.status()
    metric = next(iter(status.metrics.values()), {})
    score = metric.get("value")
    facts = {
        "EVALBENCH_RUN": folder.id,
        "EVALBENCH_RUN_DIR": str(folder.path),
        "EVALBENCH_STATE": str(status.state),
        "EVALBENCH_SCORE": "" if score is None else f"{score:g}",
        "EVALBENCH_BENCHMARK": one_line(status.benchmark),
        "EVALBENCH_MODEL": one_line(status.model),
        "EVALBENCH_EXIT_CODE": "" if status.exit_code is None else str(status.exit_code),
    }
    # Not a pipe: what the command leaves running in the background may keep it open.
    with tempfile.TemporaryFile() as output:
        ended = await _ended(command, {**os.environ, **facts}, output)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _MOST_LOGGED))
        lines = clean(output.read().decode("utf-8", "replace")).strip().splitlines()
    for line in lines:
        log.info("the --on-end command said: %s", line)
    if not ended:
        log.info("the --on-end command has ended")
        return ""
    problem = f"the --on-end command {ended}"
    if lines:
        problem += f": {one_line(lines[-1])[:_LONGEST_REASON]}"
    log.warning("%s", problem)
    return problem


async def _ended(command: Sequence[str], variables: Mapping[str, str], output: IO[bytes]) -> str:
    """Run a command; returns how it failed, or an empty text."""
    null = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=null, stdout=null, stderr=output, env=variables
        )
    except OSError as error:
        return f"could not be started: {error.strerror or error}"
    except ValueError as error:
        return f"could not be started: {error}"
    try:
        code = await asyncio.wait_for(process.wait(), LONGEST_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"was killed after {LONGEST_S:.0f} s"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with exit code {code}" if code else ""

"""A user-defined command that runs when a run is at rest."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
from collections.abc import Sequence

from evalbench.engine.errors import UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.terminal_text import one_line

log = logging.getLogger("evalbench")

_LONGEST_S = 60.0


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


async def run_hook(command: Sequence[str], folder: RunFolder) -> None:
    """Run the command for one run; the run's facts are in its environment, not its arguments.

    ``EVALBENCH_RUN`` (id), ``EVALBENCH_RUN_DIR``, ``EVALBENCH_STATE``, ``EVALBENCH_SCORE`` (of the
    headline metric; empty if there is none), ``EVALBENCH_BENCHMARK``, ``EVALBENCH_MODEL`` and
    ``EVALBENCH_EXIT_CODE``. Failures are logged and do not affect the run; the command is killed
    after a minute.
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
    null = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=null, stdout=null, env={**os.environ, **facts}
        )
    except (OSError, ValueError) as error:
        log.warning("the command of --on-end could not be started: %s", error)
        return
    try:
        code = await asyncio.wait_for(process.wait(), _LONGEST_S)
    except TimeoutError:
        log.warning("the command of --on-end was ended after %.0f s", _LONGEST_S)
        process.kill()
        await process.wait()
    else:
        log.info("the command of --on-end ended with %d", code)

"""The engine process: drives one or more runs, and handles signals and command files.

Started by :mod:`evalbench.engine.process.launch` in its own session. It reads one line of JSON
from standard input, see :class:`.request.EngineRequest`. Keys are passed this way only: not by
argument, file or environment.

It writes one line to the pipe given by ``--ready-fd``: ``{"ready": PID}`` once every run is
locked and checked, or ``{"error": {...}}``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from evalbench.engine.config import registry
from evalbench.engine.core_dumps import no_core_dumps
from evalbench.engine.cost.budget import Pool
from evalbench.engine.errors import (
    EvalbenchError,
    RunBusy,
    SystemLimit,
    error_to_json,
    system_limit,
)
from evalbench.engine.execution.request import EngineRequest
from evalbench.engine.execution.scoring_watchdog import ScoringWatchdog
from evalbench.engine.keys import ScrubbedFormatter
from evalbench.engine.process.session import RunSession
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.grid import Grid, grid_of, spent_before
from evalbench.engine.runs.status import State

log = logging.getLogger("evalbench")


async def host(request: EngineRequest, ready: Callable[[dict[str, Any]], None]) -> int:
    """Drive the requested runs; returns the highest of their exit codes.

    Runs of local models go one after another, so that each has the whole machine; runs over a
    network go concurrently.
    """
    with ScoringWatchdog() as watch:
        return await _host(request, ready, watch)


async def _host(
    request: EngineRequest, ready: Callable[[dict[str, Any]], None], watch: ScoringWatchdog
) -> int:
    runs: list[RunSession] = []
    try:
        for item in request.runs:
            run = RunSession(item, request.options, watch)
            runs.append(run)
            await run.open()
        _share_budgets(runs)
    except (EvalbenchError, OSError) as error:
        problem = error if isinstance(error, EvalbenchError) else system_limit(error)
        if problem is None:
            raise
        for run in runs:
            await run.abandon()
        ready({"error": error_to_json(problem)})
        return problem.exit_code

    def stop() -> None:
        for run in runs:
            run.halt(State.STOPPING)

    _on_signals(runs, watch)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for run in runs:
        run.claim()
    ready({"ready": os.getpid()})
    starter = asyncio.create_task(_at_end_of_input(stop)) if request.options.foreground else None
    apart: list[Awaitable[int]] = [_to_rest(run) for run in runs if not run.local]
    together = asyncio.gather(*apart)
    codes = [await _to_rest(run) for run in runs if run.local]
    codes += await together
    for run in runs:
        await run.let_go()
    if starter:
        starter.cancel()
    return max(codes)


async def _to_rest(run: RunSession) -> int:
    """Drive a run until it is at rest, then run the user's end hook. Returns its exit code."""
    code = await run.run()
    await run.run_hook()
    return code


def _share_budgets(runs: Sequence[RunSession]) -> None:
    """Create one shared pool of money for each grid.

    Raises:
        RunBusy: a grid has a budget, and another run of it is still being driven.
    """
    grids: dict[str, tuple[Grid, list[RunSession]]] = {}
    for run in runs:
        if grid := grid_of(run.folder):
            grids.setdefault(grid.id, (grid, []))[1].append(run)
    for grid, members in grids.values():
        try:
            apart = spent_before(grid, [run.folder for run in members])
        except RunBusy:
            if grid.budget is not None:
                raise
            # Without a limit nothing has to be known of the others.
            continue
        pool = Pool(grid.budget, apart)
        for run in members:
            run.share(pool)


def _on_signals(runs: Sequence[RunSession], watch: ScoringWatchdog) -> None:
    """SIGTERM and SIGINT stop the runs; a second one no longer waits for calls in flight."""

    def stop() -> None:
        for run in runs:
            run.hurry()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
        # The loop learns of signals through a pipe. The function that replaces its empty handler
        # runs between two instructions, even if scoring blocks the loop.
        signal.signal(number, lambda *_: watch.stop_soon())
        signal.siginterrupt(number, False)


async def _at_end_of_input(stop: Callable[[], None]) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    stop()


def collect_seldom() -> None:
    """Tune the garbage collector for an engine, once everything is imported."""
    # Imports are never garbage; calls in flight are many, and are freed without the collector.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def main() -> None:
    """Entry point of the engine process."""
    no_core_dumps()
    scrubbed = ScrubbedFormatter("%(asctime)s %(levelname)s %(message)s")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    logging.getLogger().handlers[0].setFormatter(scrubbed)
    pipe = int(sys.argv[sys.argv.index("--ready-fd") + 1])

    def ready(message: dict[str, Any]) -> None:
        nonlocal pipe
        if pipe >= 0:
            with contextlib.suppress(OSError):
                os.write(pipe, orjson.dumps(message) + b"\n")
                os.close(pipe)
        # Its number may soon belong to another file.
        pipe = -1

    request = EngineRequest.from_json(orjson.loads(_line(0)))
    registry.hand(request.installed)
    scrubbed.secrets.update(text for run in request.runs for text in run.private_texts())
    code = 6
    collect_seldom()
    try:
        code = asyncio.run(host(request, ready))
    except Exception as error:
        log.exception("the engine crashed")
        limit = system_limit(error)
        if limit:
            code = limit.exit_code
            ready({"error": error_to_json(limit)})
        for run in request.runs:
            _note_crash(RunFolder(run.folder), limit)
    sys.exit(code)


def _note_crash(folder: RunFolder, limit: SystemLimit | None) -> None:
    status = folder.status()
    if status.pid == os.getpid() and not status.at_rest:
        failed = replace(
            status,
            state=State.FAILED,
            exit_code=limit.exit_code if limit else 6,
            problem=str(limit or f"the engine crashed; see {folder.engine_log}"),
        )
        with contextlib.suppress(OSError):
            folder.write_status(failed)


def _line(fd: int) -> bytes:
    """One line, read unbuffered so that nothing after it is consumed."""
    data = bytearray()
    while (byte := os.read(fd, 1)) not in (b"", b"\n"):
        data += byte
    return bytes(data)


if __name__ == "__main__":
    main()

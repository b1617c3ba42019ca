"""``evalbench stop`` and ``evalbench pause``: bring a live run to rest."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from evalbench.engine.errors import UsageError
from evalbench.engine.process.launch import stop_run, wait_for_rest
from evalbench.engine.process.stopping import Stop
from evalbench.engine.runs.folder import RunFolder, find_run, short_id
from evalbench.engine.runs.status import State
from evalbench.tui.cli.output import Out, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.state import figures

_WAIT_S = 30.0
_LOOK_S = 0.1


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; ``stop`` has one more than ``pause``."""
    name = parser.prog.rpartition(" ")[2]
    parser.set_defaults(pause=name == "pause", now=False)
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    if name == "stop":
        parser.add_argument(
            "--now",
            action="store_true",
            help="cancel calls in flight; kill the engine if it does not respond within seconds",
        )
    parser.examples(f"evalbench {name} last", f"evalbench {name} 7854 && evalbench resume 7854")


def execute(args: argparse.Namespace) -> int:
    """Ask the engine, and wait a while for it to stop."""
    folder = find_run(args.run)
    out = stdout()
    before = folder.status()
    stop = None if args.pause else Stop(folder)
    asked = stop.asked if stop else stop_run(folder, pause=True)
    if not asked:
        if before.state in (State.PAUSED, State.WAITING):
            out.line(f"no engine drives {folder.id}; it is {folder.shown_state(before)}")
            return 0
        raise UsageError(
            f"{folder.id} is over: it is {folder.shown_state(before)}",
            why="no engine drives it",
            hint=""
            if before.state is State.COMPLETE
            else f"resume it with: evalbench resume {short_id(folder)}",
        )
    in_flight = before.gauges.get("in_flight", 0)
    if stop and args.now:
        out.line(stop.insist())
    elif not wait_for_rest(folder, 0.5):
        out.line(f"{folder.id} waits for its calls in flight ({in_flight} just now)")
    if not _rests(folder, stop, out):
        out.line(f"still waiting; it will stop by itself: evalbench attach {folder.id}")
        return 0
    status = folder.status()
    samples = figures.counted(status.total, "sample")
    out.line(f"{folder.id} is {folder.shown_state(status)}: {status.done} of {samples}")
    if not status.at_rest or status.done - status.failed < status.total:
        out.line(f"resume it with: evalbench resume {folder.id}")
    return 0


def _rests(folder: RunFolder, stop: Stop | None, out: Out) -> bool:
    """Wait for the run to stop, and escalate if the engine does not respond."""
    end = time.monotonic() + _WAIT_S
    while not wait_for_rest(folder, _LOOK_S):
        if stop and (words := stop.look()):
            out.line(words)
        if time.monotonic() > end:
            return False
    return True

"""``evalbench stop`` and ``evalbench pause``: bring a live run to rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.process import open_run, stop_run, wait_for_rest
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.parser import Parser

_WAIT_S = 30.0


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments; the two commands differ in their name alone."""
    name = parser.prog.rpartition(" ")[2]
    parser.set_defaults(pause=name == "pause")
    parser.add_argument("run", metavar="RUN", help="id, part of it, folder, or: last")
    parser.examples(f"evalbench {name} last", f"evalbench {name} 7854 && evalbench resume 7854")


def execute(args: argparse.Namespace) -> int:
    """Ask the engine, and wait a while for the run to rest."""
    folder = open_run(args.run)
    out = stdout()
    before = folder.status()
    if not stop_run(folder, pause=args.pause):
        out.line(f"no engine drives {folder.id}; it is {folder.shown_state(before)}")
        return 0
    in_flight = before.gauges.get("in_flight", 0)
    if not wait_for_rest(folder, 0.5):
        out.line(f"{folder.id} waits for its calls in flight ({in_flight} just now)")
    if not wait_for_rest(folder, _WAIT_S):
        out.line(f"still waiting; it will rest by itself: evalbench attach {folder.id}")
        return 0
    status = folder.status()
    out.line(
        f"{folder.id} is {folder.shown_state(status)}: {status.done} of {status.total} samples"
    )
    if not status.at_rest or status.done - status.failed < status.total:
        out.line(f"go on with: evalbench resume {folder.id}")
    return 0

"""``evalbench attach``: watch a live run without owning it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.runs.folder import find_run
from evalbench.tui.cli.follow import follow
from evalbench.tui.cli.launch import NO_UI, declare_verbose, in_app, make_view, show_app
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.signals import Signals
from evalbench.tui.state.run_follower import RunFollower, last_event


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument("run", metavar="RUN", help="run ID, part of an ID, folder, or last")
    parser.add_argument("--json", action="store_true", help="print JSON lines (docs/json-lines.md)")
    parser.add_argument("--no-ui", action="store_true", help=NO_UI)
    declare_verbose(parser)
    parser.examples(
        "evalbench attach last",
        "evalbench attach last --no-ui    in one block, without the app",
        "evalbench attach 7854 --json",
    )


def execute(args: argparse.Namespace) -> int:
    """Show it in the app, or follow it to the end; a run that has ended is shown at once."""
    folder = find_run(args.run)
    folder.spec()
    if in_app(args):
        return show_app([RunFollower(folder)], make_view(json=False))
    with Signals() as signals:
        watch = RunFollower(folder, after=last_event(folder))
        return follow(
            [watch], make_view(json=args.json, verbose=args.verbose), signals, owner=False
        )

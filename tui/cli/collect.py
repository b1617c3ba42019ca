"""``evalbench collect``: check the batches of waiting runs once, and take every possible step.

Suitable for a timer: repeating it is harmless, and the exit code says whether all is done.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.process.launch import EngineOptions, resume_runs
from evalbench.engine.runs.folder import RunFolder, all_runs, find_run
from evalbench.engine.runs.status import STILL_WAITING, State
from evalbench.tui.cli import key_hosts
from evalbench.tui.cli.follow import follow
from evalbench.tui.cli.launch import declare_run_dir, make_view
from evalbench.tui.cli.output import stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.signals import Signals
from evalbench.tui.state.batch_words import is_unfetched
from evalbench.tui.state.run_follower import RunFollower, last_event


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="runs to collect (default: all that are waiting)"
    )
    parser.add_argument("--all", action="store_true", help="collect every waiting run")
    parser.add_argument("--json", action="store_true", help="print JSON lines (docs/json-lines.md)")
    key_hosts.declare(parser, "a run")
    declare_run_dir(parser)
    parser.examples(
        "evalbench collect",
        "evalbench collect last && evalbench show last",
        "evalbench collect --all --json | jq .    for programs",
    )


def execute(args: argparse.Namespace) -> int:
    """Process each run separately, so that one run's errors do not affect the others."""
    named = [find_run(name) for name in args.runs]
    waiting = named or [folder for folder in all_runs(args.run_dir) if _has_something_out(folder)]
    if not waiting:
        (stderr() if args.json else stdout()).line("no run waits for batches")
        return 0
    codes = []
    for folder in waiting:
        try:
            codes.append(collected(folder, args))
        except EvalbenchError as error:
            stderr().line(f"{folder.id}: {error}")
            codes.append(error.exit_code)
    return max(codes)


def collected(folder: RunFolder, args: argparse.Namespace, cancel: Sequence[str] = ()) -> int:
    """Take every step that one run can take now; its exit code, 7 while batches are pending.

    Args:
        folder: the run's folder.
        args: parsed arguments, with ``--json`` and ``--allow-host``.
        cancel: batches to cancel first.

    Raises:
        EvalbenchError: it could not be resumed.
    """
    if folder.live_pid() is not None:
        # Its own engine does all that; this only wakes it.
        for name in cancel:
            folder.command("cancel-batch", value=name)
        folder.command("look")
        return STILL_WAITING
    if folder.status().state is State.COMPLETE and not cancel:
        return folder.status().exit_code or 0
    view = make_view(json=args.json, tied=True)
    with Signals() as signals:
        try:
            engine = resume_runs(
                [folder],
                EngineOptions(foreground=True, leave=True, cancel=tuple(cancel)),
                progress=view.preparing,
                allow_hosts=args.allow_host,
                ask_hosts=key_hosts.asks(args, f"run {folder.id}"),
            )
        finally:
            view.close()
        assert engine.hold
        try:
            watches = [RunFollower(folder, after=last_event(folder))]
            return follow(watches, view, signals, owner=True, tied=True)
        finally:
            engine.hold.close()


def _has_something_out(folder: RunFolder) -> bool:
    """Whether a run waits for batches, or has ended without results that may exist by now."""
    status = folder.status()
    if status.state is State.WAITING:
        return True
    if not status.batches:
        return False
    given_up = status.state is State.FAILED and any(map(is_unfetched, status.batches))
    return given_up or folder.live_pid(status) is not None

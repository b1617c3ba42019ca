"""Starting engines for a person or a program: flags, view, signals and following in one place."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from evalbench.engine.errors import EvalbenchError, UsageError
from evalbench.engine.process.launch import Engine, EngineOptions, logout_warning, resume_runs
from evalbench.engine.process.run_keys import keys_bound
from evalbench.engine.runs.status import STILL_WAITING
from evalbench.tui.cli.app import can_show, open_app
from evalbench.tui.cli.closing import print_closing
from evalbench.tui.cli.confirm import can_ask, confirmed
from evalbench.tui.cli.follow import View, follow
from evalbench.tui.cli.output import plain_terminal, stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.pilot import PilotView, tell
from evalbench.tui.cli.signals import Cancelled, Signals
from evalbench.tui.state.run_follower import RunFollower, last_event

NO_UI = "no full-screen app: a live block on a terminal, plain lines elsewhere"


def declare_following(parser: Parser) -> argparse._ArgumentGroup:
    """Flags of every command that starts an engine and follows it, in a section of their own."""
    section = parser.add_argument_group("execution")
    section.add_argument(
        "--json", action="store_true", help="print JSON lines (docs/json-lines.md)"
    )
    section.add_argument("--no-ui", action="store_true", help=NO_UI)
    declare_verbose(section)
    section.add_argument("--detach", action="store_true", help="return once the run has started")
    section.add_argument(
        "--foreground",
        action="store_true",
        help="tie the run to this command, for containers: it ends when the command does",
    )
    section.add_argument(
        "--submit-only",
        action="store_true",
        help="submit batches and exit; fetch results later with evalbench collect",
    )
    section.add_argument(
        "--on-end",
        metavar="CMD",
        help="run this program whenever a run has come to rest, without a shell; "
        "EVALBENCH_RUN, _STATE and _SCORE are in its environment",
    )
    section.add_argument("--yes", action="store_true", help="answer yes to all questions")
    return section


def end_hook(args: argparse.Namespace) -> tuple[str, ...]:
    """The command of ``--on-end`` as program and arguments; empty without one."""
    if args.on_end is None:
        return ()
    from evalbench.engine.process.end_hook import read_command

    return read_command(args.on_end)


def declare_verbose(parser: Parser | argparse._ArgumentGroup) -> None:
    """The flag for details of what happens."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print every event, with its details"
    )


def declare_run_dir(parser: Parser) -> None:
    """The flag that chooses where run folders are."""
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="folder for run folders")


class StoppedBeforeStart(EvalbenchError):
    """Interrupted while the data or the model was being made ready."""

    exit_code = 4


def make_view(*, json: bool, tied: bool = False, verbose: bool = False) -> View:
    """The view that fits: JSON lines if asked for, a live block on a terminal, else plain lines.

    A build server's terminal is a log that somebody reads afterwards: lines.
    """
    out = stdout()
    if json:
        from evalbench.tui.cli.jsonlines import JsonLines

        return JsonLines(out)
    if out.isatty() and not plain_terminal() and not os.environ.get("CI"):
        from evalbench.tui.cli.live import Live

        return Live(out, tied=tied, verbose=verbose)
    from evalbench.tui.cli.plain import Plain

    return Plain(out, verbose=verbose)


def launch(
    args: argparse.Namespace,
    start: Callable[[View], Engine],
    *,
    notes: tuple[str, ...] = (),
    after: int = 0,
    pilot: int | None = None,
) -> int:
    """Start an engine and follow its runs; returns the exit code.

    Args:
        args: with the flags of :func:`declare_following`.
        start: starts the engine; may report through the view's ``preparing``.
        notes: to say first.
        after: id of the last event that is already known (when resuming).
        pilot: the runs pause after so many samples; what they measured is told then,
            and the rest follows.

    Raises:
        EvalbenchError: whatever ``start`` raises; nothing runs then.
    """
    if args.detach and args.foreground:
        raise UsageError("--detach and --foreground contradict each other", hint="give one of them")
    view = make_view(json=args.json, tied=args.foreground, verbose=args.verbose)
    for text in notes:
        view.note(text)
    if stderr().isatty() and (warning := logout_warning()) and not args.foreground:
        stderr().line(f"warning: {warning}")
    shown = pilot is None and not args.foreground and not args.submit_only and in_app(args)
    with Signals() as signals:
        engine = _started(start, view, signals)
        watches = [RunFollower(folder, after=after) for folder in engine.runs]
        if args.detach:
            view.begin(watches)
            view.detached(watches)
            view.close()
            return 0
        if pilot is not None:
            return _follow_pilot(args, engine, watches, view, signals, pilot)
        if not shown:
            code = _follow(engine, watches, view, signals)
            return 0 if args.submit_only and code == STILL_WAITING else code
    return show_app(watches, view)


def in_app(args: argparse.Namespace) -> bool:
    """Whether runs are to be watched in the full-screen app, and it can be shown here."""
    return can_show() and not (args.json or args.no_ui)


def show_app(watches: Sequence[RunFollower], view: View) -> int:
    """Show runs in the app until it is left, then tell how they ended or that they go on.

    Returns:
        The highest exit code of runs that have ended; with none, the app's own.
    """
    code = open_app(run=watches[0].folder if len(watches) == 1 else None)
    for watch in watches:
        watch.look()
    going = [watch for watch in watches if not watch.ended]
    ended = [watch for watch in watches if watch.ended]
    for watch in ended:
        print_closing(stdout(), watch)
    if going:
        view.detached(going)
    return max((watch.exit_code for watch in ended), default=code)


def _follow(engine: Engine, watches: Sequence[RunFollower], view: View, signals: Signals) -> int:
    try:
        return follow(watches, view, signals, owner=True, tied=engine.hold is not None)
    finally:
        if engine.hold:
            with suppress(OSError):
                engine.hold.close()


def _follow_pilot(
    args: argparse.Namespace,
    engine: Engine,
    watches: Sequence[RunFollower],
    view: View,
    signals: Signals,
    samples: int,
) -> int:
    watching = PilotView(view, samples)
    code = _follow(engine, watches, watching, signals)
    if not watching.paused:
        return code
    others = [watch.exit_code for watch in watches if watch not in watching.paused]
    return max([_after_pilot(args, watching.paused, view, signals), *others])


def _after_pilot(
    args: argparse.Namespace, paused: Sequence[RunFollower], view: View, signals: Signals
) -> int:
    """Tell what a pilot measured, ask where somebody can answer, and follow the rest."""
    tell(stdout(), paused, json=args.json)
    if can_ask(json=args.json) and not args.yes and not _go_on(signals):
        for watch in paused:
            view.ended(watch)
        return max(watch.exit_code for watch in paused)
    folders = [watch.folder for watch in paused]
    # They were begun by this very command.
    hosts = [bound.host for bound in keys_bound([folder.spec() for folder in folders])]
    engine = _started(
        lambda view: resume_runs(
            folders,
            EngineOptions(foreground=args.foreground, on_end=end_hook(args)),
            progress=view.preparing,
            allow_hosts=hosts,
        ),
        view,
        signals,
        "stopped after the pilot; resume it with: evalbench resume RUN",
    )
    watches = [RunFollower(folder, after=last_event(folder)) for folder in folders]
    return _follow(engine, watches, view, signals)


def _go_on(signals: Signals) -> bool:
    signals.raising = True
    try:
        return confirmed("Go on with the rest?")
    except Cancelled:
        return False
    finally:
        signals.raising = False


def _started(
    start: Callable[[View], Engine],
    view: View,
    signals: Signals,
    cancelled: str = "stopped before anything was asked",
) -> Engine:
    signals.raising = True
    try:
        return start(view)
    except Cancelled:
        raise StoppedBeforeStart(cancelled) from None
    finally:
        signals.raising = False
        view.close()

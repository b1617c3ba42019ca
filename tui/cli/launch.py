"""Starting engines for users or programs: flags, display, signals and following."""

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
from evalbench.tui.cli.signals import Cancelled, Signals
from evalbench.tui.state.run_follower import RunFollower, last_event

NO_UI = "no full-screen app: a live block on a terminal, plain lines elsewhere"


def declare_following(parser: Parser) -> argparse._ArgumentGroup:
    """Flags of every command that starts an engine and follows it, in their own section."""
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
        help="run this program when a run finishes, pauses or stops (no shell); "
        "EVALBENCH_RUN, _STATE and _SCORE are in its environment",
    )
    section.add_argument("--yes", action="store_true", help="answer yes to all questions")
    return section


def end_hook(args: argparse.Namespace) -> tuple[str, ...]:
    """The ``--on-end`` command as program and arguments; empty if not given."""
    if args.on_end is None:
        return ()
    from evalbench.engine.process.end_hook import read_command

    return read_command(args.on_end)


def declare_verbose(parser: Parser | argparse._ArgumentGroup) -> None:
    """The flag for detailed output."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print every event, with its details"
    )


def declare_run_dir(parser: Parser) -> None:
    """The flag that sets where run folders are."""
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="folder for run folders")


class StoppedBeforeStart(EvalbenchError):
    """Interrupted while the data or the model was being prepared."""

    exit_code = 4


def make_view(*, json: bool, tied: bool = False, verbose: bool = False) -> View:
    """The suitable display: JSON lines if requested, a live block on a terminal, else plain lines.

    On CI, the terminal is a log that is read later, so plain lines are used.
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
        args: parsed arguments, with the flags of :func:`declare_following`.
        start: starts the engine; may report through the view's ``preparing``.
        notes: messages to print first.
        after: id of the last known event (when resuming).
        pilot: number of samples after which the runs pause; the measurements are shown, and the
            rest follows.

    Raises:
        EvalbenchError: whatever ``start`` raises; nothing is running then.
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
    """Whether to watch runs in the full-screen app, if it can be shown here."""
    return can_show() and not (args.json or args.no_ui)


def show_app(watches: Sequence[RunFollower], view: View) -> int:
    """Show runs in the app until the user quits, then print how they ended or that they continue.

    Returns:
        The highest exit code of runs that have ended; if none has, the app's own.
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
    from evalbench.tui.cli.pilot import PilotView

    watching = PilotView(view, samples)
    code = _follow(engine, watches, watching, signals)
    if not watching.paused:
        return code
    others = [watch.exit_code for watch in watches if watch not in watching.paused]
    return max([_after_pilot(args, watching.paused, view, signals), *others])


def _after_pilot(
    args: argparse.Namespace, paused: Sequence[RunFollower], view: View, signals: Signals
) -> int:
    """Print a pilot's measurements, ask if interactive, and follow the rest."""
    from evalbench.tui.cli.pilot import tell

    tell(stdout(), paused, json=args.json)
    if can_ask(json=args.json) and not args.yes and not _go_on(signals):
        for watch in paused:
            view.ended(watch)
        return max(watch.exit_code for watch in paused)
    folders = [watch.folder for watch in paused]
    # They were started by this very command.
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

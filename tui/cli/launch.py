"""Starting engines for a person or a program: flags, view, signals and following in one place."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evalbench.engine.errors import EvalbenchError, UsageError
from evalbench.engine.process import Engine, logout_warning
from evalbench.tui.cli.follow import View, Watch, follow
from evalbench.tui.cli.output import plain_terminal, stderr, stdout
from evalbench.tui.cli.parser import Parser
from evalbench.tui.cli.signals import Cancelled, Signals


def declare_following(parser: Parser) -> None:
    """Flags of every command that starts an engine and follows it."""
    section = parser.add_argument_group("how to run")
    section.add_argument(
        "--json", action="store_true", help="JSON lines on standard output (docs/json-lines.md)"
    )
    section.add_argument(
        "--no-ui", action="store_true", help="no full-screen app: what this version does anyway"
    )
    section.add_argument(
        "--detach", action="store_true", help="return as soon as the run has started"
    )
    section.add_argument(
        "--foreground",
        action="store_true",
        help="end the run when this command ends, however it ends; for containers",
    )
    section.add_argument(
        "--yes", action="store_true", help="answer yes to every question; for scripts"
    )


def declare_run_dir(parser: Parser) -> None:
    """The flag that chooses where run folders are."""
    parser.add_argument("--run-dir", type=Path, metavar="DIR", help="folder that holds the runs")


class StoppedBeforeStart(EvalbenchError):
    """Interrupted while the data or the model was being made ready."""

    exit_code = 4


def make_view(*, json: bool, tied: bool = False) -> View:
    """The view that fits: JSON lines if asked for, a live block on a terminal, else plain lines."""
    out = stdout()
    if json:
        from evalbench.tui.cli.jsonlines import JsonLines

        return JsonLines(out)
    if out.isatty() and not plain_terminal():
        from evalbench.tui.cli.live import Live

        return Live(out, tied=tied)
    from evalbench.tui.cli.plain import Plain

    return Plain(out)


def launch(
    args: argparse.Namespace,
    start: Callable[[View], Engine],
    *,
    notes: tuple[str, ...] = (),
    after: int = 0,
) -> int:
    """Start an engine and follow its runs; returns the exit code.

    Args:
        args: with the flags of :func:`declare_following`.
        start: starts the engine; may report through the view's ``preparing``.
        notes: to say first.
        after: id of the last event that is already known (when resuming).

    Raises:
        EvalbenchError: whatever ``start`` raises; nothing runs then.
    """
    if args.detach and args.foreground:
        raise UsageError("--detach and --foreground contradict each other", cure="give one of them")
    view = make_view(json=args.json, tied=args.foreground)
    for text in notes:
        view.note(text)
    if stderr().isatty() and (warning := logout_warning()) and not args.foreground:
        stderr().line(f"warning: {warning}")
    with Signals() as signals:
        engine = _started(start, view, signals)
        watches = [Watch(folder, after=after) for folder in engine.runs]
        if args.detach:
            view.begin(watches)
            view.detached(watches)
            view.close()
            return 0
        try:
            return follow(watches, view, signals, owner=True, tied=args.foreground)
        finally:
            if engine.hold:
                with suppress(OSError):
                    engine.hold.close()


def _started(start: Callable[[View], Engine], view: View, signals: Signals) -> Engine:
    signals.raising = True
    try:
        return start(view)
    except Cancelled:
        raise StoppedBeforeStart("stopped before anything was asked") from None
    finally:
        signals.raising = False
        view.close()

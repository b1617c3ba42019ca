"""``evalbench`` without a command: the full-screen app."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalbench.tui.cli.output import plain_terminal

if TYPE_CHECKING:
    import argparse

    from evalbench.engine.runs.folder import RunFolder
    from evalbench.tui.cli.parser import Parser


def declare(parser: Parser, words: Sequence[str]) -> None:
    """Arguments."""
    parser.short_usage("")
    parser.add_argument(
        "--web", action="store_true", help="serve the app to a browser on this machine"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help="port for --web (default 8765)", default=8765
    )
    parser.add_argument("--theme", metavar="NAME", help="colour theme for this session")
    parser.add_argument(
        "--low-bandwidth", action="store_true", help="redraw less often (default over SSH)"
    )
    parser.add_argument("--no-mouse", action="store_true", help="do not capture the mouse")


def execute(args: argparse.Namespace) -> int:
    """Open the app, or serve it."""
    if args.web:
        from evalbench.tui.cli.web import serve

        return serve(args.port)
    if not can_show():
        from evalbench.engine.errors import UsageError

        raise UsageError(
            "the full-screen app needs a terminal",
            why="standard input, output or error is not one, or TERM says that it cannot move"
            " its cursor",
            hint="evalbench run BENCHMARK --no-ui, or evalbench --help",
        )
    return open_app(
        theme=args.theme, low_bandwidth=args.low_bandwidth or None, mouse=not args.no_mouse
    )


def can_show() -> bool:
    """Whether a full-screen app can be shown here: a full terminal, or a browser's."""
    if os.environ.get("TEXTUAL_DRIVER"):
        return True
    # Textual draws on standard error: if that goes to a file, nothing would be visible.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream.isatty() for stream in streams) and not plain_terminal()


def open_app(
    *,
    run: RunFolder | None = None,
    theme: str | None = None,
    low_bandwidth: bool | None = None,
    mouse: bool = True,
) -> int:
    """Run the app until the user quits; returns its exit code.

    Args:
        run: open this run's page at once; closing it quits the app.
        theme, low_bandwidth, mouse: override the user's preferences for this session.
    """

    def app() -> int:
        try:
            from evalbench.tui.start_app import show

            return show(run=run, theme=theme, low_bandwidth=low_bandwidth, mouse=mouse)
        except Exception as error:
            from evalbench.tui.cli.problems import report

            return report(error, ["app"])

    if os.environ.get("TEXTUAL_DRIVER"):
        return app()
    from evalbench.tui.guard import guarded

    return guarded(app)

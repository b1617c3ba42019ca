"""``evalbench``: finds the command, runs it, and tells in words and exit code what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence

APP_FLAGS = ("--web", "--port", "--theme", "--low-bandwidth", "--no-mouse")
"""Flags of the full-screen app, which has no command of its own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code (see docs/command-line.md)."""
    if sys.platform == "win32":
        sys.stderr.write("evalbench runs on Linux and macOS; on Windows, run it inside WSL2.\n")
        return 1
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows "?", and no run dies of it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    try:
        return _dispatch(words)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except KeyboardInterrupt:
        return 4
    except Exception as error:
        from evalbench.tui.cli.problems import report

        return report(error, words)


def _dispatch(words: list[str]) -> int:
    if not words or _is_app_flag(words[0]):
        return _app(words)
    from evalbench.tui.cli.commands import COMMANDS, overview
    from evalbench.tui.cli.output import stdout

    if words[0] in ("-h", "--help", "help"):
        stdout().write(overview())
        return 0
    if words[0] == "--version":
        from importlib.metadata import version

        stdout().line(f"evalbench {version('evalbench')}")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        from evalbench.engine.errors import UsageError, nearest

        what = "flag" if name.startswith("-") else "command"
        known = ["--help", "--version", *APP_FLAGS] if what == "flag" else COMMANDS
        raise UsageError(
            f"there is no {what} {name!r}",
            why="flags of a command come after it" if what == "flag" else "",
            cure=nearest(name, known) or "evalbench --help",
        )
    from importlib import import_module

    from evalbench.tui.cli.parser import Parser

    command = COMMANDS[name]
    module = import_module(f"evalbench.tui.cli.{command.module}")
    parser = Parser(name, command.summary)
    module.declare(parser, rest)
    code: int = module.execute(parser.read(rest))
    return code


def _is_app_flag(word: str) -> bool:
    return word.partition("=")[0] in APP_FLAGS


def _app(words: list[str]) -> int:
    """The full-screen app; without a terminal to show it on, the overview."""
    from evalbench.tui.cli import app

    if not words:
        if app.can_show():
            return app.open_app()
        from evalbench.tui.cli.commands import overview
        from evalbench.tui.cli.output import stdout

        stdout().write(overview())
        return 0
    from evalbench.tui.cli.parser import Parser

    parser = Parser("", "open the full-screen app")
    app.declare(parser, words)
    return app.execute(parser.read(words))


if __name__ == "__main__":
    sys.exit(main())

"""``evalbench``: finds the command, runs it, and reports errors in words and exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

APP_FLAGS = ("--web", "--port", "--theme", "--low-bandwidth", "--no-mouse")
"""Flags of the full-screen app, which has no command of its own."""
_IN_THIS_PROCESS = frozenset(
    ("compare", "data", "estimate", "export", "import", "parse", "prompts", "report", "score")
)
"""Commands that read, score or estimate a lot in-process, including plug-in code."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; returns its exit code (see docs/command-line.md)."""
    if sys.platform == "win32":
        sys.stderr.write("evalbench runs on Linux and macOS; on Windows, run it inside WSL2.\n")
        return 1
    if "_ARGCOMPLETE" in os.environ:
        from evalbench.tui.cli.completing import answer

        answer()
        return 0
    words = list(sys.argv[1:] if argv is None else argv)
    from evalbench.engine.core_dumps import no_core_dumps
    from evalbench.tui.cli.output import lost_output, open_streams, stderr

    open_streams()
    no_core_dumps()
    if "EVALBENCH_KEYS_FD" in os.environ:
        from evalbench.engine.keys.inherited import take_inherited

        take_inherited()
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal lacks becomes "?", instead of ending a run.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")
    code = _outcome(words)
    if why := lost_output():
        stderr().line(f"error: not all output could be written: {why}")
        return code or 5
    return code


_QUIET = {
    "HF_HUB_VERBOSITY": "critical",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "critical",
    "DATASETS_VERBOSITY": "critical",
}


def _hush_libraries() -> None:
    """Keep library logs off the terminal, here and in children: our errors say what matters.

    Users who set one of the variables, or ``PYTHONWARNINGS``, get the output they ask for.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import logging
    import warnings

    # Without a handler, the logging module writes warnings to the terminal.
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _outcome(words: list[str]) -> int:
    """The exit code of one command line, however it ends."""
    try:
        return _dispatch(words)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    except KeyboardInterrupt:
        return 4
    except Exception as error:
        try:
            from evalbench.tui.cli.problems import report

            return report(error, words)
        except OSError as failure:
            # Even the modules that report errors cannot be opened.
            return _tell_plainly(failure)


def _tell_plainly(error: OSError) -> int:
    from evalbench.engine.errors import system_limit

    limit = system_limit(error)
    with contextlib.suppress(OSError):
        os.write(2, f"error: {limit or error}\n".encode("utf-8", "replace"))
    return limit.exit_code if limit else 6


def _dispatch(words: list[str]) -> int:
    if not words or _is_app_flag(words[0]):
        return _app(words)
    from evalbench.tui.cli.commands import COMMANDS, overview, parser_of
    from evalbench.tui.cli.output import stdout

    if words[0] in ("-h", "--help", "help"):
        stdout().write(overview())
        return 0
    if words[0] == "--version":
        from evalbench.engine.installed import version

        stdout().line(f"evalbench {version()}")
        return 0
    name, *rest = words
    if name not in COMMANDS:
        from evalbench.engine.errors import UsageError, nearest

        what = "flag" if name.startswith("-") else "command"
        known = ["--help", "--version", *APP_FLAGS] if what == "flag" else COMMANDS
        if name.startswith("python") or name.endswith((".py", ".sh")):
            raise UsageError(
                f"{name} starts a script of another system",
                hint="evalbench translate " + " ".join(words) + "   prints the command of ours",
            )
        raise UsageError(
            f"there is no {what} {name!r}",
            why="flags of a command come after it" if what == "flag" else "",
            hint=nearest(name, known) or "evalbench --help",
        )
    from importlib import import_module

    args = parser_of(name, rest).read(rest)
    _hush_libraries()
    if name in _IN_THIS_PROCESS:
        from evalbench.tui.cli.signals import second_interrupt_ends

        second_interrupt_ends()
    code: int = import_module(f"evalbench.tui.cli.{COMMANDS[name].module}").execute(args)
    return code


def _is_app_flag(word: str) -> bool:
    return word.partition("=")[0] in APP_FLAGS


def _app(words: list[str]) -> int:
    """The full-screen app; the overview if there is no terminal to show it on."""
    from evalbench.tui.cli import app

    if not words:
        if app.can_show():
            return app.open_app()
        from evalbench.tui.cli.commands import overview
        from evalbench.tui.cli.output import stdout

        stdout().write(overview())
        return 0
    from evalbench.tui.cli.commands import parser_of

    return app.execute(parser_of("", words).read(words))


if __name__ == "__main__":
    sys.exit(main())

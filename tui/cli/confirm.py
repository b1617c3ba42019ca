"""Yes-or-no questions, asked only in interactive use."""

from __future__ import annotations

import sys

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.cli import menu
from evalbench.tui.cli.output import stderr, stdout


class Declined(EvalbenchError):
    """The answer was no. Exit code: stopped by the user."""

    exit_code = 4


def can_ask(*, json: bool) -> bool:
    """Whether this command is used interactively, on both input and output."""
    return not json and stdout().isatty() and menu.on_terminal()


def confirmed(question: str) -> bool:
    """Ask and read one line; anything but yes means no."""
    out = stderr()
    out.write(f"{question} [y/N] ")
    out.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

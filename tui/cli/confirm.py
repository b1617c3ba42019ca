"""Yes-or-no questions, asked only of somebody who can answer."""

from __future__ import annotations

import sys

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.cli import menu
from evalbench.tui.cli.output import stderr, stdout


class Declined(EvalbenchError):
    """The answer was no. As an exit code: stopped by the user."""

    exit_code = 4


def can_ask(*, json: bool) -> bool:
    """Whether a person sits at both ends of this command and is not a program's stand-in."""
    return not json and stdout().isatty() and menu.on_terminal()


def confirmed(question: str) -> bool:
    """Ask until the line ends; anything but yes is no."""
    out = stderr()
    out.write(f"{question} [y/N] ")
    out.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

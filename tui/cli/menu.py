"""The Ctrl-C menu on a terminal: leave the run going, stop it, or continue watching."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

from evalbench.tui.cli.output import stderr
from evalbench.tui.cli.signals import Signals

Choice = Literal["detach", "stop", "watch"]

_KEYS: dict[str, Choice] = {"d": "detach", "s": "stop", "c": "watch"}
_LOOK_EVERY_S = 0.1


def on_terminal() -> bool:
    """Whether a menu is possible: a terminal on both sides, with us in its foreground."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


def ask(signals: Signals, *, tied: bool, still_running: Callable[[], bool]) -> Choice:
    """Ask until a key is pressed, the run ends, or a signal decides.

    A second SIGINT detaches (the choice that loses nothing); for a ``tied`` run, which cannot be
    left, it stops the run.
    """
    out = stderr()
    leave = "" if tied else "d detach, "
    out.write(f"\nThe run is still going. {leave}s stop it, c keep watching: ")
    out.flush()
    choice = _wait(signals, tied, still_running)
    out.line(choice)
    return choice


def _wait(signals: Signals, tied: bool, still_running: Callable[[], bool]) -> Choice:
    keyboard = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(keyboard)
    except termios.error:
        return "stop" if tied else "detach"
    try:
        tty.setcbreak(keyboard)
        while still_running():
            if (number := signals.take()) is not None:
                return "stop" if tied or number == signal.SIGTERM else "detach"
            ready, _, _ = select.select([keyboard], [], [], _LOOK_EVERY_S)
            if not ready:
                continue
            key = os.read(keyboard, 1).decode("ascii", "replace").lower()
            if key in _KEYS and not (tied and key == "d"):
                return _KEYS[key]
            if not key:
                return "stop" if tied else "detach"
    except OSError:
        return "stop" if tied else "detach"
    finally:
        # Fails if the terminal is gone; then there is nothing to restore.
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
    return "watch"

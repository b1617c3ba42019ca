"""Getting the user's attention elsewhere: the terminal's title, its bell, a notification."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from evalbench.engine.terminal_text import one_line

if TYPE_CHECKING:
    from textual.app import App

_LONGEST = 200


def tell_title(app: App[Any], text: str) -> None:
    """Set the title of the terminal's window or tab (OSC 2)."""
    _write(app, f"\x1b]2;{_safe(text)}\x1b\\")


def call(app: App[Any], text: str) -> None:
    """Ring the bell, and show a notification if the terminal supports it.

    OSC 9 is understood by iTerm2, WezTerm, kitty, ghostty and Windows Terminal, OSC 777 by urxvt,
    foot and VTE; others ignore them. tmux passes the bell on, and the notification only if it is
    wrapped and ``allow-passthrough`` is on.
    """
    words = _safe(text)
    sequence = f"\x1b]9;{words}\x1b\\\x1b]777;notify;evalbench;{words}\x1b\\"
    if os.environ.get("TMUX"):
        sequence = "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    _write(app, f"\x07{sequence}")


def keep_title(app: App[Any]) -> None:
    """Make the terminal save its current title (XTWINOPS 22)."""
    _write(app, "\x1b[22;2t")


def give_title_back(app: App[Any]) -> None:
    """Restore the terminal's saved title (XTWINOPS 23)."""
    _write(app, "\x1b[23;2t")


def _safe(text: str) -> str:
    # Semicolons separate the parts of such a sequence.
    return one_line(text).replace(";", ",")[:_LONGEST]


def _write(app: App[Any], sequence: str) -> None:
    if app._driver is not None and not app.is_headless:
        app._driver.write(sequence)
        app._driver.flush()

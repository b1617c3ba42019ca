"""Putting text where a person can paste it from."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App


def copy(app: App[int], text: str, what: str) -> None:
    """Copy ``text`` and say, in a toast, what went where.

    tmux drops the escape sequence that terminals take for their clipboard
    unless it is told otherwise, so there its own command is used.
    """
    where = "the terminal's clipboard"
    if os.environ.get("TMUX"):
        try:
            subprocess.run(
                ["tmux", "load-buffer", "-w", "-"],  # noqa: S607
                input=text.encode(),
                timeout=2,
                check=True,
                capture_output=True,
            )
            where = "tmux's buffer and the clipboard"
        except (OSError, subprocess.SubprocessError):
            app.copy_to_clipboard(text)
    else:
        app.copy_to_clipboard(text)
    app.notify(f"{what} copied to {where}", timeout=3, markup=False)

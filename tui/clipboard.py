"""Copying text to the clipboard."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App


def copy(app: App[int], text: str, what: str) -> None:
    """Copy ``text`` and say, in a toast, what was copied and where.

    tmux drops the escape sequence for the terminal's clipboard by default, so its own command is
    used there.
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

"""Showing a text in the user's own pager."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App


def page(app: App[Any], text: str) -> None:
    """Show a text in ``$PAGER``, by default ``less``, and then return to the app.

    The text must contain no terminal sequences. In a browser there is no pager; a toast says so.
    """
    from textual.app import SuspendNotSupported

    try:
        words = shlex.split(os.environ.get("PAGER", "")) or ["less"]
    except ValueError as error:
        told = f"PAGER cannot be read: {error}"
        app.notify(told, severity="warning", markup=False)
        return
    # Only the user may read it, and it is deleted when the pager ends.
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write(text)
        file.flush()
        try:
            with app.suspend():
                ended = subprocess.run([*words, file.name], check=False)
            if ended.returncode > 0:
                told = f"{words[0]} ended with exit code {ended.returncode}"
                app.notify(told, severity="warning", markup=False)
        except SuspendNotSupported:
            app.notify("there is no pager here", severity="warning", markup=False)
        except OSError as error:
            why = error.strerror or str(error)
            told = f"{words[0]} cannot be started: {why}; set PAGER to another program"
            app.notify(told, severity="warning", markup=False)

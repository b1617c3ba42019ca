"""Showing a text in the user's own pager or editor."""

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
    _show(app, text, "PAGER", "less")


def edit(app: App[Any], text: str) -> None:
    """Show a text in ``$VISUAL`` or ``$EDITOR``, by default ``vi``; as :func:`page` otherwise.

    It is a copy: what is changed in it is dropped, and its file can only be read.
    """
    _show(app, text, "VISUAL" if os.environ.get("VISUAL", "").strip() else "EDITOR", "vi")


def _show(app: App[Any], text: str, variable: str, default: str) -> None:
    """Open a file with this text in the program that a variable names."""
    from textual.app import SuspendNotSupported

    try:
        words = shlex.split(os.environ.get(variable, "")) or [default]
    except ValueError as error:
        problem = f"{variable} cannot be read: {error}"
        app.notify(problem, severity="warning", markup=False)
        return
    # Only the user may read it, and it is deleted when the program ends.
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        # Half of a surrogate pair cannot be written as it is.
        file.write(text.encode("utf-8", "backslashreplace"))
        file.flush()
        os.chmod(file.fileno(), 0o400)
        try:
            with app.suspend():
                problem = _run([*words, file.name], variable)
        except SuspendNotSupported:
            problem = "no other program can be shown here"
    if problem:
        app.notify(problem, severity="warning", markup=False)


def _run(words: list[str], variable: str) -> str:
    """Run a program to its end; what went wrong, or nothing.

    It raises nothing: an exception would leave the app suspended.
    """
    try:
        ended = subprocess.run(words, check=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return f"{words[0]} cannot be started: {why}; set {variable} to another program"
    return f"{words[0]} ended with exit code {ended.returncode}" if ended.returncode > 0 else ""

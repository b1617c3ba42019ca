"""Starting the full-screen app, in the process that draws it."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evalbench.engine.runs.folder import RunFolder


def show(
    *,
    run: RunFolder | None = None,
    theme: str | None = None,
    low_bandwidth: bool | None = None,
    mouse: bool = True,
) -> int:
    """Run the app until the user quits; returns its exit code. See ``cli.app.open_app``.

    Raises:
        UsageError: there is no such theme.
        Exception: what ended the app.
    """
    # Nothing created from here to the first frame is garbage. The app re-enables collection.
    gc.disable()
    from evalbench.tui.state.preferences import is_low_bandwidth, load_preferences

    preferences = load_preferences()
    if theme:
        _check_theme(theme)
        preferences.theme = theme
    preferences.mouse = preferences.mouse and mouse
    low = is_low_bandwidth(preferences) if low_bandwidth is None else low_bandwidth
    prepare_environment(low=low)
    from evalbench.tui.app import EvalbenchApp

    app = EvalbenchApp(preferences, run=run, low_bandwidth=low)
    code = app.run(mouse=preferences.mouse)
    if app.crash is not None:
        raise app.crash
    return code or 0


def _check_theme(name: str) -> None:
    from evalbench.engine.errors import UsageError, nearest
    from evalbench.tui.state.theme_files import theme_names

    if name not in (names := theme_names()):
        raise UsageError(f"there is no theme {name!r}", hint=nearest(name, names))


def prepare_environment(*, low: bool) -> None:
    """Set Textual's switches. They are read on import."""
    os.environ.setdefault("TEXTUAL_FPS", "15" if low else "30")
    if low:
        os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
        os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")

"""Shown instead of a page while the terminal is too small for it."""

from __future__ import annotations

from evalbench.tui.widgets.text import Plain

SMALLEST = (60, 16)
"""Minimum columns and rows of a page."""


class TooSmall(Plain):
    """Covers its page."""

    DEFAULT_CSS = """
    TooSmall {
        layer: notice;
        dock: top;
        width: 100%;
        height: 100%;
        background: $background;
    }
    """

    def __init__(self) -> None:
        columns, rows = SMALLEST
        super().__init__(f"evalbench needs {columns}×{rows}. ctrl+q quits; runs keep going.")

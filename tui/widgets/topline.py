"""The first line of a page: its name, and the key facts."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from evalbench.engine.terminal_text import cells_only, one_line
from evalbench.tui.state.cells import cell
from evalbench.tui.widgets.text import Plain

_LEAST_LEFT = 24
"""Cells for the name of the page that the right part always leaves."""


class TopLine(Plain):
    """Page name on the left, a few words on the right. Fits itself to the width."""

    def __init__(self, left: str, right: str = "") -> None:
        super().__init__()
        self._left, self._right = left, right

    def tell(self, left: str | None = None, right: str | None = None) -> None:
        """Change the text."""
        earlier = self._left, self._right
        self._left = self._left if left is None else left
        self._right = self._right if right is None else right
        if (self._left, self._right) != earlier:
            self.refresh()

    def render(self) -> Content:
        """One line, whatever the width."""
        width = self.size.width
        right = cells_only(one_line(self._right))
        if cell_len(right) > width - _LEAST_LEFT:
            right = cell(right, width - _LEAST_LEFT)
        right = f" {right} " if right else ""
        left = cell(f"evalbench · {self._left}", width - 1 - cell_len(right))
        return Content(f" {left}{right}")

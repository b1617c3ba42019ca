"""Texts cut and padded by terminal cells: a wide glyph takes two, a combining mark none."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size

from evalbench.engine.terminal_text import cells_only, one_line
from evalbench.tui.state.names import Name


def cell(text: str, width: int, *, right: bool = False) -> str:
    """One line of exactly ``width`` terminal cells, cut with an ellipsis.

    A :class:`Name` is cut so that it remains distinguishable from the others. Joiners and other
    zero-width characters are dropped.
    """
    if width <= 0:
        return ""
    line = text.fit(width) if isinstance(text, Name) else one_line(text[: 4 * width + 64])
    line = cells_only(line)
    gap = " " * (width - cell_len(line))
    return cut(gap + line if right else line + gap, width)


def cut(text: str, width: int) -> str:
    """At most ``width`` cells of a text's beginning, with an ellipsis if it is longer."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def widest(texts: Iterable[str]) -> int:
    """The cells that the widest of these texts takes; 0 if there is none."""
    return max(map(cell_len, texts), default=0)

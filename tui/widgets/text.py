"""Text from anywhere, shown as text: never markup, no control characters."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widgets import Static

from evalbench.tui.state.clean import clean, one_line

LONGEST = 20_000
"""Characters of one text that a screen lays out; more would stall it."""

MOST_LINES = 1000
"""Lines of one text that a screen lays out."""


def plain(text: str, style: str = "") -> Content:
    """External text as content without markup; very long text is cut, and says so."""
    # Cut first: cleaning a megabyte takes as long as many frames.
    kept = text[:LONGEST]
    if kept.count("\n") > MOST_LINES:
        kept = "\n".join(kept.split("\n", MOST_LINES)[:MOST_LINES])
    shown = clean(kept)
    if len(kept) < len(text):
        shown += f"\n… {len(text) - len(kept):,} more characters"
    return Content(shown).stylize(style) if style else Content(shown)


def cell(text: str, width: int, *, right: bool = False) -> str:
    """One line of exactly ``width`` terminal cells, cut with an ellipsis.

    Joiners and other characters without a width are left out: terminals
    disagree on how wide what they join is.
    """
    if width <= 0:
        return ""
    line = one_line(text[: 4 * width + 64])
    if not line.isascii():
        line = "".join(c for c in line if unicodedata.category(c) not in ("Cf", "Mn", "Me"))
    wide = cell_len(line)
    if wide > width:
        return set_cell_size(line, width - 1) + "…"
    gap = " " * (width - wide)
    return gap + line if right else line + gap


class Plain(Static):
    """A block of text that is never read as markup. Redraws only when the text changed."""

    def __init__(
        self, text: str = "", *, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(plain(text), markup=False, id=id, classes=classes)
        self._shown = text

    def show(self, text: str) -> None:
        """Replace the text."""
        if text != self._shown:
            self._shown = text
            self.update(plain(text))

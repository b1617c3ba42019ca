"""A block of short lines that redraws only the cells that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip

from evalbench.engine.terminal_text import cells_only, clean
from evalbench.tui.state.names import Name
from evalbench.tui.widgets.layout import LaidOutOnce

TONES = ("dim", "good", "bad", "warn", "strong", "accent", "faint")


class Elastic(Protocol):
    """A part of a line that takes the remaining space: a bar, a sparkline."""

    def draw(self, width: int) -> list[tuple[str, str]]:
        """(text, tone) pieces of at most ``width`` cells."""
        ...


Piece = str | tuple[str, str] | Elastic
"""Text, text and tone, or something elastic. Foreign text is safe."""

Line = Sequence[Piece]

_Cells = list[tuple[str, str]]


class Lines(LaidOutOnce):
    """Lines of pieces; as high as there are lines, each cut off on the right.

    :meth:`show` compares with what is drawn and repaints a line from its first to its last changed
    cell.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {f"lines--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    Lines { height: auto; }
    Lines .lines--dim { color: $text-muted; }
    Lines .lines--faint { color: $foreground 30%; }
    Lines .lines--good { color: $text-success; }
    Lines .lines--bad { color: $text-error; }
    Lines .lines--warn { color: $text-warning; }
    Lines .lines--accent { color: $text-primary; }
    Lines .lines--strong { text-style: bold; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: Sequence[Line] = ()
        self._drawn: list[_Cells] = []
        self._width = 0

    def show(self, lines: Sequence[Line]) -> None:
        """Replace the lines."""
        taller = len(lines) != len(self._lines)
        self._lines = lines
        before = self._drawn
        self._lay_out()
        if taller:
            self.refresh(layout=True)
            return
        for y, (old, new) in enumerate(zip(before, self._drawn, strict=False)):
            if (changed := _difference(old, new)) is not None:
                left, right = changed
                self.refresh(Region(left, y, right - left, 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """One row for every line."""
        return len(self._lines)

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()
        self.refresh()

    def _lay_out(self) -> None:
        self._width = self.size.width
        self._drawn = [_fit(line, self._width) for line in self._lines]

    def render_line(self, y: int) -> Strip:
        """The line at ``y`` of the widget."""
        base = self.rich_style
        if self._width != self.size.width:
            self._lay_out()
        if y >= len(self._drawn):
            return Strip.blank(self.size.width, base)
        segments = [Segment(text, base + self._tone(tone)) for text, tone in self._drawn[y]]
        return Strip(Segment.simplify(segments)).adjust_cell_length(self.size.width, base)

    def _tone(self, tone: str) -> Style:
        if not tone:
            return Style.null()
        # Whole, not partial: muted text is blended with its background.
        return self.get_component_rich_style(f"lines--{tone}")


def _fit(line: Line, width: int) -> _Cells:
    """The line as (text, tone) in exactly ``width`` cells."""
    pieces = [_safe(piece) if isinstance(piece, (str, tuple)) else piece for piece in line]
    fixed = sum(cell_len(piece[0]) for piece in pieces if isinstance(piece, tuple))
    spare = max(0, width - fixed)
    fitted: _Cells = []
    left = width
    for piece in pieces:
        if not isinstance(piece, tuple):
            drawn = piece.draw(min(spare, left))
        elif cell_len(piece[0]) > left:
            drawn = [(_cut(piece[0], left), piece[1])] if left else []
        else:
            drawn = [piece]
        fitted += drawn
        left -= sum(cell_len(text) for text, _ in drawn)
    return [*fitted, (" " * left, "")]


def _safe(piece: str | tuple[str, str]) -> tuple[str, str]:
    """Text and tone, without anything that would move or join the text around it."""
    text, tone = piece if isinstance(piece, tuple) else (piece, "")
    if isinstance(text, Name):
        return text, tone
    return cells_only(clean(text).replace("\n", " ").replace("\t", " ")), tone


def _cut(text: str, width: int) -> str:
    """The beginning of a text, or a name's distinguishing part, in at most ``width`` cells."""
    return text.fit(width) if isinstance(text, Name) else set_cell_size(text, width - 1) + "…"


def _difference(old: _Cells, new: _Cells) -> tuple[int, int] | None:
    """The range from the first to the last cell that differs; None if none does.

    The whole line if characters are wider than a cell.
    """
    if old == new:
        return None
    before = [(character, tone) for text, tone in old for character in text]
    after = [(character, tone) for text, tone in new for character in text]
    wide = any(not text.isascii() and cell_len(text) != len(text) for text, _ in [*old, *new])
    if wide or len(before) != len(after):
        return 0, max(len(before), len(after)) * 2
    changed = [n for n, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    return (changed[0], changed[-1] + 1) if changed else None

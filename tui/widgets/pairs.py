"""Names and what they stand for, in two columns; long texts go on under themselves."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from evalbench.tui.widgets.text import cell, plain

Pair = tuple[str, str, str]
"""Name, text, and the text's style: a theme variable such as ``$text-error``, or empty."""

_NAMES_WIDTH = 12


class Pairs(Widget):
    """Pairs, one below the other. A name that is the one above is left out."""

    DEFAULT_CSS = "Pairs { height: auto; }"

    def __init__(self, pairs: Sequence[Pair] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pairs = pairs

    def show(self, pairs: Sequence[Pair]) -> None:
        """Show these instead."""
        if pairs != self._pairs:
            self._pairs = pairs
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the texts take in ``width`` cells."""
        return len(self._lines(width))

    def render(self) -> RenderResult:
        """All pairs."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        room = max(1, width - _NAMES_WIDTH)
        lines: list[Content] = []
        above = ""
        for name, text, style in self._pairs:
            shown = "" if name == above else name
            above = name
            for wrapped in plain(text, style).wrap(room) or [Content("")]:
                head = Content(cell(shown, _NAMES_WIDTH - 1) + " ").stylize("$text-muted")
                lines.append(head + wrapped)
                shown = ""
        return lines

"""Names and values in two columns; long values wrap within their column."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size

from evalbench.tui.state.cells import cell
from evalbench.tui.widgets.layout import LaidOutOnce
from evalbench.tui.widgets.text import plain

TONES = ("dim", "good", "bad", "warn", "strong")

Pair = tuple[str, str, str]
"""Name, text, and the text's tone: one of :data:`TONES`, or empty."""

_NAMES_WIDTH = 12


class Pairs(LaidOutOnce):
    """Pairs, one per line. A name equal to the one above is omitted."""

    COMPONENT_CLASSES = {f"pairs--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    Pairs { height: auto; }
    Pairs .pairs--dim { color: $text-muted; }
    Pairs .pairs--good { color: $text-success; }
    Pairs .pairs--bad { color: $text-error; }
    Pairs .pairs--warn { color: $text-warning; }
    Pairs .pairs--strong { text-style: bold; }
    """

    def __init__(self, pairs: Sequence[Pair] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._pairs = pairs
        self._laid: tuple[Sequence[Pair], int, list[Content]] | None = None

    def notify_style_update(self) -> None:
        """The tones may have other colours."""
        self._laid = None
        super().notify_style_update()

    def show(self, pairs: Sequence[Pair]) -> None:
        """Replace the pairs."""
        if pairs != self._pairs:
            before = self._rows()
            self._pairs = pairs
            # A layout change rewrites the whole screen.
            self.refresh(layout=before is None or before != self._rows())

    def _rows(self) -> int | None:
        """How many rows are shown; None while unknown."""
        width = self.size.width
        return len(self._lines(width)) if self.is_mounted and width else None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many rows as the texts need in ``width`` cells."""
        return len(self._lines(width))

    def render(self) -> RenderResult:
        """All pairs."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        """The pairs in this width, kept for the next question about them."""
        if self._laid and self._laid[0] is self._pairs and self._laid[1] == width:
            return self._laid[2]
        lines = self._lay(width)
        self._laid = self._pairs, width, lines
        return lines

    def _lay(self, width: int) -> list[Content]:
        room = max(1, width - _NAMES_WIDTH)
        lines: list[Content] = []
        above = ""
        for name, text, tone in self._pairs:
            shown = "" if name == above else name
            above = name
            for wrapped in self._toned(plain(text), tone).wrap(room) or [Content("")]:
                head = Content(cell(shown, _NAMES_WIDTH - 1) + " ")
                lines.append(self._toned(head, "dim") + wrapped)
                shown = ""
        return lines

    def _toned(self, text: Content, tone: str) -> Content:
        return text.stylize(self.get_visual_style(f"pairs--{tone}")) if tone else text

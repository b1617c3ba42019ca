"""Current and peak usage, as part of a line."""

from __future__ import annotations

from dataclasses import dataclass

from evalbench.tui.widgets.bar import FULL, REST

_PEAK = "┃"
_HOT = 0.9


@dataclass(frozen=True, slots=True)
class Gauge:
    """A bar with a mark at the peak. Fills the space left by its line.

    Attributes:
        used, peak, total: in the same unit; ``peak`` None: unknown.
        tone: tone of the full part below nine tenths; above that it warns.
    """

    used: float
    peak: float | None
    total: float
    tone: str = "good"

    def draw(self, width: int) -> list[tuple[str, str]]:
        """(text, tone) pieces of exactly ``width`` cells."""
        if width <= 0 or self.total <= 0:
            return [(" " * max(0, width), "")]
        full = self._cell(self.used, width)
        tone = "warn" if self.used / self.total >= _HOT else self.tone
        pieces = [(FULL * full, tone), (REST * (width - full), "faint")]
        if self.peak is None or self._cell(self.peak, width) <= full:
            return pieces
        mark = self._cell(self.peak, width) - full - 1
        rest = width - full - mark - 1
        return [pieces[0], (REST * mark, "faint"), (_PEAK, "warn"), (REST * rest, "faint")]

    def _cell(self, value: float, width: int) -> int:
        return min(width, max(0, round(value / self.total * width)))

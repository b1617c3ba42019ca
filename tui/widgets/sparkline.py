"""A row of small columns in one colour, as part of a line.

Textual's own sends a colour sequence for every cell, sixteen times as many bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STEPS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Values from 0 up, the newest on the right. Fills the space left by its line.

    Attributes:
        top: the value of a full column; 0: the greatest value shown.
        gaps: whether nothing is drawn for zero.
    """

    values: Sequence[float]
    tone: str = "accent"
    top: float = 0.0
    gaps: bool = False

    def draw(self, width: int) -> list[tuple[str, str]]:
        """(text, tone) pieces of exactly ``width`` cells."""
        shown = self.values[-width:] if width > 0 else ()
        top = self.top or max(shown, default=0.0)
        columns = "".join(
            " "
            if self.gaps and not value
            else STEPS[min(len(STEPS) - 1, int(value / top * len(STEPS)))]
            if top > 0
            else STEPS[0]
            for value in shown
        )
        return [(columns + " " * (width - len(columns)), self.tone)]

"""A bar as part of a line: how much of a whole."""

from __future__ import annotations

from dataclasses import dataclass

FULL, REST = "━", "─"


@dataclass(frozen=True, slots=True)
class Bar:
    """Fills the room that the rest of its line leaves.

    Attributes:
        share: from 0 to 1; anything beyond is cut.
        tone: of the full part.
        most: cells it takes at most; 0: all there are.
    """

    share: float
    tone: str = "good"
    most: int = 0

    def draw(self, width: int) -> list[tuple[str, str]]:
        """(text, tone) pieces of exactly ``width`` cells."""
        room = min(width, self.most) if self.most else width
        share = min(1.0, max(0.0, self.share))
        # A little is not nothing, and nearly all is not all.
        full = round(share * room)
        if 0 < share < 1 and room > 1:
            full = min(room - 1, max(1, full))
        return [(FULL * full, self.tone), (REST * (room - full) + " " * (width - room), "faint")]

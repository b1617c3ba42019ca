"""A progress bar as part of a line."""

from __future__ import annotations

from dataclasses import dataclass

FULL, REST = "━", "─"


@dataclass(frozen=True, slots=True)
class Bar:
    """Fills the space left by the rest of its line.

    Attributes:
        share: from 0 to 1; clamped.
        tone: tone of the full part.
        most: maximum width in cells; 0: unlimited.
    """

    share: float
    tone: str = "good"
    most: int = 0

    def draw(self, width: int) -> list[tuple[str, str]]:
        """(text, tone) pieces of ``width`` cells, or of ``most``: what follows stays next to it."""
        room = min(width, self.most) if self.most else width
        share = min(1.0, max(0.0, self.share))
        # Only zero is drawn empty, and only a complete share is drawn full.
        full = round(share * room)
        if 0 < share < 1 and room > 1:
            full = min(room - 1, max(1, full))
        return [(FULL * full, self.tone), (REST * (room - full), "faint")]

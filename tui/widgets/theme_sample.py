"""A few lines of the app in the colours of a theme that need not be the current one."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

_PLAIN, _DIM = "foreground", "text-muted"

_LINES = (
    ("panel", ((" evalbench · Home ", _PLAIN),)),
    ("background", ((" ✓ ", "text-success"), ("large     94.4 % ", _PLAIN), ("(86–98)", _DIM))),
    ("block-cursor-background", ((" ▸ small     56.2 % ", "block-cursor-foreground"),)),
    ("background", ((" ✗ tiny      ", "text-error"), ("no credit", _DIM))),
    ("panel", ((" enter ", "footer-key-foreground"), ("Open  ", _PLAIN), ("!", "text-warning"))),
)
"""Background of each line, and its words with their colours, by the theme's variables."""


class ThemeSample(Widget):
    """Shows a theme without applying it, which would restyle and repaint the whole screen."""

    ALLOW_SELECT = False
    DEFAULT_CSS = f"""
    ThemeSample {{ height: {len(_LINES)}; }}
    """

    _variables: Mapping[str, str] | None = None

    def show(self, theme: Theme) -> None:
        """Show this theme."""
        self._variables = {**theme.to_color_system().generate(), **theme.variables}
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line at ``y``."""
        width = self.size.width
        if not self._variables or y >= len(_LINES):
            return Strip.blank(width, self.rich_style)
        ground, pieces = _LINES[y]
        styles = [self._style(name, ground) for _, name in pieces]
        segments = [Segment(words, style) for (words, _), style in zip(pieces, styles, strict=True)]
        return Strip(segments).adjust_cell_length(width, styles[-1])

    def _style(self, name: str, ground: str) -> Style:
        assert self._variables
        behind = _colour(self._variables["background"])
        if (above := self._variables[ground]) != "transparent":
            behind += _colour(above)
        colour = behind + _colour(self._variables[name])
        style = Style(color=colour.rich_color, bgcolor=behind.rich_color)
        if ground.startswith("block-cursor"):
            style += Style.parse(self._variables["block-cursor-text-style"])
        return style


def _colour(text: str) -> Color:
    """A variable's colour: ``#24282F``, ``ansi_red``, or ``auto 60%`` against its background."""
    name, _, share = text.rpartition(" ") if text.endswith("%") else (text, "", "100%")
    percent = float(share.rstrip("%"))
    if name == "auto":
        return Color.automatic(percent)
    colour = Color.parse(name)
    return colour if colour.ansi is not None else colour.multiply_alpha(percent / 100)

"""A page shown dimmed behind a dialog."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.css.styles import RulesMap
from textual.renderables.background_screen import BackgroundScreen
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual


class Backdrop(Visual):
    """Textual's dialog background, blended once per style instead of once per text segment.

    A page does not change while a dialog covers it, so one rendering suffices until the size or the
    colours change.
    """

    def __init__(self) -> None:
        self._page: BackgroundScreen | None = None
        self._of: object = None
        self._strips: list[Strip] = []

    def of(self, page: BackgroundScreen, theme: str) -> Backdrop:
        """The rendering of this page with this theme."""
        seen = (page.screen, page.color, page.screen.size, theme)
        if seen != self._of:
            self._of, self._page, self._strips = seen, page, []
        return self

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """See ``Visual``."""
        if self._page is not None and not self._strips:
            mixed: dict[RichStyle | None, RichStyle | None] = {}

            def dim(segment: Segment) -> Segment:
                if segment.style not in mixed:
                    (found,) = BackgroundScreen.process_segments([segment], color)
                    mixed[segment.style] = found.style
                return Segment(segment.text, mixed[segment.style])

            color = self._page.color
            self._strips = [
                Strip(map(dim, strip), strip.cell_length)
                for strip in self._page.screen._compositor.render_strips()
            ]
        return self._strips

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """See ``Visual``."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        """See ``Visual``."""
        return len(self._strips)

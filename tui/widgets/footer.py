"""The last line of a page: its keys and their commands."""

from __future__ import annotations

from typing import NamedTuple

from rich.segment import Segment
from textual import events
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget


class _Key(NamedTuple):
    key: str
    text: str
    title: str
    help: str
    enabled: bool

    @property
    def width(self) -> int:
        return len(self.text) + len(self.title) + 3


_LAST = 2


class Footer(Widget):
    """The commands shown in the footer, in one line; they can be clicked too.

    Textual's own footer makes a widget for every key, and recreates them all whenever one is
    disabled, which takes longer than drawing a page.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {"footer--key", "footer--title", "footer--disabled", "footer--hover"}
    DEFAULT_CSS = """
    Footer {
        dock: bottom;
        height: 1;
        background: $panel;
        color: $footer-foreground;
    }
    Footer .footer--key {
        color: $footer-key-foreground; background: $footer-key-background; text-style: bold;
    }
    Footer .footer--title {
        color: $footer-description-foreground; background: $footer-description-background;
    }
    Footer .footer--hover { background: $block-hover-background; }
    /* What cannot be done now: neither bold nor coloured, but legible. */
    Footer .footer--disabled { color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[_Key, ...] = ()
        self._hovered: _Key | None = None

    def on_mount(self) -> None:
        """Watch for keys that are added, removed or disabled."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if self._keys and not self.app.app_focus:
            # Without its focus a page has fewer keys; it gets them back with it.
            return
        keys: dict[str, _Key] = {}
        for _, binding, enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in keys:
                text = self.app.get_key_display(binding)
                keys[binding.action] = _Key(
                    binding.key, text, binding.description, tooltip, enabled
                )
        if (shown := tuple(keys.values())) != self._keys:
            self._keys = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        width, base = self.size.width, self.rich_style
        segments: list[Segment] = []
        for key in self._fitting():
            names = ("key", "title") if key.enabled else ("disabled", "disabled")
            styles = [self.get_component_rich_style(f"footer--{name}") for name in names]
            if key == self._hovered:
                over = self.get_component_rich_style("footer--hover").background_style
                styles = [style + over for style in styles]
            # Without colours, weight alone would tell what cannot be done now.
            opens, closes = "()" if self.app.no_color and not key.enabled else "  "
            segments += [
                Segment(f"{opens}{key.text} ", styles[0]),
                Segment(f"{key.title}{closes}", styles[1]),
            ]
        return Strip(segments).adjust_cell_length(width, base)

    def _fitting(self) -> list[_Key]:
        """The keys there is room for, sooner those of what can be done now.

        The last two, help and the way back, always are.
        """
        keys, room = list(self._keys), self.size.width + 1
        while len(keys) > _LAST and sum(key.width for key in keys) > room:
            idle = [at for at, key in enumerate(keys[:-_LAST]) if not key.enabled]
            del keys[idle[-1] if idle else -_LAST - 1]
        return keys

    # -- mouse -------------------------------------------------------------------

    def _at(self, x: int) -> _Key | None:
        """The key at this position."""
        for key in self._fitting():
            if x < key.width:
                return key
            x -= key.width
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Highlight the key under the mouse, and show its tooltip."""
        if (key := self._at(event.x)) != self._hovered:
            self._hovered = key
            self.tooltip = key.help if key else None
            self.refresh()

    def on_leave(self) -> None:
        """Remove the highlight."""
        self._hovered = None
        self.refresh()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Run the key's command; one that is disabled says why."""
        if key := self._at(event.x):
            self.app.simulate_key(key.key)

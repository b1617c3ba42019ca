"""Widgets that look the same with and without the focus, or paint it themselves."""

from __future__ import annotations

from textual import events
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from evalbench.tui.bindings import bindings


class PaintsFocus(Widget):
    """Is not restyled when the focus comes or goes; ``:focus`` has no effect on it.

    Textual restyles and repaints such a widget with everything in it, which takes longer than all
    else that a key does. List it as the second base class: style sheets are inherited from the
    first.
    """

    def on_focus(self, event: events.Focus) -> None:
        """Take note."""
        event.prevent_default()
        self._note(True, events.DescendantFocus(self))

    def on_blur(self, event: events.Blur) -> None:
        """Take note."""
        event.prevent_default()
        self._note(False, events.DescendantBlur(self))

    def _note(self, has_focus: bool, message: Message) -> None:
        self.set_reactive(Widget.has_focus, has_focus)
        self.light(has_focus)
        if isinstance(self.parent, Widget):
            self.parent.post_message(message)

    def light(self, lit: bool) -> None:
        """Look like the focused widget, or not. Does nothing here."""


class Scroll(VerticalScroll, PaintsFocus):
    """A column that scrolls, by the keys of every list."""

    BINDINGS = bindings("list")

    def action_down(self) -> None:
        """See ``commands.py``."""
        self.action_scroll_down()

    def action_up(self) -> None:
        """See ``commands.py``."""
        self.action_scroll_up()

    def action_first(self) -> None:
        """See ``commands.py``."""
        self.action_scroll_home()

    def action_last(self) -> None:
        """See ``commands.py``."""
        self.action_scroll_end()

"""Widgets that look the same with and without the focus, or paint it themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from rich.style import Style
from textual import events
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from evalbench.tui.bindings import bindings

Result = TypeVar("Result")

_BOLD = Style(bold=True)


class PaintsFocus(Widget):
    """Is not restyled when the focus comes or goes; ``:focus`` has no effect on it.

    Textual restyles and repaints such a widget with everything in it, which takes longer than all
    else that a key does. List it as the second base class: style sheets are inherited from the
    first.
    """

    _PSEUDO_CLASSES: ClassVar[dict[str, Callable[[Widget], bool]]] = {
        **Widget._PSEUDO_CLASSES,
        "focus": lambda _: False,
    }

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


class Lights(Widget):
    """Is told in time for the same frame when the focus enters or leaves it."""

    def light_within(self, lit: bool) -> None:
        """Look like what has the focus in it, or not: its frame, if it has one.

        With a style sheet (``:focus-within``), all that is in it would be restyled.
        """
        if kind := self.styles.border_top[0]:
            # Without asking for a repaint: the colour does, and of the frame alone.
            self.styles.inline.set_rule("border_title_style", _BOLD if lit else None)
            colour = self.app.theme_variables["primary" if lit else "panel-lighten-2"]
            self.styles.border = kind, colour

    def notify_style_update(self) -> None:
        """Another theme has other colours."""
        super().notify_style_update()
        if self.styles.inline.has_rule("border_top"):
            self.light_within(self.has_focus_within)


class FocusScreen(Screen[Result]):
    """Restyles and repaints little when the focus moves."""

    def _update_focus_styles(
        self, focused: Widget | None = None, blurred: Widget | None = None
    ) -> None:
        """Restyle what is framed by ``:focus-within``, except what paints its own focus.

        Textual also restyles what had the focus within before and after.
        """
        left, entered = _chain(blurred), _chain(focused)
        changed = {
            node
            for frame in {*left} ^ {*entered}
            if frame._has_focus_within
            for node in frame.walk_children(with_self=True)
            if not isinstance(node, PaintsFocus)
        }
        if changed:
            self.app.stylesheet.update_nodes(changed, animate=True)
        for frame in {*left} ^ {*entered}:
            if isinstance(frame, Lights):
                frame.light_within(frame in entered)
        self.focus_moved()

    def focus_moved(self) -> None:
        """Another widget has the focus, or none; what changes here is in the same frame."""


def _chain(widget: Widget | None) -> list[Widget]:
    """A widget and those around it."""
    around = widget.ancestors_with_self if widget else ()
    return [one for one in around if isinstance(one, Widget)]


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

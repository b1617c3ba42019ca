"""Base class of the app's pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on
from textual.binding import Binding
from textual.reactive import Reactive
from textual.widget import Widget
from textual.widgets import Input

from evalbench.tui.bindings import bindings
from evalbench.tui.clipboard import copy
from evalbench.tui.commands import commands
from evalbench.tui.repaint import DirtyLines
from evalbench.tui.widgets.focus import FocusScreen
from evalbench.tui.widgets.text import Plain

if TYPE_CHECKING:
    from evalbench.tui.app_interface import AppInterface

SMALLEST = (60, 16)
"""Minimum columns and rows of a page."""

TURN_S = 0.001
"""Long enough for all waiting tasks to run."""


_AT_ONCE = (
    Binding("tab", "app.focus_next", show=False, priority=True),
    Binding("shift+tab", "app.focus_previous", show=False, priority=True),
)
"""Without priority, Textual sends a key through every widget first, and what is typed right after
it would go to the previously focused widget."""


class TooSmall(Plain):
    """Shown instead of a page while the terminal is too small for it."""

    DEFAULT_CSS = """
    TooSmall {
        layer: notice;
        dock: top;
        width: 100%;
        height: 100%;
        background: $background;
    }
    """

    def __init__(self) -> None:
        columns, rows = SMALLEST
        super().__init__(f"evalbench needs {columns}×{rows}. ctrl+q quits; runs keep going.")


class Page(FocusScreen[None]):
    """A screen that fills the terminal. Its bindings are the commands of its scope.

    :meth:`tick` is called a few times per second while the page is on top, and only then; it
    updates what is shown.
    """

    SCOPE: ClassVar[str] = ""
    DEFAULT_CSS = """
    Page { layers: default notice; }
    Page.-too-small ToastRack { display: none; }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """The focused widget. Textual redraws the whole screen if this changes."""

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (100, "-middling"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [
        (0, "-short"),
        (32, "-tall"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._compositor = DirtyLines()

    def __init_subclass__(cls, **named: bool) -> None:
        cls.BINDINGS = [*bindings(cls.SCOPE), *_AT_ONCE]
        super().__init_subclass__(**named)

    @property
    def the_app(self) -> AppInterface:
        """The app, with its own type."""
        return cast("AppInterface", self.app)

    def on_compose(self) -> None:
        """Set the classes for this size before anything is drawn in a wrong layout.

        Textual sets them on the first resize, which comes after the first frame.
        """
        for side, points in (
            (self.app.size.width, self.HORIZONTAL_BREAKPOINTS),
            (self.app.size.height, self.VERTICAL_BREAKPOINTS),
        ):
            self.add_class(max((least, name) for least, name in points or () if side >= least)[1])

    @on(events.Resize)
    async def _take_turns(self) -> None:
        """Textual draws a new screen twice; this lets other tasks run in between."""
        await asyncio.sleep(TURN_S)

    def on_resize(self, event: events.Resize) -> None:
        """Say so while the terminal is too small."""
        notices = self.query(TooSmall)
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(small, "-too-small")
        if not small:
            notices.remove()
        elif not notices:
            self.mount(TooSmall())

    @property
    def on_top(self) -> bool:
        """Whether nothing covers it; Textual's ``is_current`` also holds for what is just below."""
        return self.app.screen_stack[-1:] == [self]

    def tick(self) -> None:
        """Update what is shown. Must be quick: read little, draw what changed."""

    @property
    def begun(self) -> bool:
        """Whether going back first ends something temporary, such as a filter or a preview."""
        return False

    def step_back(self) -> None:
        """Undo what is temporary."""

    def open_field(self, line: str, field: str) -> None:
        """Show a hidden line and focus its field at once.

        ``focus()`` and style classes take effect a moment later; a letter typed before that would
        be lost.
        """
        self.query_one(line).display = True
        self.set_focus(self.query_one(field))

    def places(self) -> Sequence[tuple[str, str, Callable[[], Any]]]:
        """What the palette can lead to on this page: title, description, and how to get there."""
        return ()

    def why_not(self, action: str) -> str:
        """Why a command that :meth:`check_action` disables does not apply; empty: just that."""
        return ""

    def tell_disabled(self, action: str) -> None:
        """Say that a disabled command does nothing; Textual ignores its key."""
        for command in commands(self.SCOPE):
            if command.action == action:
                why = self.why_not(action) or "does not apply here"
                self.notify(f"{command.title}: {why}", timeout=4, markup=False)

    def action_copy_text(self) -> None:
        """Copy the selection; without one, say how to quit."""
        if selected := self.get_selected_text():
            copy(self.the_app, selected, "selected text")
        else:
            self.the_app.action_help_quit()

    @on(events.DescendantFocus)
    def _calm_cursor(self, event: events.DescendantFocus) -> None:
        """A blinking cursor sends three kilobytes per second."""
        if isinstance(event.widget, Input) and self.the_app.low_bandwidth:
            event.widget.cursor_blink = False

    def on_screen_resume(self) -> None:
        """Update at once when the page returns to the top."""
        self.tick()

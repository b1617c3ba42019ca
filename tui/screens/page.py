"""What every page of the app has in common."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on
from textual.binding import Binding
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from evalbench.tui.bindings import bindings
from evalbench.tui.clipboard import copy
from evalbench.tui.widgets.too_small import SMALLEST, TooSmall

if TYPE_CHECKING:
    from evalbench.tui.app import EvalbenchApp

TURN_S = 0.001
"""Enough for everything that waits to have its turn."""


_AT_ONCE = (
    Binding("tab", "app.focus_next", show=False, priority=True),
    Binding("shift+tab", "app.focus_previous", show=False, priority=True),
)
"""Without priority Textual sends a key through every widget first. What is typed right after it
would go to where the keyboard was before."""


class Page(Screen[None]):
    """A screen that fills the terminal. Its bindings are the commands of its scope.

    :meth:`tick` is called a few times a second while the page is the one on
    top, and only then; what it shows is brought up to date there.
    """

    SCOPE: ClassVar[str] = ""
    DEFAULT_CSS = """
    Page { layers: default notice; }
    Page.-too-small ToastRack { display: none; }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """What has the keyboard. Textual draws the whole screen again when that changes."""

    HORIZONTAL_BREAKPOINTS = [
        (0, "-narrow"),
        (100, "-middling"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [
        (0, "-short"),
        (32, "-tall"),
    ]

    def __init_subclass__(cls, **named: bool) -> None:
        cls.BINDINGS = [*bindings(cls.SCOPE), *_AT_ONCE]
        super().__init_subclass__(**named)

    @property
    def the_app(self) -> EvalbenchApp:
        """The app, by its own type."""
        return cast("EvalbenchApp", self.app)

    def on_compose(self) -> None:
        """Take the classes of this size before there is anything to draw in a wrong layout.

        Textual gives them with the first resize, which comes after the first frame.
        """
        for side, points in (
            (self.app.size.width, self.HORIZONTAL_BREAKPOINTS),
            (self.app.size.height, self.VERTICAL_BREAKPOINTS),
        ):
            self.add_class(max((least, name) for least, name in points if side >= least)[1])

    @on(events.Resize)
    async def _take_turns(self) -> None:
        """Textual draws a new screen twice over; others have a turn in between."""
        await asyncio.sleep(TURN_S)

    def on_resize(self, event: events.Resize) -> None:
        """Say so while there is not enough room."""
        notices = self.query(TooSmall)
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(small, "-too-small")
        if not small:
            notices.remove()
        elif not notices:
            self.mount(TooSmall())

    def tick(self) -> None:
        """Bring what is shown up to date. Must be quick: read little, draw what changed."""

    @property
    def begun(self) -> bool:
        """Whether something is only begun (a filter, a preview) that going back undoes first."""
        return False

    def step_back(self) -> None:
        """Undo what is begun."""

    def open_field(self, line: str, field: str) -> None:
        """Show a line that is hidden, with the keyboard in its field at once.

        ``focus()`` and style classes take effect a moment later, in which a
        letter that is typed right after would be lost.
        """
        self.query_one(line).display = True
        self.set_focus(self.query_one(field))

    def action_copy_text(self) -> None:
        """Copy what is selected; with nothing selected, say how to leave."""
        if selected := self.get_selected_text():
            copy(self.the_app, selected, "selected text")
        else:
            self.the_app.action_help_quit()

    @on(events.DescendantFocus)
    def _calm_cursor(self, event: events.DescendantFocus) -> None:
        """A cursor that blinks sends three kilobytes a second."""
        if isinstance(event.widget, Input) and self.the_app.low_bandwidth:
            event.widget.cursor_blink = False

    def on_screen_resume(self) -> None:
        """Show the present at once when the page comes back to the top."""
        self.tick()

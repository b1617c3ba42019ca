"""Dialogs: a confirmation, a value, or an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.css.styles import RulesMap
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import Button, Input

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.terminal_text import one_line
from evalbench.tui.clipboard import copy
from evalbench.tui.screens.page import TURN_S
from evalbench.tui.widgets.focus import FocusScreen
from evalbench.tui.widgets.layout import LineInput
from evalbench.tui.widgets.text import Plain, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from evalbench.tui.app_interface import AppInterface

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], FocusScreen[Answer]):
    """A centred box. Escape closes it without an answer."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
    }
    Dialog > #box {
        width: 64;
        max-width: 96%;
        height: auto;
        max-height: 90%;
        border: round $primary;
        background: $surface;
        padding: 1 2;
    }
    Dialog #buttons {
        height: auto;
        margin-top: 1;
        align-horizontal: right;
    }
    Dialog #buttons Button {
        margin-left: 2;
    }
    """
    BINDINGS = [Binding("escape", "dismiss_it", "Cancel", show=False)]

    _behind: Backdrop | None = None

    def render(self) -> RenderableType:
        """The page below, dimmed."""
        shown = super().render()
        if not isinstance(shown, BackgroundScreen):
            return shown
        self._behind = self._behind or Backdrop()
        return cast("RenderableType", self._behind.of(shown, self.app.theme))

    @on(events.Resize)
    async def _take_turns(self) -> None:
        """Textual draws a new screen twice; this lets other tasks run in between."""
        await asyncio.sleep(TURN_S)

    def on_screen_suspend(self) -> None:
        """The page may change while another dialog covers this one."""
        self._behind = None

    def action_dismiss_it(self) -> None:
        """Close without an answer."""
        self.dismiss(None)

    def action_copy_text(self) -> None:
        """Copy the selection; without one, say how to quit."""
        app = cast("AppInterface", self.app)
        if selected := self.get_selected_text():
            copy(app, selected, "selected text")
        else:
            app.action_help_quit()


class Confirm(Dialog[bool]):
    """Asks for confirmation. No is the default, unless what is offered does no harm."""

    BINDINGS = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n", "answer(False)", "No", show=False),
    ]

    def __init__(self, question: str, *, yes: str, note: str = "", harmless: bool = False) -> None:
        """``yes`` is the button's one-word label; the question names the object."""
        super().__init__()
        self._question, self._yes, self._note = question, yes, note
        self._harmless = harmless

    def compose(self) -> ComposeResult:
        """Question, note, two buttons."""
        with Vertical(id="box"):
            yield Plain(self._question, classes="title")
            if self._note:
                yield Plain(self._note, classes="dim")
            with Horizontal(id="buttons"):
                mild = self._harmless
                yield Button("No (n)", id="no", variant="default" if mild else "primary")
                yield Button(
                    plain(f"{self._yes} (y)"), id="yes", variant="primary" if mild else "error"
                )

    def on_mount(self) -> None:
        """Focus the safe answer."""
        self.query_one("#yes" if self._harmless else "#no").focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """Answer with a key."""
        self.dismiss(yes)


class Enter(Dialog[str]):
    """Asks for one value; returns it as typed, or None."""

    DEFAULT_CSS = """
    Enter #refused { height: auto; display: none; }
    Enter #refused.-on { display: block; }
    """

    def __init__(
        self,
        title: str,
        *,
        value: str = "",
        note: str = "",
        password: bool = False,
        check: Callable[[str], object] | None = None,
    ) -> None:
        """``check`` raises :class:`ValueError`, saying what is expected, for invalid values."""
        super().__init__()
        self._title, self._value, self._note, self._password = title, value, note, password
        self._check = check

    def compose(self) -> ComposeResult:
        """Title, note, input."""
        with Vertical(id="box"):
            yield Plain(self._title, classes="title")
            if self._note:
                yield Plain(self._note, classes="dim")
            yield LineInput(one_line(self._value), password=self._password, id="value")
            yield Plain(id="refused", classes="bad")
            yield Plain("enter: accept · escape: cancel", classes="dim")

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        value = event.value
        if self._check:
            try:
                self._check(value)
            except ValueError as refused:
                line = self.query_one("#refused", Plain)
                line.show(f"✗ {refused}")
                line.add_class("-on")
                return
        # Nothing typed here stays in a widget, in case it is a key.
        event.input.clear()
        self.dismiss(value)


class Trouble(Dialog[bool]):
    """What went wrong, why, and what to do. Returns True if the way out is chosen."""

    BINDINGS = [Binding("q", "dismiss_it", "Close", show=False)]

    def __init__(self, error: EvalbenchError, way_out: str = "") -> None:
        """``way_out``: label of a second button, in a few words; none by default."""
        super().__init__()
        self._error, self._way_out = error, way_out

    def compose(self) -> ComposeResult:
        """What, why, hint."""
        with Vertical(id="box"):
            yield Plain(self._error.what, classes="title bad")
            if self._error.why:
                yield Plain(f"why: {self._error.why}")
            if self._error.hint:
                yield Plain(f"try: {self._error.hint}")
            with Horizontal(id="buttons"):
                if self._way_out:
                    words = self._way_out[:1].upper() + self._way_out[1:]
                    yield Button(plain(words), id="way-out", variant="primary")
                yield Button("Close", id="close", variant="default" if self._way_out else "primary")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "way-out")


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

"""A page with one table and a filter line."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widget import AwaitMount
from textual.widgets import Input

from evalbench.tui.screens.page import Page
from evalbench.tui.widgets.layout import LineInput
from evalbench.tui.widgets.table import Table
from evalbench.tui.widgets.text import Plain


class FilteredPage(Page):
    """The filter line, hidden until it is opened; the page decides what it filters.

    It is above the table, and is made after the page's first frame, since it is not visible before.
    """

    FILTER: ClassVar[str] = ""
    """Placeholder of the empty line."""

    _line: Horizontal | None = None
    _made: AwaitMount | None = None

    DEFAULT_CSS = """
    FilteredPage #filter-line { height: 1; display: none; }
    FilteredPage #filter-line Plain { width: auto; padding: 0 1; }
    FilteredPage #filter { border: none; height: 1; padding: 0; width: 1fr; }
    """

    def on_screen_resume(self) -> None:
        """Make the line after the first frame."""
        super().on_screen_resume()
        self.call_after_refresh(self._have_filter)

    async def _have_filter(self) -> None:
        # The page may have been closed before its first frame.
        if not self.is_attached:
            return
        # On a slow machine the page may be resumed, or used, while the line is being made.
        if self._line is None or not self._line.is_attached:
            self._line = Horizontal(
                Plain("filter"),
                # Without validators, validating only restyles it at every key.
                LineInput(id="filter", placeholder=self.FILTER, validate_on=()),
                id="filter-line",
            )
            table = self.query_one(Table)
            place = table if table.parent is self else table.parent
            self._made = self.mount(self._line, before=place)  # type: ignore[arg-type]
        assert self._made
        await self._made

    @property
    def _entry(self) -> Input | None:
        return next(iter(self.query("#filter").results(Input)), None)

    @property
    def narrowed_by(self) -> str:
        """The text of the line."""
        return self._entry.value if self._entry else ""

    async def action_filter(self) -> None:
        """See ``commands.py``."""
        await self._have_filter()
        self.open_field("#filter-line", "#filter")

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        self.set_focus(self.query_one(Table))

    @property
    def begun(self) -> bool:
        """Whether there is a filter."""
        entry = self._entry
        return entry is not None and (bool(entry.value) or entry.has_focus)

    def step_back(self) -> None:
        """Clear the filter."""
        self.query_one("#filter", Input).value = ""
        self.query_one("#filter-line").display = False
        self.set_focus(self.query_one(Table))

"""A page with one table and a line of words that narrows it."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from evalbench.tui.screens.page import Page
from evalbench.tui.widgets.table import Table
from evalbench.tui.widgets.text import Plain


class FilteredPage(Page):
    """The filter line, hidden until it is asked for; what it narrows is the page's affair."""

    DEFAULT_CSS = """
    FilteredPage #filter-line { height: 1; display: none; }
    FilteredPage #filter-line Plain { width: auto; padding: 0 1; }
    FilteredPage #filter { border: none; height: 1; padding: 0; width: 1fr; }
    """

    def compose_filter(self, placeholder: str) -> ComposeResult:
        """The line, to be put above the table."""
        with Horizontal(id="filter-line"):
            yield Plain("filter")
            yield Input(id="filter", placeholder=placeholder)

    def action_filter(self) -> None:
        """See the commands."""
        self.open_field("#filter-line", "#filter")

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        self.query_one(Table).focus()

    @property
    def begun(self) -> bool:
        """Whether there is a filter."""
        entry = self.query_one("#filter", Input)
        return bool(entry.value) or entry.has_focus

    def step_back(self) -> None:
        """Drop the filter."""
        self.query_one("#filter", Input).value = ""
        self.query_one("#filter-line").display = False
        self.query_one(Table).focus()

"""One sample's requests and replies as JSON."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from evalbench.tui.clipboard import copy
from evalbench.tui.pager import page
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.sample import Everything, long_text
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.topline import TopLine


class RawPage(Page):
    """A scrollable text; hidden characters in it are made visible."""

    SCOPE: ClassVar[str] = "raw"
    DEFAULT_CSS = """
    RawPage #all { padding: 0 1; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Top line, text, footer."""
        yield TopLine(self._title, "hidden characters are written ⟨U+…⟩")
        with Everything(id="all"):
            yield long_text(self._text, "body")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the text."""
        self.set_focus(self.query_one("#all"))

    def action_copy(self) -> None:
        """See ``commands.py``."""
        copy(self.the_app, self._text, "the text")

    def action_pager(self) -> None:
        """See ``commands.py``."""
        page(self.the_app, self._text)

"""Choosing a line from a list, in a dialog."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Column
from evalbench.tui.widgets.text import Plain


class Choose(Dialog[str]):
    """Returns the ident of the chosen line, or None. Typing narrows the list."""

    DEFAULT_CSS = """
    Choose > #box { width: 84; height: 80%; max-height: 32; padding: 0 1; }
    Choose Picker { height: 1fr; border: none; }
    Choose #whole { height: 2; color: $text-muted; }
    """

    def __init__(
        self,
        title: str,
        columns: Sequence[Column],
        choices: Sequence[Choice],
        *,
        chosen: str = "",
        hint: str = "Type to filter",
        keys: str = "enter: accept · escape: cancel",
    ) -> None:
        super().__init__()
        self._title, self._columns, self._choices = title, columns, choices
        self._chosen, self._hint, self._keys = chosen, hint, keys

    def compose(self) -> ComposeResult:
        """Title, list, the line under the cursor in full, key hints."""
        with Vertical(id="box"):
            yield Plain(self._title, classes="title")
            yield Picker("", self._columns, hint=self._hint, id="choices")
            yield Plain(id="whole")
            yield Plain(self._keys, classes="dim")

    def on_mount(self) -> None:
        """Fill the list and focus its filter."""
        picker = self.query_one(Picker)
        picker.show(self._choices)
        picker.choose(self._chosen)
        picker.take_focus()
        self.call_after_refresh(self._tell)

    @on(Picker.Moved)
    def _tell(self) -> None:
        self.query_one("#whole", Plain).show(self.query_one(Picker).cut)

    @on(Picker.Chosen)
    def _taken(self, event: Picker.Chosen) -> None:
        self.dismiss(event.ident)

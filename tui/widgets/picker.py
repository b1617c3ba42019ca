"""Choosing an item by typing a few of its letters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from evalbench.engine.terminal_text import one_line
from evalbench.tui.bindings import bindings
from evalbench.tui.state.fuzzy import fitting, having_words
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.widgets.focus import Lights
from evalbench.tui.widgets.layout import PlainInput
from evalbench.tui.widgets.table import Cell, Column, Table

_NO_MATCH = "No matches"
_LOADED_S = 4.0
"""Seconds that enter waits at most for the lines to be loaded."""
_MOST = 100
"""Most lines that are shown of thousands."""


class Picker(Vertical, Lights):
    """A filter over a list. Letters filter, arrows move, enter chooses.

    The filter keeps the focus; the list only shows the current position.
    """

    DEFAULT_CSS = """
    Picker {
        border: round $panel-lighten-2;
        border-title-color: $text-primary;
        border-subtitle-color: $text-muted;
    }
    Picker .table--cursor { background: $surface; }
    Picker .table--focused { background: $primary; color: $text; text-style: bold; }
    """
    # Priority, so that they run before the next key, which is meant for the next focused widget.
    BINDINGS = [*bindings("list"), Binding("enter", "open", show=False, priority=True)]

    class Changed(Message):
        """A picker's messages about one of its lines."""

        def __init__(self, picker: Picker, ident: str) -> None:
            super().__init__()
            self.picker, self.ident = picker, ident

        @property
        def control(self) -> Picker:
            """The picker, for ``@on`` selectors."""
            return self.picker

    class Chosen(Changed):
        """Enter on a line, or a second click."""

    class Moved(Changed):
        """The cursor moved to another line."""

    def __init__(
        self,
        title: str,
        columns: Sequence[Column],
        *,
        hint: str,
        id: str,
        typed: str = "",
        goes_on: bool = False,
    ) -> None:
        """Create an empty picker.

        Args:
            title: the frame's title.
            columns: the list's columns.
            hint: the filter's placeholder.
            id: the widget's id.
            typed: words that offer the typed text itself if no line matches it; empty: never.
            goes_on: whether the focus moves on after a line was chosen.
        """
        super().__init__(id=id)
        self.border_title = title
        self._hint = hint
        self._typed = typed
        self._goes_on = goes_on
        self._narrowed_by = ""
        self._table = Table((Column("", 1), *columns))
        self._table.can_focus = False
        self._choices: Sequence[Choice] = ()
        self._further: Sequence[Choice] = ()
        self._shown: list[Choice] = []
        self._columns = tuple(columns)
        self._folded = False
        self._empty = ""
        self._ready = asyncio.Event()
        self._ready.set()
        self.chosen = ""

    def compose(self) -> ComposeResult:
        """The filter over the list."""
        # Without validators, validating only restyles it at every key.
        yield PlainInput(placeholder=self._hint, select_on_focus=False, validate_on=())
        yield self._table

    # -- contents ------------------------------------------------------------------

    def show(
        self, choices: Sequence[Choice], *, further: Sequence[Choice] = (), empty: str = ""
    ) -> None:
        """Show these lines, keeping the cursor on its line.

        Args:
            choices: all of them are shown while nothing is typed.
            further: thousands, shown only if they have all typed words, after the others.
            empty: words in place of an empty list.
        """
        here = self.current
        self._ready.set()
        self._choices, self._further, self._empty = choices, further, empty
        self._filter()
        self._stand_on(here.ident if here else self.chosen)

    def show_loading(self) -> None:
        """Say that the lines are being loaded; enter waits for them."""
        self.show((), empty="loading…")
        self._ready.clear()

    def replace_columns(self, columns: Sequence[Column]) -> None:
        """Show these columns; further cells are omitted."""
        self._columns = tuple(columns)
        self._table.replace_columns((Column("", 1), *columns))

    def choose(self, ident: str) -> None:
        """Mark a line as chosen and move the cursor to it."""
        self.chosen = ident
        if self._folded:
            self.fold(True)
        self._filter()
        self._stand_on(ident)

    @property
    def current(self) -> Choice | None:
        """The line under the cursor."""
        cursor = self._table.cursor
        return self._shown[cursor] if cursor < len(self._shown) else None

    @property
    def cut(self) -> str:
        """The line under the cursor in full, if there is no room for all of it."""
        current, table = self.current, self._table
        if current is None or not table.cuts(table.cursor):
            return ""
        return " · ".join(one[0] if isinstance(one, tuple) else one for one in current.cells)

    @property
    def filtered(self) -> bool:
        """Whether the filter is in use."""
        return bool(self.query_one(Input).value)

    def seek(self, typed: str) -> None:
        """Begin a search with these letters typed."""
        field = self.query_one(Input)
        field.value = typed
        field.cursor_position = len(typed)
        self.take_focus()

    def clear(self) -> None:
        """Show everything again."""
        self.query_one(Input).value = ""

    def fold(self, folded: bool) -> None:
        """While the list is hidden, the filter shows what was chosen."""
        self._folded = folded
        words = one_line(self.chosen) if folded and self.chosen else self._hint
        self.query_one(Input).placeholder = words

    def _filter(self) -> None:
        query = self.query_one(Input).value.strip() if self.is_mounted else ""
        places = fitting([choice.found_by for choice in self._choices], query)
        self._shown = [self._choices[place] for place in places]
        further = self._found_further(query) if query else self._chosen_further()
        self._shown += further[:_MOST]
        if self._typed and query and query not in [choice.ident for choice in self._choices]:
            self._shown.append(Choice(query, ((f"{self._typed} {query}", "strong"),), query))
        rows = [self._row(choice) for choice in self._shown]
        self._table.show(_Rows(rows), empty=_NO_MATCH if query and not self._empty else self._empty)
        known = len(places) + len(further)
        all_of_them = len(self._choices) + len(self._further)
        self.border_subtitle = f"{known} of {all_of_them}" if query else ""

    def _found_further(self, query: str) -> list[Choice]:
        texts = [(one.ident, one.found_by) for one in self._further]
        return [self._further[place] for place in having_words(texts, query)]

    def _chosen_further(self) -> list[Choice]:
        return [one for one in self._further if one.ident == self.chosen] if self.chosen else []

    def _row(self, choice: Choice) -> tuple[Cell, ...]:
        mark: Cell = ("●", "good") if choice.ident == self.chosen else ""
        cells = choice.cells
        if choice.dim:
            cells = tuple((one[0] if isinstance(one, tuple) else one, "dim") for one in cells)
        # A single cell would be written across all columns.
        return (mark, *cells, *[""] * (len(self._columns) - len(cells)))

    def _stand_on(self, ident: str) -> None:
        idents = [choice.ident for choice in self._shown]
        if ident in idents:
            self._table.cursor = idents.index(ident)

    # -- keys and mouse ------------------------------------------------------------

    def take_focus(self) -> None:
        """Focus the filter."""
        self.screen.set_focus(self.query_one(Input))

    @on(Input.Changed)
    def _typed_letters(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow()

    def _narrow(self) -> None:
        """Show the lines that match the typed letters."""
        typed = self.query_one(Input).value
        if typed == self._narrowed_by:
            return
        self._narrowed_by = typed
        self._filter()
        self._table.cursor = 0
        if not typed:
            self._stand_on(self.chosen)
        self._tell_moved()

    @on(Table.Opened)
    def _clicked_again(self, event: Table.Opened) -> None:
        event.stop()
        self.take_current()

    @on(Table.Moved)
    def _moved(self, event: Table.Moved) -> None:
        event.stop()
        self._tell_moved()

    def take_current(self) -> None:
        """Choose the line under the cursor."""
        self._narrow()
        if current := self.current:
            self.post_message(self.Chosen(self, current.ident))

    def _tell_moved(self) -> None:
        current = self.current
        self.post_message(self.Moved(self, current.ident if current else ""))

    def light_within(self, lit: bool) -> None:
        """The list's cursor changes its look too."""
        super().light_within(lit)
        self._table.light(lit)

    def on_click(self, event: events.Click) -> None:
        """The focus follows the mouse."""
        self.take_focus()

    def action_down(self) -> None:
        """See ``commands.py``."""
        self._table.action_down()

    def action_up(self) -> None:
        """See ``commands.py``."""
        self._table.action_up()

    def action_page_down(self) -> None:
        """See ``commands.py``."""
        self._table.action_page_down()

    def action_page_up(self) -> None:
        """See ``commands.py``."""
        self._table.action_page_up()

    def action_first(self) -> None:
        """See ``commands.py``."""
        self._table.action_first()

    def action_last(self) -> None:
        """See ``commands.py``."""
        self._table.action_last()

    async def action_open(self) -> None:
        """See ``commands.py``."""
        if not (self._typed or self._ready.is_set()):
            # What is typed next is meant for where this leads.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ready.wait(), _LOADED_S)
        if self._goes_on:
            self.screen.focus_next()
        # Letters typed before may still have to be applied to the list.
        self.query_one(Input).call_later(self.call_later, self.take_current)


class _Rows:
    """Lines of the list."""

    def __init__(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Sequence[Cell]:
        return self._rows[index]

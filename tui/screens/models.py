"""Models: what every provider offers, with prices and retirement."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.engine.config import registry
from evalbench.engine.errors import EvalbenchError
from evalbench.engine.hardware import devices as room
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.tui.commands import commands
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state.figures import counted
from evalbench.tui.state.fit_words import fit_here, fit_words
from evalbench.tui.state.model_cache import Model, ask_models
from evalbench.tui.state.model_list import (
    Catalogue,
    Offer,
    Row,
    Ways,
    context_words,
    detail_words,
    price_words,
    retires_words,
)
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_COLUMNS = (
    Column("", 1),
    Column("model"),
    Column("context", 9, right=True, drop=2),
    Column("in $/M", 8, right=True, drop=1),
    Column("out $/M", 8, right=True, drop=1),
    Column("retires", 11),
    Column("notes", drop=3),
)
_NARROW = _COLUMNS[:-1]
"""Below 100 columns, notes are shown only for the line under the cursor."""

_AT_ONCE = 4
"""Providers queried concurrently: each takes a process."""

_KEYS, _NEW = (
    next(command for command in commands("app") if command.id == name)
    for name in ("app.keys", "app.new")
)
_NO_MATCH = "No matching models. Press escape to show all."


class ModelsPage(FilteredPage):
    """The catalogue. Lists from disk are shown at once; providers are queried concurrently."""

    SCOPE: ClassVar[str] = "models"
    FILTER = "Type to filter, best match first"
    DEFAULT_CSS = """
    ModelsPage.-tall #models { border: round $panel-lighten-2; }
    ModelsPage #detail { height: 2; padding: 0 1; color: $text-muted; }
    ModelsPage.-tall #detail { height: 4; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._catalogue = Catalogue.of(registry.provider_names())
        self._rows: list[Row] = []
        self._few = asyncio.Semaphore(_AT_ONCE)
        self._usable = False
        self._memory: DeviceMemory | None = None

    def compose(self) -> ComposeResult:
        """Top line, table, details of the line under the cursor, footer."""
        yield TopLine("Models")
        yield Table(_NARROW, empty=_NO_MATCH, id="models")
        yield Plain(id="detail")
        yield Footer()

    def on_mount(self) -> None:
        """Show what is known and query the rest."""
        self.set_focus(self.query_one(Table))
        self._show()
        self._look_for_room()
        self._ask(self._catalogue.to_ask(time.time()))

    def on_resize(self, event: events.Resize) -> None:
        """Show the notes column if there is room."""
        self.query_one(Table).replace_columns(_COLUMNS if event.size.width >= 100 else _NARROW)
        self._show()

    # -- asking ------------------------------------------------------------------

    def _ask(self, providers: Sequence[str]) -> None:
        for name in providers:
            if not self._catalogue.offers[name].asking:
                self._catalogue.offers[name].asking = True
                self._ask_one(self._catalogue.offers[name])
        self._show()

    @work
    async def _ask_one(self, offer: Offer) -> None:
        """Query every provider in a separate process, a few at a time."""
        try:
            async with self._few:
                offer.listed, offer.trouble = await ask_models(offer.provider), None
        except EvalbenchError as error:
            offer.trouble = error
        finally:
            offer.asking = False
        self._show()

    @work(exclusive=True, group="room")
    async def _look_for_room(self) -> None:
        """Determine the free memory for local models; a driver may be slow to respond."""
        self._memory = await asyncio.to_thread(room.device_memory)
        self._show()

    def action_reload(self) -> None:
        """See ``commands.py``."""
        self._look_for_room()
        self._ask(list(self._catalogue.offers))

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Update ages."""
        if self.is_mounted:
            self._tell()

    def _show(self) -> None:
        if not self.is_mounted:
            return
        here = self._current()
        self._rows = self._catalogue.rows(self.narrowed_by)
        table = self.query_one(Table)
        table.show(_Rows(self._rows, self._memory, self._ways()))
        if (place := self._place(here)) is not None:
            # Lists inserted above must not move the cursor to another line.
            table.cursor = place
        self._tell()

    def _ways(self) -> Ways:
        keymap = self.the_app.preferences.keymap
        return Ways(keys_words(_KEYS, keymap), keys_words(_NEW, keymap))

    def _place(self, row: Row | None) -> int | None:
        names = [_name(other) for other in self._rows]
        return names.index(_name(row)) if row and _name(row) in names else None

    @on(Table.Moved)
    def _tell(self) -> None:
        offers = self._catalogue.offers.values()
        models = sum(len(offer.listed.models) for offer in offers if offer.listed)
        asked = sum(offer.asking for offer in offers)
        asking = f", asking {counted(asked, 'provider')}" if asked else ""
        self.query_one(TopLine).tell(right=counted(models, "model") + asking)
        row = self._current()
        self.query_one("#detail", Plain).show(
            detail_words(row, fits=_fits(row, self._memory)[0], ways=self._ways()) if row else ""
        )
        if self._usable != isinstance(row, Model):
            self._usable = not self._usable
            self.refresh_bindings()

    def _current(self) -> Row | None:
        cursor = self.query_one(Table).cursor
        return self._rows[cursor] if cursor < len(self._rows) else None

    # -- filter ------------------------------------------------------------------

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()
        self.query_one(Table).cursor = 0

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a model can be used."""
        return self._usable or None if action == "use" else True

    async def action_use(self) -> None:
        """See ``commands.py``."""
        row = self._current()
        if isinstance(row, Model):
            from evalbench.tui.screens.new import NewRunPage

            await self.app.push_screen(NewRunPage(model=row.id))

    @on(Table.Opened)
    async def _opened(self) -> None:
        row = self._current()
        if isinstance(row, Offer):
            self._ask([row.provider])
        else:
            await self.action_use()


def _name(row: Row) -> str:
    """A line's identity while others are added and removed."""
    return row.id if isinstance(row, Model) else row.provider


class _Rows:
    """Providers and models as rows of the table."""

    def __init__(self, rows: Sequence[Row], room: DeviceMemory | None, ways: Ways) -> None:
        self._rows = rows
        self._memory = room
        self._ways = ways

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Sequence[Cell]:
        row = self._rows[index]
        if isinstance(row, Offer):
            return ((row.words(time.time(), self._ways), "strong" if row.listed else "dim"),)
        into, out = price_words(row)
        return (
            "",
            row.id,
            (context_words(row), "" if row.context else "dim"),
            (into, "" if row.price else "dim"),
            (out, "" if row.price else "dim"),
            retires_words(row),
            self._notes(row),
        )

    def _notes(self, row: Model) -> Cell:
        """Whether it fits comes first: the column may be cut off."""
        fits, tone = _fits(row, self._memory)
        words = " · ".join(filter(None, [fits, row.title, row.notes]))
        return words, tone if tone in ("warn", "bad") else ""


def _fits(row: Row, room: DeviceMemory | None) -> tuple[str, str]:
    """Whether a model on this machine fits, and the tone; empty for others."""
    found = fit_here(row.footprint, room) if isinstance(row, Model) else None
    return fit_words(found) if found else ("", "")

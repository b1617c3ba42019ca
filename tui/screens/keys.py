"""Keys: where every provider's key is; set, test and remove them. No key is ever shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.keys import looks_like_key
from evalbench.tui.screens.dialogs import Confirm, Enter, Trouble
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.screens.key_entry import KeyWork, set_key
from evalbench.tui.state.figures import counted
from evalbench.tui.state.fuzzy import fitting
from evalbench.tui.state.key_places import (
    KeyLine,
    KeyPlaces,
    about_key,
    ask_key_places,
    key_lines,
    keys_stamp,
)
from evalbench.tui.state.session_keys import holds
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_COLUMNS = (
    Column("", 1),
    Column("provider", 12),
    Column("key", 18),
    Column("where"),
    Column("tried", 8),
)

_NO_MATCH = "No matching keys. Press escape to show all."


class KeysPage(FilteredPage):
    """One line for each key, and for each provider without one."""

    SCOPE: ClassVar[str] = "keys"
    FILTER = "Type to filter"
    DEFAULT_CSS = """
    KeysPage.-tall #keys { border: round $panel-lighten-2; }
    KeysPage #about { height: 3; padding: 0 2; color: $text-muted; }
    KeysPage.-tall #about { height: 4; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, KeyPlaces] = {}
        self._tried: dict[tuple[str, str], str] = {}
        self._lines: list[KeyLine] = []
        self._seen: int | None = None

    def compose(self) -> ComposeResult:
        """Top line, table, details of the line under the cursor."""
        yield TopLine("Keys")
        yield Table(_COLUMNS, empty="loading keys…", id="keys")
        yield Plain(id="about")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the list."""
        self.set_focus(self.query_one(Table))

    def on_screen_resume(self) -> None:
        """Reload if a key was set or removed meanwhile."""
        super().on_screen_resume()
        if keys_stamp() != self._seen:
            self._look()

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        self._seen = keys_stamp()
        try:
            self._places = await ask_key_places()
        except EvalbenchError as error:
            self.query_one(Table).show(empty=f"✗ {error.what}")
            return
        self._show()

    def _show(self) -> None:
        here = self._current()
        every = key_lines(self._places, self._tried)
        found = [f"{line.provider} {line.name} {line.what} {line.where}" for line in every]
        self._lines = [every[place] for place in fitting(found, self.narrowed_by)]
        table = self.query_one(Table)
        table.show(_Rows(self._lines), empty=_NO_MATCH)
        places = [(line.provider, line.name) for line in self._lines]
        if here and (here.provider, here.name) in places:
            table.cursor = places.index((here.provider, here.name))
        elif here:
            # Setting or removing a key replaces its provider's line.
            names = [line.provider for line in self._lines]
            table.cursor = names.index(here.provider) if here.provider in names else 0
        count = sum(line.held for line in self._lines)
        self.query_one(TopLine).tell(right=counted(count, "key"))
        self._tell()

    def _current(self) -> KeyLine | None:
        cursor = self.query_one(Table).cursor
        return self._lines[cursor] if cursor < len(self._lines) else None

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    @on(Table.Moved)
    def _tell(self) -> None:
        line = self._current()
        words = about_key(line, self._places[line.provider]) if line else ""
        self.query_one("#about", Plain).show(words)
        self.refresh_bindings()

    # -- acting --------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply to the line under the cursor."""
        line = self._current() if self.is_mounted else None
        match action:
            case "set" | "add":
                return None if line is None else True
            case "test":
                return True if line and line.held else None
            case "remove":
                return True if line and line.in_keychain else None
        return True

    def why_not(self, action: str) -> str:
        """See the base class."""
        line = self._current()
        if line is None:
            return "no key is selected"
        if not line.held:
            return f"{line.provider} has no key yet"
        if holds(line.name):
            return "the key is held only until the app closes"
        return f"the key is set outside, in {line.name}"

    @work(exclusive=True, group="act")
    async def action_set(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            name = line.name if line.in_keychain else "default"
            await self._keep(self._places[line.provider], name)

    @on(Table.Opened)
    def _opened(self) -> None:
        self.action_set()

    @work(exclusive=True, group="act")
    async def action_add(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            title = f"Name of another {line.provider} key"
            note = f"Runs choose it by --key NAME. Taken: {line.names or 'none'}."
            asking = Enter(title, note=note, check=_no_key)
            name = await self.app.push_screen_wait(asking)
            if name and name.strip():
                await self._keep(self._places[line.provider], name.strip())

    async def _keep(self, places: KeyPlaces, name: str) -> None:
        if await set_key(self.the_app, places, name):
            self._tried.pop((places.provider, name), None)
            self._look()

    @work(exclusive=True, group="act")
    async def action_test(self) -> None:
        """See ``commands.py``."""
        line = self._current()
        if line is None or not line.held:
            return
        named = ("--name", line.name) if line.in_keychain else ()
        asking = KeyWork(f"Trying the {line.provider} key", ("test", line.provider, *named))
        answer = await self.app.push_screen_wait(asking)
        if answer is None:
            return
        works = answer.get("ok", False)
        self._tried[line.provider, line.name] = ("✓ " if works else "✗ ") + answer["what"]
        self._show()
        if not works and answer["event"] != "error":
            trouble = EvalbenchError(answer["what"], why=answer["why"], hint=answer["try"])
            await self.app.push_screen_wait(Trouble(trouble))

    @work(exclusive=True, group="act")
    async def action_remove(self) -> None:
        """See ``commands.py``."""
        line = self._current()
        if line is None or not line.in_keychain:
            return
        question = f"Remove the {line.provider} key {line.name!r} from the keychain?"
        note = "Running runs keep using it. To get it back, you need it from the provider."
        if not await self.app.push_screen_wait(Confirm(question, yes="Remove", note=note)):
            return
        words = ("rm", line.provider, "--name", line.name)
        answer = await self.app.push_screen_wait(KeyWork("Removing the key", words))
        if answer is not None and answer["event"] != "error":
            self._tried.pop((line.provider, line.name), None)
            self.notify(f"the {line.provider} key {line.name!r} is gone", markup=False)
            for one in answer["notes"]:
                self.notify(one, severity="warning", timeout=10, markup=False)
        self._look()


def _no_key(text: str) -> None:
    """Reject a key entered as a name: names are shown, and appear on command lines."""
    if looks_like_key(text.strip()):
        raise ValueError("that is a key; enter a name for it first")


class _Rows:
    """Keys as rows of the table."""

    def __init__(self, lines: Sequence[KeyLine]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Sequence[Cell]:
        line = self._lines[index]
        tone = "" if line.held else "dim"
        works = line.tried.startswith("✓")
        tried: Cell = ("✓ works", "good") if works else ("✗ failed", "bad") if line.tried else ""
        return (
            ("✓", "good") if line.held else ("·", "dim") if not line.required else ("–", "warn"),
            line.provider,
            (line.what, tone),
            (line.where, tone),
            tried,
        )

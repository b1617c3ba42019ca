"""Providers: limits, prices and keys of all providers, and user-defined servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.commands import commands
from evalbench.tui.screens.dialogs import Confirm, Trouble
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.screens.key_entry import set_key
from evalbench.tui.screens.server_form import ServerPage
from evalbench.tui.state import figures
from evalbench.tui.state.cli_child import Line, run_command, setting_of
from evalbench.tui.state.fuzzy import fitting_first
from evalbench.tui.state.key_places import KeyPlaces
from evalbench.tui.state.provider_lines import about_words, limit_words
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.pairs import Pairs
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.topline import TopLine

_COLUMNS = (
    Column("", 1),
    Column("provider", 14),
    Column("key", 13),
    Column("limits a minute", 24),
    Column("prices", 8),
    Column("batches", 7),
    Column("address", drop=1, least=20),
)

_KEY = next(command for command in commands("providers") if command.id == "providers.key")
_NO_MATCH = "No matching providers. Press escape to show all."


class ProvidersPage(FilteredPage):
    """A line per provider, the user's own first; details of the line under the cursor below."""

    SCOPE: ClassVar[str] = "providers"
    FILTER = "Type to filter"
    DEFAULT_CSS = """
    ProvidersPage #about { height: 9; padding: 0 2; }
    ProvidersPage.-tall #providers { border: round $panel-lighten-2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._every: list[Line] = []
        self._lines: list[Line] = []
        self._tried: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Top line, table, details of one line, footer."""
        yield TopLine("Providers")
        yield Table(_COLUMNS, empty="loading providers…", id="providers")
        yield Pairs(id="about")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the list."""
        self.set_focus(self.query_one(Table))

    def on_screen_resume(self) -> None:
        """A server may have been added or a key set meanwhile."""
        super().on_screen_resume()
        self._look()

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        try:
            lines = await run_command("providers", "list")
        except EvalbenchError as error:
            self.query_one(Table).show(empty=f"✗ {error.what}")
            return
        known = {line["provider"] for line in self._every}
        self._every = [line for line in lines if line["event"] == "provider"]
        self._show()
        names = [line["provider"] for line in self._lines]
        if known and (new := [name for name in names if name not in known]):
            self.query_one(Table).cursor = names.index(new[0])

    def _show(self) -> None:
        here = self._current()
        table = self.query_one(Table)
        # Names first, then what is found by its title or address.
        names = [line["provider"] for line in self._every]
        others = [f"{line['title']} {line['address']}" for line in self._every]
        found = fitting_first(names, others, self.narrowed_by)
        self._lines = [self._every[place] for place in found]
        table.show(_Rows(self._lines, self._tried), empty=_NO_MATCH)
        names = [line["provider"] for line in self._lines]
        if here and here["provider"] in names:
            table.cursor = names.index(here["provider"])
        own = sum(line["own"] for line in self._lines)
        of = f"{len(names)} of " if self.narrowed_by else ""
        every = figures.counted(len(self._every), "provider")
        self.query_one(TopLine).tell(right=f"{of}{every}, {own} of them yours")
        self._tell()

    def _current(self) -> Line | None:
        cursor = self.query_one(Table).cursor
        return self._lines[cursor] if cursor < len(self._lines) else None

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    @on(Table.Moved)
    def _tell(self) -> None:
        line = self._current()
        pairs = about_words(line) if line else []
        if line and (tried := self._tried.get(line["provider"])):
            pairs = [("tested", tried), *pairs]
        self.query_one(Pairs).show([(name, words, "") for name, words in pairs])
        self.refresh_bindings()

    # -- acting --------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only user-defined servers can be changed."""
        line = self._current() if self.is_mounted else None
        match action:
            case "edit" | "remove":
                return True if line and line["own"] else None
            case "test" | "key":
                return None if line is None or line["key"] == "none needed" else True
        return True

    def why_not(self, action: str) -> str:
        """See the base class."""
        line = self._current()
        if line is None:
            return "no provider is selected"
        if action in ("edit", "remove"):
            return f"{line['provider']} is not a server of your own"
        return f"{line['provider']} needs no key"

    async def action_add(self) -> None:
        """See ``commands.py``."""
        await self.app.push_screen(ServerPage())

    async def action_edit(self) -> None:
        """See ``commands.py``."""
        if (line := self._current()) and line["own"]:
            await self.app.push_screen(ServerPage(line["provider"], line["description"]))

    @on(Table.Opened)
    async def _opened(self) -> None:
        line = self._current()
        if line and line["own"]:
            await self.action_edit()
        elif line:
            self.action_test()

    @work(group="test")
    async def action_test(self) -> None:
        """See ``commands.py``."""
        line = self._current()
        if line is None:
            return
        name = line["provider"]
        self._tried[name] = "asking…"
        self._show()
        try:
            lines = await run_command("providers", "test", name)
        except EvalbenchError as error:
            self._tried[name] = f"✗ {error.what}"
            self._show()
            key = keys_words(_KEY, self.the_app.preferences.keymap)
            if key and setting_of(error) == "key":
                error = EvalbenchError(error.what, why=error.why, hint=f"{key} sets its key")
            if self.on_top:
                await self.app.push_screen_wait(Trouble(error))
            return
        (answer,) = (line for line in lines if line["event"] == "provider-test")
        self._tried[name] = f"✓ {answer['what']} ({answer['seconds']:.1f} s)"
        self._show()

    @work(exclusive=True, group="act")
    async def action_key(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            places = KeyPlaces(
                line["provider"], variable=line["key_variable"], page=line["key_page"]
            )
            if await set_key(self.the_app, places):
                self._tried.pop(line["provider"], None)
                self._look()

    @work(exclusive=True, group="act")
    async def action_remove(self) -> None:
        """See ``commands.py``."""
        line = self._current()
        if line is None or not line["own"]:
            return
        name = line["provider"]
        note = "Runs that used it keep their results. Its keys stay in the keychain."
        sure = Confirm(f"Remove the server {name!r}?", yes="Remove", note=note)
        if not await self.app.push_screen_wait(sure):
            return
        try:
            await run_command("providers", "rm", name)
        except EvalbenchError as error:
            await self.app.push_screen_wait(Trouble(error))
        else:
            self._tried.pop(name, None)
            self.notify(f"the server {name!r} is gone", markup=False)
        self._look()


class _Rows:
    """Providers as rows of the table."""

    def __init__(self, lines: Sequence[Line], tried: dict[str, str]) -> None:
        self._lines, self._tried = lines, tried

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Sequence[Cell]:
        line = self._lines[index]
        tried = self._tried.get(line["provider"], "")
        if line["problem"]:
            mark: Cell = ("✗", "bad")
        elif tried:
            mark = (tried[0], {"✓": "good", "✗": "bad"}.get(tried[0], "dim"))
        else:
            mark = ("*", "strong") if line["own"] else ""
        return (
            mark,
            (line["provider"], "strong" if line["own"] else ""),
            (line["key"], "good" if line["key_held"] else "" if line["key_required"] else "dim"),
            limit_words(line),
            (line["prices"], "warn" if line["prices"] == "unknown" else ""),
            line["batches"],
            (line["address"], "dim"),
        )

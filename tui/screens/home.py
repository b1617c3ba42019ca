"""Home: every run on this machine, what it came to, and what to do with it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state.marks import STATE_MARKS
from evalbench.tui.state.run_list import RunLine, RunList, matching
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.topline import TopLine

_COLUMNS = (
    Column("", 1),
    Column("", 1),
    Column("state", 11),
    Column("benchmark", 14),
    Column("model"),
    Column("score", 20, drop=2),
    Column("done", 18, drop=3),
    Column("spent", 16, drop=4),
    Column("age", 7, right=True, drop=1),
)

_EMPTY = "No run yet. n sets one up."
_NO_MATCH = "No run has these words. escape shows all."


class HomePage(FilteredPage):
    """The list of runs."""

    SCOPE: ClassVar[str] = "home"
    FILTER = "words of benchmark, model, state, tag"
    AUTO_FOCUS = "#runs"

    def __init__(self) -> None:
        super().__init__()
        self._runs = RunList()
        self._lines: list[RunLine] = []
        self._shown: list[RunLine] = []
        self._marked: dict[Path, RunFolder] = {}

    def compose(self) -> ComposeResult:
        """Top line, table, footer."""
        yield TopLine("Home")
        yield Table(_COLUMNS, empty=_EMPTY, id="runs")
        yield Footer()

    def on_mount(self) -> None:
        """Show what there is, and to who is new what can be done."""
        self.tick()
        new_here = not self.the_app.preferences.welcomed and not self._runs.look()
        if new_here and not self.the_app.for_a_run:
            self._welcome()

    @work
    async def _welcome(self) -> None:
        from evalbench.tui.screens.starting import start
        from evalbench.tui.screens.welcome import Welcome

        chosen = await self.app.push_screen_wait(Welcome())
        self.the_app.prefer(welcomed=True)
        match chosen:
            case "demo":
                await start(self.the_app, ("run", "quickstart", "--limit", "10"))
            case "keys":
                await self.the_app.action_keys()
            case "new":
                await self.the_app.action_new()

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Read what changed."""
        if not self.is_mounted:
            return
        self._lines = self._runs.look()
        live = sum(line.live for line in self._lines)
        here = {line.folder.path for line in self._lines}
        self._marked = {path: folder for path, folder in self._marked.items() if path in here}
        count = f"{len(self._lines)} runs" if len(self._lines) != 1 else "1 run"
        words = count + (f", {live} running" if live else "")
        if self._marked:
            words += f", {len(self._marked)} marked"
        self.query_one(TopLine).tell(right=words)
        self._show()

    def _show(self) -> None:
        here = self._current()
        self._shown = matching(self._lines, self.narrowed_by)
        table = self.query_one(Table)
        table.show(_Rows(self._shown, self._marked), empty=_NO_MATCH if self._lines else _EMPTY)
        if here is not None:
            # Runs that come in above must not move the cursor to another run.
            paths = [line.folder.path for line in self._shown]
            if here.folder.path in paths:
                table.cursor = paths.index(here.folder.path)

    def _current(self) -> RunLine | None:
        table = self.query_one(Table)
        return self._shown[table.cursor] if table.cursor < len(self._shown) else None

    # -- filter ------------------------------------------------------------------

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what the run under the cursor does not allow."""
        line = self._current() if self.is_mounted else None
        match action:
            case "open" | "delete" | "mark":
                return None if line is None else True
            case "compare":
                return True if len(self._chosen()) > 1 else None
            case "resume":
                return True if line and line.resumable else None
            case "stop":
                return True if line and line.live else None
        return True

    @on(Table.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    def action_leave(self) -> None:
        """See the commands."""
        self.the_app.action_leave()

    async def action_new(self) -> None:
        """See the commands."""
        await self.the_app.action_new()

    async def action_open(self) -> None:
        """See the commands."""
        if line := self._current():
            await self.the_app.open_run(line.folder)

    @on(Table.Opened)
    async def _opened(self) -> None:
        await self.action_open()

    @work(exclusive=True, group="resume")
    async def action_resume(self) -> None:
        """See the commands."""
        from evalbench.tui.screens.starting import start

        if line := self._current():
            await start(self.the_app, ("resume", line.folder.id))

    def action_mark(self) -> None:
        """See the commands."""
        if line := self._current():
            path = line.folder.path
            if self._marked.pop(path, None) is None:
                self._marked[path] = line.folder
            self.tick()
            self.query_one(Table).action_down()
            self.refresh_bindings()

    def _chosen(self) -> list[RunFolder]:
        """What would be compared: the marked runs; with one of them, the run under the cursor."""
        chosen = dict(self._marked)
        if len(chosen) == 1 and (line := self._current()):
            chosen.setdefault(line.folder.path, line.folder)
        return list(chosen.values())

    async def action_compare(self) -> None:
        """See the commands."""
        from evalbench.tui.screens.compare import ComparePage

        await self.app.push_screen(ComparePage(self._chosen()))

    def action_stop(self) -> None:
        """See the commands."""
        from evalbench.engine.process.launch import stop_run

        if (line := self._current()) and stop_run(line.folder):
            self.notify(f"stopping {line.folder.id}", markup=False)

    @work
    async def action_delete(self) -> None:
        """See the commands."""
        from evalbench.engine.errors import EvalbenchError
        from evalbench.engine.process.launch import delete_run
        from evalbench.tui.screens.dialogs import Confirm

        line = self._current()
        if line is None:
            return
        question = f"Delete {line.folder.id}?"
        note = f"{line.benchmark} × {line.model}, {line.done} samples. This cannot be undone."
        if await self.app.push_screen_wait(Confirm(question, yes="Delete", note=note)):
            try:
                delete_run(line.folder)
            except EvalbenchError as error:
                self.the_app.tell_trouble(error)
            self.tick()


class _Rows:
    """Runs as rows of the table."""

    def __init__(self, lines: Sequence[RunLine], marked: Container[Path]) -> None:
        self._lines = lines
        self._marked = marked

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Sequence[Cell]:
        line = self._lines[index]
        glyph, tone = STATE_MARKS.get(line.state, ("–", "warn"))
        return (
            ("*", "strong") if line.folder.path in self._marked else "",
            (glyph, tone),
            (line.state, tone),
            line.benchmark,
            line.model,
            line.score,
            line.done,
            line.spent,
            (line.age, "dim"),
        )

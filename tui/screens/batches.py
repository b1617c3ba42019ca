"""Batches: the provider batches of all runs or of one; fetch results now, or cancel."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.screens.dialogs import Confirm, Trouble
from evalbench.tui.screens.page import Page
from evalbench.tui.state.batch_list import BatchLine, BatchList
from evalbench.tui.state.batch_words import is_unfetched
from evalbench.tui.state.cli_child import Line, run_command
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_COLUMNS = (
    Column("", 1),
    Column("batch", 10),
    Column("model", 20, drop=3),
    Column("state", least=25),
    Column("progress", least=26),
    Column("age", 7, right=True, drop=2),
    Column("ends", 14, right=True, drop=1),
)
_EMPTY = (
    "No pending batches. Runs with --mode batch create them: half the price, within "
    "hours.\nPress x to show finished batches."
)
_ENDINGS = tuple(range(8))
"""Exit codes of ``collect`` that are not errors: the run's page shows its state."""


class BatchesPage(Page):
    """One line per batch."""

    SCOPE: ClassVar[str] = "batches"
    DEFAULT_CSS = """
    BatchesPage #about {
        height: auto; min-height: 4; max-height: 7; padding: 0 2; color: $text-muted;
    }
    """

    def __init__(self, run: RunFolder | None = None) -> None:
        super().__init__()
        self._run = run
        self._list = BatchList(run)
        self._over = run is not None
        self._lines: list[BatchLine] = []

    def compose(self) -> ComposeResult:
        """Top line, table, details of the line under the cursor."""
        yield TopLine("Batches" + (f" of {self._run.id}" if self._run else ""))
        yield Table(_COLUMNS, empty=_EMPTY, id="batches")
        yield Plain(id="about")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the list."""
        self.set_focus(self.query_one(Table))

    def tick(self) -> None:
        """Read what changed."""
        for table in self.query(Table):
            before = self._current()
            self._lines = self._list.look(over=self._over)
            table.show(_Rows(self._lines, time.time()), empty=_EMPTY)
            names = [line.name for line in self._lines]
            if before and before.name in names:
                table.cursor = names.index(before.name)
            out = sum(line.open for line in self._lines)
            self.query_one(TopLine).tell(right="1 pending" if out == 1 else f"{out} pending")
            self._tell()

    def _current(self) -> BatchLine | None:
        cursor = self.query_one(Table).cursor
        return self._lines[cursor] if cursor < len(self._lines) else None

    @on(Table.Moved)
    def _tell(self) -> None:
        line = self._current()
        self.query_one("#about", Plain).show("\n".join(line.about()) if line else "")
        self.refresh_bindings()

    # -- acting --------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply to the line under the cursor."""
        line = self._current() if self.is_mounted else None
        if action == "fetch":
            return True if line and line.open else None
        if action == "cancel":
            return True if line and line.open and not is_unfetched(line.batch) else None
        if action == "open":
            return True if line else None
        return True

    @on(Table.Opened)
    async def action_open(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            await self.the_app.open_run(line.folder)

    def action_over(self) -> None:
        """See ``commands.py``."""
        self._over = not self._over
        self.tick()

    @work(exclusive=True, group="act")
    async def action_fetch(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            await self._do(f"checking the batches of {line.folder.id}", "collect", line)

    @work(exclusive=True, group="act")
    async def action_cancel(self) -> None:
        """See ``commands.py``."""
        line = self._current()
        if line is None or not line.open or is_unfetched(line.batch):
            return
        question = f"Cancel batch {line.name}?"
        note = "Finished calls are kept and billed. The rest count as failed; r retries them."
        if await self.app.push_screen_wait(Confirm(question, yes="Cancel it", note=note)):
            await self._do(f"cancelling {line.name}", "cancel", line)

    async def _do(self, words: str, what: str, line: BatchLine) -> None:
        self.notify(words, markup=False)
        try:
            collect, cancel = ("collect", str(line.folder.path)), ("batches", "cancel", line.name)
            command = collect if what == "collect" else cancel
            await run_command(*command, ask=self._may_send, accept=_ENDINGS)
        except EvalbenchError as error:
            await self.app.push_screen_wait(Trouble(error))
        self.tick()

    async def _may_send(self, line: Line) -> bool:
        from evalbench.tui.screens.starting import may_send

        return await may_send(self.app, line)


class _Rows:
    """Batches as rows of the table."""

    def __init__(self, lines: Sequence[BatchLine], now: float) -> None:
        self._lines = lines
        self._now = now

    def __len__(self) -> int:
        return len(self._lines)

    def row(self, index: int) -> Sequence[Cell]:
        line = self._lines[index]
        name, model, state, progress, age, ends = line.cells(self._now)
        tone = "" if line.open else "dim"
        return (line.mark, (name, tone), (model, tone), (state, tone), progress, age, ends)

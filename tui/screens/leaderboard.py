"""Leaderboard: models against benchmarks, each score with its interval."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult

from evalbench.tui.screens.page import Page
from evalbench.tui.state import figures
from evalbench.tui.state.leaderboard import Leaderboard, latency, leaderboard
from evalbench.tui.state.run_list import RunLine
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_EMPTY = "No complete run has a score yet."
_WIDE = 20


class LeaderboardPage(Page):
    """One line per model."""

    SCOPE: ClassVar[str] = "leaderboard"
    DEFAULT_CSS = """
    LeaderboardPage #about { height: 4; padding: 0 2; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[RunLine] = []
        self._board = Leaderboard((), (), {})
        self._by = ""
        self._latencies: dict[tuple[Path, int], float | None] = {}

    def compose(self) -> ComposeResult:
        """Top line, table, the run behind the line under the cursor."""
        yield TopLine("Leaderboard")
        yield Table((Column("model"),), empty=_EMPTY, id="board")
        yield Plain(id="about")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the table."""
        self.set_focus(self.query_one(Table))

    def tick(self) -> None:
        """Read what changed."""
        if self.is_mounted and (lines := self.the_app.runs()) != self._lines:
            self._lines = lines
            self._show()

    def _show(self) -> None:
        table = self.query_one(Table)
        here = self._model()
        self._board = leaderboard(self._lines, self._by)
        if self._by not in self._board.benchmarks:
            self._by = next(iter(self._board.benchmarks), "")
        # The column that determines the order is always shown; others only if they fit.
        shown = [
            Column(
                f"{head} ▾" if name == self._by else head, _WIDE, drop=place * (name != self._by)
            )
            for place, name in enumerate(self._board.benchmarks, 1)
            for head in [self._board.head(name)]
        ]
        table.replace_columns((Column("", 5, right=True), Column("model", least=24), *shown))
        table.show(_Rows(self._board), empty=_EMPTY)
        if here in self._board.models:
            table.cursor = self._board.models.index(here)
        models, benchmarks = len(self._board.models), len(self._board.benchmarks)
        words = figures.counted(models, "model"), figures.counted(benchmarks, "benchmark")
        self.query_one(TopLine).tell(right=", ".join(words))
        self._tell()

    def _model(self) -> str:
        cursor = self.query_one(Table).cursor
        return self._board.models[cursor] if cursor < len(self._board.models) else ""

    def _run(self) -> RunLine | None:
        """The run of the cell in the cursor's line and the ordering column."""
        return self._board.run(self._model(), self._by)

    @on(Table.Moved)
    def _tell(self) -> None:
        line = self._run()
        words = "Each score is that of the newest complete run, with its 95 % interval."
        if line:
            rank = self._board.rank(line.model, line.benchmark)
            words = (
                f"{line.folder.id} · samples {line.done} · {line.age}\n"
                f"{self._took(line)} · by the intervals its place is {rank}\n{words}"
            )
        self.query_one("#about", Plain).show(words)
        self.refresh_bindings()

    def _took(self, line: RunLine) -> str:
        """A run's cost, tokens and reply latency, which is shown once it has been read."""
        said = [figures.dollars(line.cost)] if line.spent and line.cost is not None else []
        said.append(f"{figures.count(line.tokens)} tokens")
        key = line.folder.path, line.tokens
        if key not in self._latencies:
            self._read_latency(line)
        elif took := self._latencies[key]:
            said.append(f"{figures.duration(took)} to a reply")
        return " · ".join(said)

    @work(exclusive=True, group="latency")
    async def _read_latency(self, line: RunLine) -> None:
        """Read it in a thread: that scans all replies."""
        found = await asyncio.to_thread(latency, line)
        self._latencies[line.folder.path, line.tokens] = found
        self._tell()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply to the line under the cursor."""
        if action == "open":
            return True if self.is_mounted and self._run() else None
        return True

    @on(Table.Opened)
    async def action_open(self) -> None:
        """See ``commands.py``."""
        if line := self._run():
            await self.the_app.open_run(line.folder)

    def action_sort(self) -> None:
        """See ``commands.py``."""
        names = self._board.benchmarks
        if names:
            self._by = names[(names.index(self._by) + 1) % len(names)]
            self._show()

    @on(Table.HeadClicked)
    def _head_clicked(self, event: Table.HeadClicked) -> None:
        if event.index >= 2:
            self._by = self._board.benchmarks[event.index - 2]
            self._show()


class _Rows:
    """Models as rows of the table."""

    def __init__(self, board: Leaderboard) -> None:
        self._board = board

    def __len__(self) -> int:
        return len(self._board.models)

    def row(self, index: int) -> Sequence[Cell]:
        model = self._board.models[index]
        runs = [self._board.run(model, name) for name in self._board.benchmarks]
        scores: list[Cell] = [run.score if run else ("–", "dim") for run in runs]
        return ((self._board.rank(model, self._board.by), "dim"), model, *scores)

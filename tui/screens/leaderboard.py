"""Leaderboard: models against benchmarks, each score with its interval."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.widgets import Input

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.screens.dialogs import Enter
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state import figures
from evalbench.tui.state.leaderboard import Leaderboard, latency, leaderboard
from evalbench.tui.state.run_list import RunLine, matching
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_EMPTY = "No complete run has a score yet."
_NO_MATCH = "No matching runs with a score. Press escape to show all."
_WIDE = 20


class LeaderboardPage(FilteredPage):
    """One line per model."""

    SCOPE: ClassVar[str] = "leaderboard"
    FILTER = "words, or tag:paper model:claude benchmark:gsm8k age<2d -id:old"
    DEFAULT_CSS = """
    LeaderboardPage #about { height: 4; padding: 0 2; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[RunLine] = []
        self._board = Leaderboard((), (), {})
        self._by = ""
        self._names: tuple[str, ...] = ()
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
        lines, problem = matching(self._lines, self.narrowed_by)
        self._board = leaderboard(lines, self._by)
        # The benchmark that determines the order comes first, and others as far as they fit.
        at = self._board.benchmarks.index(self._board.by) if self._board.by else 0
        self._names = (*self._board.benchmarks[at:], *self._board.benchmarks[:at])
        shown = [
            Column(self._board.head(name) + " ▾" * (not place), _WIDE, drop=place)
            for place, name in enumerate(self._names)
        ]
        models = self._board.models
        model = Column("model", least=24, most=max([24, *map(cell_len, models)]))
        table.replace_columns((Column("", 5, right=True), model, *shown))
        table.show(_Rows(self._board, self._names), empty=_NO_MATCH if self.narrowed_by else _EMPTY)
        if here in self._board.models:
            table.cursor = self._board.models.index(here)
        words = [
            figures.counted(len(models), "model"),
            figures.counted(len(self._names), "benchmark"),
        ]
        if hidden := table.dropped:
            words.append(f"{len(hidden)} not shown: S")
        self.query_one(TopLine).tell(right=problem or ", ".join(words))
        self._tell()

    def on_resize(self, event: events.Resize) -> None:
        """Other columns fit."""
        super().on_resize(event)
        self.call_after_refresh(self._show)

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    def _model(self) -> str:
        cursor = self.query_one(Table).cursor
        return self._board.models[cursor] if cursor < len(self._board.models) else ""

    def _run(self) -> RunLine | None:
        """The run of the cell in the cursor's line and the ordering column."""
        return self._board.run(self._model(), self._board.by)

    @on(Table.Moved)
    def _tell(self) -> None:
        line = self._run()
        which = "run that matches" if self.narrowed_by else "complete run"
        words = f"Each score is that of the newest {which}, with its 95 % interval."
        if line:
            rank = self._board.rank(line.model, self._board.by)
            words = (
                f"{line.folder.id} · samples {line.done} · {line.age}\n"
                f"{self._took(line)} · place {rank} by the intervals\n{words}"
            )
        self.query_one("#about", Plain).show(words)
        self.refresh_bindings()

    def _took(self, line: RunLine) -> str:
        """A run's cost, tokens and reply latency, which is shown once it has been read."""
        parts = [figures.dollars(line.cost)] if line.spent and line.cost is not None else []
        parts.append(figures.counted(line.tokens, "token"))
        key = line.folder.path, line.tokens
        if key not in self._latencies:
            self._read_latency(line)
        elif latency := self._latencies[key]:
            parts.append(f"{figures.duration(latency)} to a reply")
        return " · ".join(parts)

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
        if action == "export":
            return True if self._board.models else None
        return True

    def why_not(self, action: str) -> str:
        """See :class:`Page`."""
        if action == "export":
            return "no run is shown"
        return f"no complete run of {self._model()} on {self._board.by}" if self._board.by else ""

    @on(Table.Opened)
    async def action_open(self) -> None:
        """See ``commands.py``."""
        if line := self._run():
            await self.the_app.open_run(line.folder)

    def action_sort(self) -> None:
        """See ``commands.py``."""
        names = self._board.benchmarks
        if names:
            self._by = names[(names.index(self._board.by) + 1) % len(names)]
            self._show()

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.state import leaderboard_files

        def known(name: str) -> None:
            if not leaderboard_files.format_of(name):
                raise ValueError("the name has to end in .html, .md, .csv or .json")

        board = self._board
        name = await self.app.push_screen_wait(
            Enter(
                "Export this leaderboard to a file",
                value="leaderboard.html",
                note=f"ending in .html, .md, .csv or .json, from {Path.cwd()}; an existing file is"
                " replaced",
                check=known,
            )
        )
        if name is None:
            return
        kind = leaderboard_files.format_of(name)
        try:
            path = await asyncio.to_thread(leaderboard_files.write, board, kind, name)
        except EvalbenchError as error:
            self.the_app.tell_trouble(error)
        else:
            self.notify(f"written to {path}", timeout=10, markup=False)

    @on(Table.HeadClicked)
    def _head_clicked(self, event: Table.HeadClicked) -> None:
        if event.index >= 2:
            self._by = self._names[event.index - 2]
            self._show()


class _Rows:
    """Models as rows of the table."""

    def __init__(self, board: Leaderboard, names: Sequence[str]) -> None:
        """``names``: the benchmarks, in the order of their columns."""
        self._board, self._names = board, names

    def __len__(self) -> int:
        return len(self._board.models)

    def row(self, index: int) -> Sequence[Cell]:
        model = self._board.models[index]
        runs = [self._board.run(model, name) for name in self._names]
        scores: list[Cell] = [run.score if run else ("–", "dim") for run in runs]
        return ((self._board.rank(model, self._board.by), "dim"), model, *scores)

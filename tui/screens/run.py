"""One run: its progress, its results, why it waits, and actions on it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content

from evalbench.engine.errors import EvalbenchError, UsageError
from evalbench.engine.paths import runs_dir
from evalbench.engine.process.launch import stop_run
from evalbench.engine.runs.folder import INTERRUPTED, UNREADABLE, RunFolder
from evalbench.engine.runs.grid import grid_of
from evalbench.tui.clipboard import copy
from evalbench.tui.screens import run_panels, run_tables
from evalbench.tui.screens.dialogs import Enter, Trouble
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.run_panels import Compared
from evalbench.tui.screens.starting import start
from evalbench.tui.state import figures
from evalbench.tui.state.answers import Answer
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.live_settings import read_budget, read_concurrency
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.state.run_view import RunView
from evalbench.tui.state.scores import ScoreLine, score_lines
from evalbench.tui.widgets.chart_grid import ChartGrid
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.table import Column, ListRows, Table
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_DRAW_EVERY_S, _LOW_BANDWIDTH_S = 0.9, 2.0
_ANSWERS_EVERY_S, _ANSWERS_LOW_BANDWIDTH_S = 1.8, 4.0

_WHOLE_ID = 110
"""From this many columns on, the run's whole id is shown."""

_FEW_METRICS = 8

_SHORT = 32
"""Below this many rows, panels show only the essentials."""

_ACROSS = ((150, 4), (110, 3), (0, 2))
"""Charts side by side, by the number of columns from which on there are so many."""
_CHART_ROWS = (8, 20)
"""Rows of a chart with the gap below it, at least; and without it, at most."""
_ABOVE_CHARTS = ("#head", "#trouble", "#panels", "#compared")
_BESIDE_LINES = 3
"""Cells of a panel's padding and of the scrollbar."""
_LINES_BETWEEN = 4
"""The first line, the footer, and gaps."""
_TABLES, _TABLES_AT_REST = 11, 19
"""Rows that the tables get at least while a run is live, and when it is complete."""


class RunPage(Page):
    """The page of one run: live, at rest, or left without an engine."""

    SCOPE: ClassVar[str] = "run"
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    RunPage #body { height: 1fr; scrollbar-size-vertical: 1; }
    RunPage #head { padding: 0 1; }
    RunPage #trouble { height: auto; padding: 0 1; display: none; border-left: thick $warning; }
    RunPage.-stuck #trouble { display: block; }
    RunPage.-broken #trouble { border-left: thick $error; }
    RunPage .section {
        border-top: solid $panel-lighten-2;
        border-title-color: $text-primary;
        padding: 0 1;
        display: none;
    }
    RunPage .section.-on { display: block; }
    RunPage #panels { height: auto; }
    RunPage #score { width: 1fr; }
    RunPage #rest { width: 2fr; height: auto; layout: horizontal; }
    RunPage #rest > Vertical { width: 1fr; height: auto; }
    RunPage.-narrow #rest { width: 1fr; layout: vertical; }
    RunPage.-tall #panels { margin-bottom: 1; }
    RunPage.-tall #head { padding: 1; }
    RunPage #charts { padding: 0 1; margin-bottom: 1; display: none; }
    RunPage #lower { height: 1fr; min-height: 10; layout: vertical; }
    RunPage #lower Table { min-height: 4; padding: 0 1; }
    RunPage #lower .table--head { background: $panel; }
    RunPage #log .table--cursor { background: $background; }
    RunPage #log .table--focused { background: $primary; }
    RunPage #lower #scores { display: none; min-height: 10; }
    RunPage.-complete #lower { min-height: 18; }
    RunPage.-complete #lower #scores { display: block; }
    RunPage.-complete.-few #lower { min-height: 12; }
    RunPage.-complete.-few #lower #scores { min-height: 2; }
    RunPage.-short #panels { max-height: 10; }
    RunPage.-short.-stuck #panels { max-height: 8; }
    RunPage.-short.-stuck #lower { min-height: 8; }
    RunPage.-tall #answers { max-height: 10; }
    RunPage.-wide #lower { layout: horizontal; }
    RunPage.-wide #lower Table { width: 1fr; max-height: 100%; }
    RunPage.-wide #answers { width: 2fr; max-height: 100%; }
    RunPage.-wide.-complete #lower { layout: grid; grid-size: 2 2; grid-rows: 10 1fr; }
    RunPage.-wide.-complete #scores { row-span: 2; }
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self.view = RunView(folder)
        self._drawn = self._answers_drawn = float("-inf")
        self._drawn_state = ""
        self._score_title = run_panels.SCORE_TITLE
        self._ready = self._stale = False
        self._answers: list[Answer] = []

    def compose(self) -> ComposeResult:
        """Header, panels side by side, tables below."""
        status = self.view.status
        yield TopLine(f"{status.name} × {status.model}")
        with VerticalScroll(id="body", can_focus=False):
            yield Lines(id="head")
            yield Plain(id="trouble")
            with Horizontal(id="panels"):
                yield _section("score", run_panels.SCORE_TITLE)
                with Container(id="rest"):
                    with Vertical():
                        yield _section("work", "work")
                        yield _section("gpus", "GPU")
                    with Vertical():
                        yield _section("money", "money")
                        yield _section("batches", "batches")
                        yield _section("limits", "limits and waits")
                        yield _section("params", "adjusted parameters")
            yield Compared(id="compared")
            yield ChartGrid(self.view.folder, id="charts")
            with Container(id="lower"):
                yield Table(run_tables.scores(), empty="No metrics.", id="scores")
                yield Table(run_tables.answers(), empty="No scores yet.", id="answers")
                yield Table(run_tables.LOG, empty="Nothing to report yet.", id="log")
        yield Footer()

    def on_mount(self) -> None:
        """The first read; focus the most relevant table."""
        self._ready = True
        self.tick()
        table = self._first() if self.view.state == "complete" else "#answers"
        for found in self.query(table)[:1]:
            found.focus(scroll_visible=False)

    def on_resize(self, event: events.Resize) -> None:
        """Show more or less, depending on the room."""
        self._drawn, self._stale = float("-inf"), True
        self.tick()

    def _lay_charts(self) -> None:
        """Charts get the room that panels and tables leave, once those are laid out."""
        width, height = self.size
        above = [self.query_one(name).outer_size.height for name in _ABOVE_CHARTS]
        if not any(above):
            return
        least = _TABLES_AT_REST if self.view.state == "complete" else _TABLES
        spare = height - sum(above) - _LINES_BETWEEN - least
        lines = min(2, spare // _CHART_ROWS[0])
        rows = min(_CHART_ROWS[1], spare // lines - 1) if lines > 0 else 0
        across = next(number for least, number in _ACROSS if width >= least)
        self.query_one(ChartGrid).lay(across if rows else 0, rows, across * lines)

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Read what changed and draw it, periodically."""
        # A user who leaves at once removes the panels while the page is still loading.
        if not self._ready or not self.on_top or not self.app.is_running:
            return
        if self.the_app.stops.killed(self.view.folder):
            self.view.note_killed()
        self._stale = self.view.look() or self._stale
        turned = self.view.state != self._drawn_state
        due = self._drawn + (_LOW_BANDWIDTH_S if self.the_app.low_bandwidth else _DRAW_EVERY_S)
        if turned or (self._stale and time.monotonic() >= due):
            self._stale = False
            self._drawn = time.monotonic()
            self._draw()
        if turned:
            self._turn()
        low = self.the_app.low_bandwidth
        self.query_one(ChartGrid).look(self.view.status, live=self.view.live, low=low)

    def _turn(self) -> None:
        """The run's state has changed."""
        before, self._drawn_state = self._drawn_state, self.view.state
        complete = self.view.state == "complete"
        self.set_class(complete, "-complete")
        self.query_one(Compared).show(self.view.metrics if self.view.status.at_rest else {})
        if complete:
            self._show_scores(score_lines(self.view.metrics))
            if before:
                self.query(self._first()).first().focus(scroll_visible=False)
        self.refresh_bindings()

    def _first(self) -> str:
        """What users look at first in a complete run; it must be visible."""
        return "#heatmap.-on, #scores" if self.app.size.height < _SHORT else "#scores"

    def _show_scores(self, lines: Sequence[ScoreLine]) -> None:
        """If there are few metrics, the tables below get their room."""
        table = self.query_one("#scores", Table)
        table.replace_columns(run_tables.scores(lines))
        table.show(ListRows([run_tables.score_row(line) for line in lines]))
        few = len(lines) <= _FEW_METRICS
        self.set_class(few, "-few")
        table.styles.height = len(lines) + 1 if few else None

    def _draw(self) -> None:
        view = self.view
        ident = view.folder.id
        # Its last part alone identifies a run on the command line.
        room = self.size.width >= _WHOLE_ID
        self.query_one(TopLine).tell(right=ident if room else ident.rpartition("-")[2])
        self.query_one("#head", Lines).show(run_panels.head_lines(view))
        words = run_panels.trouble_words(view)
        self.query_one("#trouble", Plain).show(words)
        self.set_class(bool(words), "-stuck")
        self.set_class(view.state in ("failed", INTERRUPTED, UNREADABLE), "-broken")
        compact, plain = self.size.height < _SHORT, self.the_app.low_bandwidth
        self._show_section("work", run_panels.work_lines(view, compact=compact, plain=plain))
        self._show_section("gpus", run_panels.gpu_lines(view, compact=compact))
        self._show_section("money", run_panels.money_lines(view))
        self._show_section("batches", run_panels.batch_lines(view, compact=compact))
        self._show_section("limits", run_panels.limit_lines(view, compact=compact))
        self._show_section("params", run_panels.param_lines(view))
        width = self.size.width // (1 + self._lay_panels()) - _BESIDE_LINES
        hint = "f shows them"
        score = run_panels.score_lines(view, compact=compact, hint=hint, width=width)
        title = run_panels.score_title(view, compact=compact, width=width)
        if title != self._score_title:
            self._score_title = title
            self.query_one("#score").border_title = Content(f" {title} ")
        self._show_section("score", score)
        self._show_answers()
        self._show_log()
        self.call_after_refresh(self._lay_charts)

    def _lay_panels(self) -> int:
        """Give the room of columns with nothing in them to the others; how many the score has."""
        columns = list(self.query("#rest > Vertical"))
        for column in columns:
            column.display = bool(column.query(".section.-on"))
        shown = sum(column.display for column in columns)
        if self.has_class("-narrow"):
            shown = min(1, shown)
        rest = self.query_one("#rest")
        rest.display = shown > 0
        rest.styles.width = f"{max(1, shown)}fr"
        return shown

    def _show_section(self, name: str, lines: Sequence[Line]) -> None:
        section = self.query_one(f"#{name}", Lines)
        section.show(lines)
        section.set_class(bool(lines), "-on")

    def _show_answers(self) -> None:
        table = self.query_one("#answers", Table)
        low = self.the_app.low_bandwidth
        due = self._answers_drawn + (_ANSWERS_LOW_BANDWIDTH_S if low else _ANSWERS_EVERY_S)
        # A line about to be opened must not move away from under the cursor.
        chosen = table.has_focus and table.cursor > 0
        if chosen or self.view.answers == self._answers:
            return
        if time.monotonic() >= due or not self._answers or not self.view.live:
            self._answers_drawn = time.monotonic()
            self._answers = self.view.answers
            gold = any(one.gold for one in self._answers)
            table.replace_columns(run_tables.answers(gold=gold))
            rows = [run_tables.answer_row(one, gold=gold) for one in self._answers]
            table.show(ListRows(rows))

    def _show_log(self) -> None:
        table = self.query_one("#log", Table)
        at_end = not table.has_focus or table.cursor >= len(table.rows) - 1
        rows = run_tables.log_rows(self.view)
        table.show(ListRows(rows))
        if at_end:
            table.cursor = len(rows) - 1

    # -- opening -----------------------------------------------------------------

    @on(Table.Opened, "#answers")
    async def _opened(self, event: Table.Opened) -> None:
        from evalbench.tui.screens.sample import SamplePage

        await self.app.push_screen(SamplePage(self.view.folder, self._answers[event.index].row))

    async def action_samples(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.samples import SamplesPage

        await self.app.push_screen(SamplesPage(self.view.folder))

    @work(exclusive=True, group="ask")
    async def action_failures(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.choose import Choose
        from evalbench.tui.screens.samples import SamplesPage
        from evalbench.tui.state.sample_query import SampleFilter

        errors = sorted(self.view.status.errors.items(), key=lambda error: -error[1])
        kind: str | None = errors[0][0] if len(errors) == 1 else ""
        if len(errors) > 1:
            choices = [Choice("", ("all of them", ""), "all")]
            choices += [Choice(name, (name, figures.count(n)), name) for name, n in errors]
            columns = (Column("error"), Column("samples", 9, right=True))
            kind = await self.app.push_screen_wait(Choose("Failed samples", columns, choices))
        if kind is not None:
            narrowed = SampleFilter(outcome="error", error=kind)
            await self.app.push_screen(SamplesPage(self.view.folder, narrowed))

    @on(events.Click, "#score")
    def _score_clicked(self) -> None:
        if self.view.status.failed:
            self.action_failures()

    async def action_charts(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.run_charts import RunChartsPage

        await self.app.push_screen(RunChartsPage(self.view.folder))

    async def action_edit(self) -> None:
        """See ``commands.py``."""
        await self.the_app.edit_run(self.view.folder)

    async def action_batches(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.batches import BatchesPage

        await self.app.push_screen(BatchesPage(self.view.folder))

    async def action_machine(self) -> None:
        """See ``commands.py``."""
        await self.the_app.open_page("machine")

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply in the run's state."""
        view = self.view
        allowed = {
            "pause": view.state in ("created", "running"),
            "stop": view.live,
            "resume": view.resumable,
            "concurrency": view.live,
            "budget": self._budget_counts(),
            "batches": bool(view.status.batches),
            "failures": view.status.failed > 0,
        }
        return True if allowed.get(action, True) else None

    def why_not(self, action: str) -> str:
        """See the base class."""
        state = f"the run is {self.view.state}"
        match action:
            case "failures":
                return "no sample failed"
            case "batches":
                return "the run has no provider batches"
            case "budget" if self.view.status.spend_usd is None:
                return "no budget without known prices"
            case "resume":
                return f"nothing to resume: {state}"
            case _:
                return f"no engine drives the run: {state}"

    def _budget_counts(self) -> bool:
        """Whether a budget can be enforced (prices are known) and would change anything."""
        known = self.view.status.spend_usd is not None
        return known and (self.view.live or self.view.state == "budget")

    def action_pause(self) -> None:
        """See ``commands.py``."""
        if stop_run(self.view.folder, pause=True):
            self._say("pausing after the calls in flight")

    def action_stop(self) -> None:
        """See ``commands.py``."""
        if words := self.the_app.stops.stop(self.view.folder):
            self._say(words)

    @work(exclusive=True, group="resume")
    async def action_resume(self) -> None:
        """See ``commands.py``."""
        budget = self.view.status.budget_usd
        changed = budget is not None and budget != self.view.budget_asked()
        # A budget that was changed while it ran is not in the run's spec.
        await start(self.the_app, self._resume_words(budget if changed else None))

    def _resume_words(self, budget: float | None = None) -> tuple[str, ...]:
        words = ("resume", str(self.view.folder.path))
        return words if budget is None else (*words, "--budget", f"{budget:f}")

    @work(exclusive=True, group="ask")
    async def action_concurrency(self) -> None:
        """See ``commands.py``."""
        now = self.view.gauges.get("concurrency") or ""
        typed = await self.app.push_screen_wait(
            Enter(
                "Maximum concurrent calls",
                value=str(now),
                note="a number, or auto for adaptive",
                check=read_concurrency,
            )
        )
        if typed is not None:
            self.view.folder.command("concurrency", value=read_concurrency(typed))

    @work(exclusive=True, group="ask")
    async def action_budget(self) -> None:
        """See ``commands.py``."""
        status = self.view.status
        current = "" if status.budget_usd is None else f"{status.budget_usd:g}"
        typed = await self.app.push_screen_wait(
            Enter(
                f"Budget for {self._budget_covers()}, in US dollars",
                value=current,
                note="none removes the budget" if self.view.live else "the run continues with it",
                check=lambda text: read_budget(text, status),
            )
        )
        if typed is None:
            return
        budget = read_budget(typed, status)
        if self.view.live:
            self.view.folder.command("budget", value=budget)
        else:
            await start(self.the_app, self._resume_words(budget))

    def _budget_covers(self) -> str:
        try:
            grid = grid_of(self.view.folder)
        except UsageError:
            grid = None
        return "all runs of the grid" if grid else "the whole run"

    @work(exclusive=True, group="report")
    async def action_report(self) -> None:
        """See ``commands.py``."""
        self._say("writing the report")
        try:
            *_, line = await run_command("report", str(self.view.folder.path))
        except EvalbenchError as error:
            await self.app.push_screen_wait(Trouble(error))
        else:
            self.notify(f"the report is in {line['files'][0]}", timeout=15, markup=False)

    def action_copy(self) -> None:
        """See ``commands.py``."""
        folder = self.view.folder
        name = folder.id if folder.path.parent == runs_dir() else shlex.quote(str(folder.path))
        copy(self.the_app, f"evalbench attach {name}", "the command")

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)


def _section(name: str, title: str) -> Lines:
    section = Lines(id=name, classes="section")
    section.border_title = f" {title} "
    return section

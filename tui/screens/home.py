"""Home: all runs on this machine, their results, and actions on them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import Input

from evalbench.engine.runs.folder import Lock, RunFolder
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.state import figures
from evalbench.tui.state.run_list import ORDERS, STATE_MARKS, RunLine, RunList, matching, ordered
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.topline import TopLine

_NAME = 14
"""The width of a benchmark's name: a longer title is shown by the preview and the run's page."""

_PICTURE = 10
"""The width of the picture of a score, or of the progress of a running run."""

_SHARE = "0–100 %"
"""The title of its column, which sorts like the score's."""

_MODEL = 30
"""The width up to which a model's name makes less important columns give way."""

_COLUMNS = (
    Column("", 1),
    Column("", 1),
    Column("state", drop=1),
    Column("benchmark"),
    Column("model", least=18),
    Column("score"),
    Column(_SHARE, _PICTURE, drop=5),
    Column("done", right=True, drop=3),
    Column("spent", right=True, drop=4),
    Column("age", 7, right=True, drop=2),
)
"""Those without a width are as wide as what is in them."""

_AT_MODEL = 4
_STAYS = 2
"""Columns that drop at this or earlier do not give way to a long name of a model."""

_EMPTY = "No runs yet. Press n to start one."
_NO_MATCH = "No matching runs. Press escape to show all."
_NEWEST = ("age", False)
"""The default order of runs."""

_UNDO_S = 20.0
"""Seconds during which deleted runs can be restored."""

_RESTS_S = 0.15
"""Seconds that the cursor has to stay on a run before it is read."""


class HomePage(FilteredPage):
    """The list of runs."""

    SCOPE: ClassVar[str] = "home"
    FILTER = "words, or state:running model:claude score<50 cost>1 tag:paper age<2d"
    AUTO_FOCUS = "#runs"
    DEFAULT_CSS = """
    HomePage #panes { height: 1fr; layout: vertical; }
    HomePage #runs { height: 1fr; }
    HomePage #beside, HomePage #preview, HomePage #glance { display: none; }
    HomePage.-tall #beside { display: block; height: auto; }
    HomePage.-tall #runs, HomePage.-tall #preview {
        border: round $panel-lighten-2; border-title-color: $text-primary;
        border-subtitle-color: $text-muted;
    }
    HomePage.-tall #preview.-on { display: block; height: 18; }
    HomePage.-tall.-wide #panes { layout: horizontal; }
    HomePage.-tall.-wide #runs { width: 2fr; }
    HomePage.-tall.-wide #beside { width: 1fr; height: 1fr; }
    HomePage.-tall.-wide #preview.-on { height: 1fr; }
    HomePage.-tall.-wide #glance.-on { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._runs = RunList()
        self._lines: list[RunLine] = []
        self._shown: list[RunLine] = []
        self._marked: dict[Path, RunFolder] = {}
        self._doomed: dict[Path, tuple[float, RunFolder]] = {}
        self._order = _NEWEST
        self._widths = {name: len(name) + len(" ▾") for name in (*ORDERS, "model") if name != "age"}
        self._previewing: Timer | None = None
        self._previewed: RunLine | None = None
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Top line, table, footer."""
        yield TopLine("Home")
        with Panes(id="panes"):
            table = Table(_COLUMNS, empty=_EMPTY, id="runs")
            table.border_title = "runs"
            yield table
        yield Footer()

    def on_mount(self) -> None:
        """Show the runs, and the welcome page to new users."""
        self._set_order(*_NEWEST)
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
                await self.the_app.open_page("keys")
            case "new":
                await self.the_app.open_page("new")

    async def action_providers(self) -> None:
        """See ``commands.py``."""
        await self.the_app.open_page("providers")

    # -- showing -----------------------------------------------------------------

    def tick(self) -> None:
        """Read what changed."""
        if not self.is_mounted:
            return
        if self._doomed:
            self._delete_due()
        self._lines = self._look()
        here = {line.folder.path for line in self._lines}
        self._marked = {path: folder for path, folder in self._marked.items() if path in here}
        self._show()
        for glance in self.query("#glance"):
            glance.look(self._lines)  # type: ignore[attr-defined]
        # A line is replaced by a new object whenever something about its run changes.
        if (line := self._current()) and line is not self._previewed:
            known = self._previewed
            self._previewed = line
            if known and known.folder.path == line.folder.path:
                # The row and the preview of a run are of one moment.
                self._preview()
            else:
                self._preview_soon()

    def _tell(self) -> None:
        """Show the number of listed runs."""
        every, number = len(self._lines), len(self._shown)
        of = f"{number} of " if number != every else ""
        words = of + figures.counted(every, "run")
        if live := sum(line.live for line in self._shown):
            words += f", {live} running"
        if self._marked:
            words += f", {len(self._marked)} marked"
        self.query_one(TopLine).tell(right=self._problem or words)

    def runs(self) -> list[RunLine]:
        """The current state of all runs, also while another page covers this one."""
        return self._lines if self.on_top else self._look()

    def _look(self) -> list[RunLine]:
        """All runs except those about to be deleted."""
        return [one for one in self._runs.look() if one.folder.path not in self._doomed]

    def _show(self) -> None:
        here = self._current()
        self._shown, self._problem = matching(self._lines, self.narrowed_by)
        if self._order != _NEWEST:
            by, turned = self._order
            self._shown = ordered(self._shown, by, turned=turned)
        table = self.query_one(Table)
        table.replace_columns(self._columns())
        table.show(_Rows(self._shown, self._marked), empty=_NO_MATCH if self._lines else _EMPTY)
        self._tell()
        if here is not None:
            # Runs inserted above must not move the cursor to another run.
            paths = [line.folder.path for line in self._shown]
            if here.folder.path in paths:
                table.cursor = paths.index(here.folder.path)

    def _current(self) -> RunLine | None:
        table = self.query_one(Table)
        return self._shown[table.cursor] if table.cursor < len(self._shown) else None

    # -- preview -----------------------------------------------------------------

    def on_screen_resume(self) -> None:
        """The preview, too, is made after the first frame."""
        super().on_screen_resume()
        self.call_after_refresh(self._have_preview)

    async def _have_preview(self) -> None:
        from evalbench.tui.screens.home_glance import Glance
        from evalbench.tui.screens.home_preview import Preview

        if self.is_attached and not self.query("#beside"):
            await self.query_one("#panes").mount(Container(Preview(), Glance(), id="beside"))
        self._preview()

    def _preview_soon(self) -> None:
        """Show the run under the cursor once the cursor stays there."""
        if self._previewing:
            self._previewing.stop()
        self._previewing = self.set_timer(_RESTS_S, self._preview)

    def _preview(self) -> None:
        for preview in self.query("#preview"):
            line = self._current() if self.has_class("-tall") else None
            preview.show(line.folder if line else None)  # type: ignore[attr-defined]

    # -- filter ------------------------------------------------------------------

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._show()

    # -- order -------------------------------------------------------------------

    def _set_order(self, by: str, turned: bool) -> None:
        self._order = by, turned
        self._show()

    def _columns(self) -> list[Column]:
        """The columns at the width of their contents, which only grows: nothing jumps about."""
        by, turned = self._order
        arrow = "▾" if ORDERS[by][1] is not turned else "▴"
        for line in self._lines:
            widest = {
                "state": len(line.state),
                "benchmark": min(_NAME, cell_len(_name(line))),
                "score": len(line.score),
                "done": len(line.done),
                "spent": len(line.spent),
                "model": min(_MODEL, cell_len(line.model)),
            }
            self._widths = {name: max(self._widths[name], wide) for name, wide in widest.items()}
        columns = []
        for column in _COLUMNS:
            title = f"{column.title} {arrow}" if column.title == by else column.title
            wide = 0 if column.title == "model" else self._widths.get(column.title, column.width)
            columns.append(column._replace(title=title, width=wide))
        fixed = sum(column.width + 1 for column in columns if column.drop <= _STAYS)
        room = self.query_one(Table).size.width - fixed - 1
        least = max(columns[_AT_MODEL].least, min(room, self._widths["model"]))
        columns[_AT_MODEL] = columns[_AT_MODEL]._replace(least=least)
        return columns

    def on_resize(self, event: events.Resize) -> None:
        """Other columns fit."""
        super().on_resize(event)
        if self.is_mounted:
            self._show()

    def action_sort(self) -> None:
        """See ``commands.py``."""
        names = list(ORDERS)
        place = names.index(self._order[0])
        self._set_order(names[(place + 1) % len(names)], False)

    def action_reverse(self) -> None:
        """See ``commands.py``."""
        by, turned = self._order
        self._set_order(by, not turned)

    @on(Table.HeadClicked)
    def _head_clicked(self, event: Table.HeadClicked) -> None:
        name = _COLUMNS[event.index].title
        name = "score" if name == _SHARE else name
        if name in ORDERS:
            self._set_order(name, name == self._order[0] and not self._order[1])

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable commands that do not apply to the run under the cursor."""
        line = self._current() if self.is_mounted else None
        match action:
            case "open" | "delete" | "mark" | "edit" | "tag" | "export" | "compare":
                return None if line is None else True
            case "undo":
                return bool(self._doomed)
            case "resume":
                return True if line and line.resumable else None
            case "stop":
                return True if line and line.live else None
        return True

    def why_not(self, action: str) -> str:
        """See :class:`Page`."""
        line = self._current()
        if line is None:
            return "no run is selected"
        if action == "resume":
            return f"nothing to resume: the run is {line.state}"
        return f"nothing to stop: the run is {line.state}"

    @on(Table.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()
        self._preview_soon()

    def action_leave(self) -> None:
        """See ``commands.py``."""
        self.the_app.action_leave()

    async def action_new(self) -> None:
        """See ``commands.py``."""
        await self.the_app.open_page("new")

    async def action_open(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            await self.the_app.open_run(line.folder)

    @on(Table.Opened)
    async def _opened(self) -> None:
        await self.action_open()

    @work(exclusive=True, group="resume")
    async def action_resume(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.starting import start

        if line := self._current():
            await start(self.the_app, ("resume", line.folder.id))

    def action_mark(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            path = line.folder.path
            if self._marked.pop(path, None) is None:
                self._marked[path] = line.folder
            self.tick()
            self.query_one(Table).action_down()
            self.refresh_bindings()

    def _chosen(self) -> list[RunFolder]:
        """The runs to compare: the marked ones; if that is one, also that under the cursor."""
        chosen = dict(self._marked)
        if len(chosen) == 1 and (line := self._current()):
            chosen.setdefault(line.folder.path, line.folder)
        return list(chosen.values())

    async def action_edit(self) -> None:
        """See ``commands.py``."""
        if line := self._current():
            await self.the_app.edit_run(line.folder)

    async def action_leaderboard(self) -> None:
        """See ``commands.py``."""
        await self.the_app.open_page("leaderboard")

    async def action_machine(self) -> None:
        """See ``commands.py``."""
        await self.the_app.open_page("machine")

    async def action_compare(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.compare import ComparePage

        if len(chosen := self._chosen()) > 1:
            await self.app.push_screen(ComparePage(chosen))
        else:
            words = "move to another run and press c" if self._marked else "mark a run with space"
            self.notify(f"comparing takes two runs: {words}", markup=False)

    def _acted_on(self) -> list[RunLine]:
        """The marked runs, or the one under the cursor."""
        marked = [one for one in self._lines if one.folder.path in self._marked]
        return marked or [line for line in (self._current(),) if line]

    @work(exclusive=True, group="tag")
    async def action_tag(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.run_actions import tag_runs

        if lines := self._acted_on():
            await tag_runs(self.the_app, lines)
            self.tick()

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.run_actions import export_runs

        if lines := self._acted_on():
            await export_runs(self.the_app, lines)

    def action_stop(self) -> None:
        """See ``commands.py``."""
        if (line := self._current()) and (words := self.the_app.stops.stop(line.folder)):
            self.notify(words, markup=False)

    @work
    async def action_delete(self) -> None:
        """See ``commands.py``."""
        from evalbench.tui.screens.dialogs import Confirm

        doomed = self._acted_on()
        if not doomed:
            return
        if len(doomed) == 1:
            question = f"Delete {doomed[0].folder.id}?"
            note = f"{doomed[0].name} × {doomed[0].model}, samples {doomed[0].done}. "
        else:
            question = f"Delete the {len(doomed)} marked runs?"
            more = f" and {len(doomed) - 3} more" if len(doomed) > 3 else ""
            note = ", ".join(one.folder.id for one in doomed[:3]) + f"{more}. "
        note += f"Undo (u) brings back what was deleted, for {_UNDO_S:.0f} s."
        if await self.app.push_screen_wait(Confirm(question, yes="Delete", note=note)):
            self._doom([one.folder for one in doomed])

    def _doom(self, folders: Sequence[RunFolder]) -> None:
        """Remove runs from the list now, and from disk unless that is undone in time."""
        from evalbench.engine.errors import EvalbenchError

        end = time.monotonic() + _UNDO_S
        for folder in folders:
            try:
                Lock(folder).release()
            except EvalbenchError as error:
                self.the_app.tell_trouble(error)
                continue
            self._doomed[folder.path] = end, folder
            self._marked.pop(folder.path, None)
        self.tick()
        self.refresh_bindings()

    def action_undo(self) -> None:
        """See ``commands.py``."""
        self._doomed.clear()
        self.tick()
        self.refresh_bindings()

    def _delete_due(self, *, every: bool = False) -> None:
        """Delete runs whose undo time is over; on quitting, all of them."""
        from evalbench.engine.errors import EvalbenchError
        from evalbench.engine.process.launch import delete_run

        for path, (end, folder) in list(self._doomed.items()):
            if every or time.monotonic() >= end:
                del self._doomed[path]
                try:
                    delete_run(folder)
                except EvalbenchError as error:
                    if not every:
                        self.the_app.tell_trouble(error)
                self.refresh_bindings()

    def on_unmount(self) -> None:
        """Quitting answers the question, and the app does not come back."""
        if self._doomed:
            self._delete_due(every=True)


class Panes(Container):
    """The list, and the run under its cursor."""


class _Rows:
    """Runs as rows of the table."""

    def __init__(self, lines: Sequence[RunLine], marked: Collection[Path]) -> None:
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
            _name(line),
            line.model,
            line.score,
            _picture(line),
            line.done,
            line.spent,
            (line.age, "dim"),
        )


def _name(line: RunLine) -> str:
    return line.name if cell_len(line.name) <= _NAME else line.benchmark


def _picture(line: RunLine) -> Cell:
    """How far a run is, while it is running; then its score."""
    if line.live:
        [(full, tone), (rest, _)] = Bar(line.share).draw(_PICTURE)
        return full + rest, tone
    return figures.picture(line.metric, _PICTURE), ""

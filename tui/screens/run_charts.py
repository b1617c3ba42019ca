"""Charts of one run: its score with its interval, speed, latency, cost, failures."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Container

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.history import History, read_history
from evalbench.tui.screens.page import Page
from evalbench.tui.state.chart import draw_chart
from evalbench.tui.state.run_charts import charts, group_bars
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.text import Plain, cell
from evalbench.tui.widgets.topline import TopLine

_AGAIN_S, _AGAIN_LOW_BANDWIDTH_S = 2.0, 10.0
_AGAIN_SHARE = 20
"""A live run is read again after this many times the time that reading took."""

_LEAST_ROWS, _MOST_ROWS = 9, 22
_NAMES_MOST = 28
_MOST_BARS = 12


class RunChartsPage(Page):
    """As many charts side by side as fit."""

    SCOPE: ClassVar[str] = "charts"
    DEFAULT_CSS = """
    RunChartsPage #all { padding: 0 1; scrollbar-size-vertical: 1; }
    RunChartsPage #grid {
        layout: grid; grid-size: 1; grid-gutter: 1 3; grid-rows: auto; height: auto;
    }
    RunChartsPage.-middling #grid { grid-size: 2; }
    RunChartsPage.-wide #grid { grid-size: 3; }
    RunChartsPage #empty { color: $text-muted; padding: 0 1; }
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self._watch = RunFollower(folder)
        self._history: History | None = None
        self._due = 0.0

    def compose(self) -> ComposeResult:
        """Top line, charts, footer."""
        status = self._watch.status
        yield TopLine(f"Charts of {status.name} × {status.model}")
        yield Plain("Reading how it went…", id="empty")
        with Scroll(id="all"):
            yield Container(id="grid")
        yield Footer()

    def on_mount(self) -> None:
        """Start reading."""
        self.set_focus(self.query_one("#all"))
        self._read()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the charts to the screen."""
        self.call_after_refresh(self._draw)

    def tick(self) -> None:
        """Read a live run again periodically."""
        if not self.is_mounted or self._watch.ended:
            return
        self._watch.look()
        if self._watch.ended or time.monotonic() >= self._due:
            self._read()

    @work(exclusive=True, group="read", exit_on_error=False)
    async def _read(self) -> None:
        self._due = float("inf")
        value = next(iter(self._watch.status.metrics), "")
        began = time.monotonic()
        try:
            journal = self._watch.folder.journal
            self._history = await asyncio.to_thread(read_history, journal, value)
        except JournalError as error:
            self.query_one("#empty", Plain).show(f"{error.what}\n{error.why}".strip())
        else:
            await self._draw()
        took = time.monotonic() - began
        least = _AGAIN_LOW_BANDWIDTH_S if self.the_app.low_bandwidth else _AGAIN_S
        self._due = time.monotonic() + max(least, _AGAIN_SHARE * took)

    async def _draw(self) -> None:
        """Draw what was read, each chart in its own widget."""
        if self._history is None or not self.is_attached:
            return
        grid = self.query_one("#grid")
        width = self._chart_width()
        blocks = self._blocks(self._history, width)
        widgets = list(self.query("#grid > Lines").results(Lines))
        if len(widgets) != len(blocks):
            await grid.remove_children()
            widgets = [Lines() for _ in blocks]
            await grid.mount_all(widgets)
        for widget, lines in zip(widgets, blocks, strict=True):
            widget.show(lines)
        empty = "" if blocks else "Nothing was answered yet."
        self.query_one("#empty", Plain).show(empty)
        self.query_one("#empty").display = bool(empty)
        self.query_one(TopLine).tell(right=self._watch.state)

    def _blocks(self, history: History, width: int) -> list[list[Line]]:
        status = self._watch.status
        found = charts(history, status, status.created)
        columns = self._columns()
        rows = -(-len(found) // columns) or 1
        height = min(_MOST_ROWS, max(_LEAST_ROWS, (self.size.height - 2) // rows - 1))
        blocks: list[list[Line]] = [list(draw_chart(chart, width, height)) for chart in found]
        for tag, bars in group_bars(history, _MOST_BARS):
            names = min(_NAMES_MOST, max(len(bar.name) for bar in bars))
            values = max(len(bar.value) for bar in bars)
            lines: list[Line] = [[(f"By {tag}, best first", "strong")]]
            lines += [
                [
                    cell(bar.name, names) + " ",
                    (f"{bar.value:>{values}} ", "strong"),
                    Bar(bar.share, "accent"),
                    (f" {bar.counts}", "dim"),
                ]
                for bar in bars
            ]
            blocks.append(lines)
        return blocks

    def _columns(self) -> int:
        return 3 if self.has_class("-wide") else 2 if self.has_class("-middling") else 1

    def _chart_width(self) -> int:
        columns = self._columns()
        room = self.size.width - 4 - 3 * (columns - 1)
        return room // columns

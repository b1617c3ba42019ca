"""All charts of one run: its score with its interval, speed, latency, errors, cost, groups."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult

from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.screens.page import Page
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.widgets.chart_grid import ChartGrid
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.text import Plain
from evalbench.tui.widgets.topline import TopLine

_LEAST_ROWS, _MOST_ROWS = 9, 22
_CHARTS = 6
"""How many charts fill the screen; groups come below."""


class RunChartsPage(Page):
    """As many charts side by side as fit."""

    SCOPE: ClassVar[str] = "charts"
    DEFAULT_CSS = """
    RunChartsPage #all { padding: 0 1; scrollbar-size-vertical: 1; }
    RunChartsPage #empty { color: $text-muted; padding: 0 1; }
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self._watch = RunFollower(folder)

    def compose(self) -> ComposeResult:
        """Top line, charts, footer."""
        status = self._watch.status
        yield TopLine(f"Charts of {status.name} × {status.model}")
        yield Plain("Reading how it went…", id="empty")
        with Scroll(id="all"):
            yield ChartGrid(self._watch.folder)
        yield Footer()

    def on_mount(self) -> None:
        """Start reading."""
        self.set_focus(self.query_one("#all"))
        self.tick()

    def on_resize(self, event: events.Resize) -> None:
        """Fit the charts to the screen."""
        across = 3 if self.has_class("-wide") else 2 if self.has_class("-middling") else 1
        lines = -(-_CHARTS // across)
        rows = min(_MOST_ROWS, max(_LEAST_ROWS, (self.size.height - 2) // lines - 1))
        self.query_one(ChartGrid).lay(across, rows)

    def tick(self) -> None:
        """Read a live run again periodically."""
        if not self.is_mounted:
            return
        self._watch.look()
        live, low = not self._watch.ended, self.the_app.low_bandwidth
        self.query_one(ChartGrid).look(self._watch.status, live=live, low=low)
        self.query_one(TopLine).tell(right=self._watch.state)

    @on(ChartGrid.Read)
    def _read(self, event: ChartGrid.Read) -> None:
        words = event.trouble or ("" if event.number else "Nothing was answered yet.")
        empty = self.query_one("#empty", Plain)
        empty.show(words)
        empty.display = bool(words)

"""A run's results side by side: matrices of its scores, and its judges' agreement."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from evalbench.tui.state.agreement import AgreementLine, agreement_lines
from evalbench.tui.state.heatmap import heatmaps
from evalbench.tui.state.scores import Metrics
from evalbench.tui.widgets.heatmap import HeatmapView
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.text import cell


class Compared(Container):
    """Takes no space while there is nothing to compare."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    Compared { height: auto; display: none; layout: horizontal; }
    Compared.-on { display: block; }
    Compared > .section { width: 6fr; }
    Compared > #heatmap { width: 5fr; }
    .-narrow Compared { layout: vertical; }
    .-narrow Compared > .section, .-narrow Compared > #heatmap { width: 1fr; }
    .-tall Compared { margin-bottom: 1; }
    """

    def compose(self) -> ComposeResult:
        """Both sections, empty."""
        yield HeatmapView(id="heatmap", classes="section")
        judges = Lines(id="agreement", classes="section")
        judges.border_title = " judges "
        yield judges

    def show(self, metrics: Metrics) -> None:
        """Show both as available; nothing for a run without such metrics."""
        matrices, judges = heatmaps(metrics), agreement_lines(metrics)
        heatmap = self.query_one("#heatmap", HeatmapView)
        heatmap.border_title = " side by side "
        heatmap.show_matrices(matrices)
        heatmap.set_class(bool(matrices), "-on")
        agreement = self.query_one("#agreement", Lines)
        agreement.show(_lines(judges))
        agreement.set_class(bool(judges), "-on")
        self.set_class(bool(matrices or judges), "-on")


def _lines(judges: list[AgreementLine]) -> list[Line]:
    values = max((len(line.value) for line in judges), default=0)
    return [
        [
            (cell(line.value, values, right=True), "strong"),
            f"  {line.short}" + (f": {line.reading}" if line.reading else ""),
            (f"  {line.counts if '/' in line.counts else f'n {line.counts}'}", "dim")
            if line.counts
            else "",
        ]
        for line in judges
    ]

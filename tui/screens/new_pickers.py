"""A new run's three pickers, side by side."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal

from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Column

_MODEL_COLUMNS = (
    Column("name"),
    Column("context", 9, right=True),
    Column("$/M in–out", 13, right=True),
    Column("retires", 11),
)
"""If these do not fit, the line about the model has the same information."""

_ROOM = ((56, 4), (44, 3))
"""Picker widths from which this many of these columns are shown; below, only the name."""


class Pickers(Horizontal):
    """Benchmark, provider, model. They grow with the screen, and fold if it is small."""

    DEFAULT_CSS = """
    Pickers { height: 8; }
    Pickers #benchmark { width: 22; }
    Pickers #provider { width: 25; }
    Pickers #model { width: 1fr; }
    Pickers.-roomy #benchmark { width: 1fr; }
    Pickers.-roomy #provider { width: 1fr; }
    Pickers.-roomy #model { width: 2fr; }
    Pickers.-folded { height: 3; }
    Pickers.-folded Table { display: none; }
    """

    def compose(self) -> ComposeResult:
        """In the order of choosing."""
        yield Picker(
            "benchmark", (Column("name"),), hint="Type to filter", id="benchmark", goes_on=True
        )
        yield Picker(
            "provider",
            (Column("name"), Column("key", 8)),
            hint="Type to filter",
            id="provider",
            goes_on=True,
        )
        yield Picker(
            "model",
            _MODEL_COLUMNS[:1],
            hint="Type to filter, or a name",
            id="model",
            typed="use",
            goes_on=True,
        )

    def on_resize(self, event: events.Resize) -> None:
        """Show more columns for each model if there is room."""
        self.set_class(event.size.width >= 100, "-roomy")
        room = event.size.width // 2 if event.size.width >= 100 else event.size.width - 47
        columns = next((columns for cells, columns in _ROOM if room >= cells), 1)
        self.query_one("#model", Picker).replace_columns(_MODEL_COLUMNS[:columns])

    def fold(self, *, folded: bool) -> None:
        """Show only what was chosen, to leave room for the others."""
        self.set_class(folded, "-folded")
        for picker in self.query(Picker):
            picker.fold(folded)

"""The panels of a new run: its three pickers, and its estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.timer import Timer
from textual.worker import Worker

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.money_words import Estimate, estimate_lines
from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Column
from evalbench.tui.widgets.text import Plain

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


SETTLED_S = 0.6
"""Seconds without a change before a new estimate is requested."""


class EstimatePanel(VerticalScroll, can_focus=False):
    """Mode and key, calls, tokens and cost, and the equivalent command line.

    The estimate comes from a separate command, which any change cancels.
    """

    DEFAULT_CSS = """
    EstimatePanel #state { height: auto; color: $text-muted; }
    EstimatePanel #takes { height: auto; min-height: 3; }
    EstimatePanel #takes.-bad { color: $text-error; }
    EstimatePanel #command { height: auto; color: $text-primary; }
    """

    def __init__(self, told: Callable[[EvalbenchError], list[str]], *, id: str) -> None:
        """``told`` gives the lines that say why there is no estimate."""
        super().__init__(id=id)
        self._told = told
        self.border_title = "estimate"
        self._settling: Timer | None = None
        self._estimating: Worker[None] | None = None
        self._known: tuple[tuple[str, ...], Estimate] | None = None

    def compose(self) -> ComposeResult:
        """Three texts."""
        yield Plain(id="state")
        yield Plain("loading…", id="takes")
        yield Plain(id="command")

    def tell_state(self, words: str) -> None:
        """Show how the model is called and where its key is."""
        self.query_one("#state", Plain).show(words)

    def tell_command(self, words: str) -> None:
        """Show the equivalent command."""
        self.query_one("#command", Plain).show(words)

    def tell(self, lines: Sequence[str], *, bad: bool = False) -> None:
        """Show this instead of an estimate; a pending one is cancelled."""
        if self._settling:
            self._settling.stop()
        if self._estimating:
            self._estimating.cancel()
        self._show(lines, bad=bad)

    def _show(self, lines: Sequence[str], *, bad: bool = False) -> None:
        if not self.is_mounted:
            return
        takes = self.query_one("#takes", Plain)
        takes.show("\n".join(lines))
        takes.set_class(bad, "-bad")

    def estimate_soon(self, words: tuple[str, ...]) -> None:
        """Estimate this run as soon as nothing has changed for a moment."""
        self.tell(["estimating…"])
        self._known = None
        self._settling = self.set_timer(SETTLED_S, lambda: self._begin(words))

    def _begin(self, words: tuple[str, ...]) -> None:
        self._estimating = self._estimate(words)

    @work
    async def _estimate(self, words: tuple[str, ...]) -> None:
        try:
            self._show(estimate_lines(await self._ask(words)))
        except EvalbenchError as error:
            self._show(self._told(error), bad=True)

    async def estimate(self, words: tuple[str, ...]) -> Estimate:
        """The estimate of this run: the one that is shown, or a new one.

        Raises:
            CommandFailed: it cannot be estimated, and so could not be started either.
        """
        if self._known and self._known[0] == words:
            return self._known[1]
        self.tell(["estimating before the start…"])
        try:
            found = await self._ask(words)
        except EvalbenchError as error:
            self._show(self._told(error), bad=True)
            raise
        self._show(estimate_lines(found))
        return found

    async def _ask(self, words: tuple[str, ...]) -> Estimate:
        lines = await run_command("estimate", *words)
        found = next(line for line in lines if line["event"] == "estimate")
        self._known = words, found
        return found

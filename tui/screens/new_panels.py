"""The panels of a new run: its three pickers, and its estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.segment import Segment
from textual import events, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.worker import Worker

from evalbench.engine.errors import EvalbenchError
from evalbench.tui.state.cells import cell
from evalbench.tui.state.cli_child import run_command
from evalbench.tui.state.money_words import Estimate
from evalbench.tui.widgets.picker import Picker
from evalbench.tui.widgets.table import Column
from evalbench.tui.widgets.text import plain

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
            "provider", (Column("name"), Column("key", 8)), hint="Type to filter", id="provider"
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


_ROOMY = 12
"""Rows from which the parts are set apart."""

SETTLED_S = 0.6
"""Seconds without a change before a new estimate is requested."""


class EstimatePanel(ScrollView, can_focus=False):
    """Mode and key, calls, tokens and cost, and the equivalent command line.

    The estimate comes from a separate command, which any change cancels. The text changes with
    almost every key, so it wraps and paints itself: its height depends on nothing in it, and the
    screen is not laid out again.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES = {f"estimatepanel--{part}" for part in ("state", "takes", "bad", "command")}
    DEFAULT_CSS = """
    EstimatePanel { overflow: hidden; }
    EstimatePanel .estimatepanel--state { color: $text-muted; }
    EstimatePanel .estimatepanel--bad { color: $text-error; }
    EstimatePanel .estimatepanel--command { color: $text-primary; }
    """

    def __init__(
        self,
        found: Callable[[Estimate], list[str]],
        failed: Callable[[EvalbenchError], list[str]],
        *,
        id: str,
    ) -> None:
        """``found`` and ``failed`` give the lines for an estimate, and for why there is none."""
        super().__init__(id=id)
        self._found, self._failed = found, failed
        self.border_title = "estimate"
        self._settling: Timer | None = None
        self._estimating: Worker[None] | None = None
        self._known: tuple[tuple[str, ...], Estimate] | None = None
        self._parts = {"state": "", "takes": "loading…", "command": ""}
        self._bad = False
        self._lines: list[tuple[str, str]] = []

    @property
    def text(self) -> str:
        """Everything that is shown, also what there is no room for."""
        return "\n".join(filter(None, self._parts.values()))

    def tell_state(self, words: str) -> None:
        """Show how the model is called and where its key is."""
        self._put("state", words)

    def tell_command(self, words: str) -> None:
        """Show the equivalent command."""
        self._put("command", words)

    def _put(self, part: str, words: str) -> None:
        if words != self._parts[part]:
            self._parts[part] = words
            self._wrap()

    def _wrap(self) -> None:
        """Fit the text to the width, its parts apart if there is room."""
        width = self.size.width
        if not width:
            return
        before, self._lines = self._lines, []
        roomy = self.size.height >= _ROOMY
        for part, words in self._parts.items():
            tone = "bad" if part == "takes" and self._bad else part
            self._lines += [(line.plain, tone) for line in plain(words).wrap(width) if words]
            if roomy and words:
                self._lines.append(("", part))
        if len(before) != len(self._lines):
            size = Size(0, len(self._lines))
            self.set_reactive(ScrollView.virtual_size, size)
            self._scroll_update(size)
        if before != self._lines:
            self.refresh()

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether the wheel scrolls."""
        return bool(self.max_scroll_y)

    def on_resize(self) -> None:
        """Fit the text to the new width."""
        self._wrap()

    def render_line(self, y: int) -> Strip:
        """The line at ``y``."""
        width, at = self.size.width, y + int(self.scroll_offset.y)
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        text, part = self._lines[at]
        style = self.get_component_rich_style(f"estimatepanel--{part}")
        return Strip([Segment(cell(text, width), style)], width)

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
        repaints = bad != self._bad
        self._bad = bad
        self._put("takes", "\n".join(lines))
        if repaints:
            self._wrap()

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
            self._show(self._found(await self._ask(words)))
        except EvalbenchError as error:
            self._show(self._failed(error), bad=True)

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
            self._show(self._failed(error), bad=True)
            raise
        self._show(self._found(found))
        return found

    async def _ask(self, words: tuple[str, ...]) -> Estimate:
        lines = await run_command("estimate", *words)
        found = next(line for line in lines if line["event"] == "estimate")
        self._known = words, found
        return found

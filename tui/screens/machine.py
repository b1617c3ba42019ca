"""Machine: GPUs, CPUs and memory of this machine, and which run uses how much of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container

from evalbench.engine.kept_workers import unload
from evalbench.engine.terminal_text import one_line
from evalbench.tui.screens.page import Page
from evalbench.tui.state import figures
from evalbench.tui.state.chart import Chart, Series, draw_chart
from evalbench.tui.state.machine import Holder, Machine, MachineReading, card_facts, holder_of
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.focus import Scroll
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.gauge import Gauge
from evalbench.tui.widgets.lines import Line, Lines, Piece
from evalbench.tui.widgets.sparkline import STEPS, Sparkline
from evalbench.tui.widgets.table import Cell, Column, Table
from evalbench.tui.widgets.topline import TopLine

_EVERY_S, _LOW_BANDWIDTH_S = 1.5, 4.0
_MOST_HOLDERS = 4
"""Maximum processes listed below a card; the table has all."""
_CARD_LINES = 6
_NOT_CARDS = 16
_CHART_ROWS = 8
"""Rows needed by everything except cards."""

_LINES_AROUND = 2
"""The first line and the footer."""
_LEAST_TABLE, _MOST_TABLE = 5, 35
"""Rows that the processes get at least, and percent of the rows that they get at most."""

_COLUMNS = (
    Column("process", 16),
    Column("run", most=64),
    Column("pid", 8, right=True, drop=1),
    Column("CPU", 7, right=True),
    Column("memory", 10, right=True),
    Column("on GPUs", 10, right=True),
)
_NO_PROCESS = "No active runs. Processes of engines and local models are listed here."


class MachinePage(Page):
    """Reads the machine only while it is the top screen."""

    SCOPE: ClassVar[str] = "machine"
    DEFAULT_CSS = """
    MachinePage #all { height: auto; scrollbar-size-vertical: 1; }
    MachinePage #grid {
        layout: grid; grid-size: 1; grid-rows: auto; grid-gutter: 0 2; height: auto; padding: 0 1;
    }
    MachinePage.-middling #grid { grid-size: 2; }
    MachinePage.-wide #grid { grid-size: 2; }
    MachinePage .section {
        border-top: solid $panel-lighten-2; border-title-color: $text-primary;
    }
    MachinePage.-tall .section { padding-bottom: 1; }
    MachinePage #holders { padding: 0 1; min-height: 5; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._machine = Machine()
        self._seen = MachineReading()
        self._due = 0.0

    def compose(self) -> ComposeResult:
        """Sections side by side, processes below."""
        yield TopLine("Machine")
        with Scroll(id="all"), Container(id="grid"):
            yield _section("processors")
            yield _section("memory")
        yield Table(_COLUMNS, empty="Reading…", id="holders")
        yield Footer()

    def on_mount(self) -> None:
        """Focus the table."""
        self.set_focus(self.query_one(Table))

    def on_resize(self, event: events.Resize) -> None:
        """Show more if there is room."""
        if self._seen.system.total:
            self.call_after_refresh(self._draw)

    def tick(self) -> None:
        """Read the machine periodically."""
        if self.is_mounted and self.on_top and time.monotonic() >= self._due:
            self._read()

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        self._due = float("inf")
        try:
            # The driver's library may take a second to load.
            runs = self.the_app.runs()
            self._seen = await asyncio.to_thread(self._machine.read, runs)
            await self._draw()
        finally:
            least = _LOW_BANDWIDTH_S if self.the_app.low_bandwidth else _EVERY_S
            self._due = time.monotonic() + least

    # -- showing -----------------------------------------------------------------

    async def _draw(self) -> None:
        if not self.is_attached:
            return
        seen, tall = self._seen, self.has_class("-tall")
        cards = list(self.query(".card").results(Lines))
        wanted = max(1, len(seen.cards))
        if len(cards) != wanted:
            for one in cards:
                await one.remove()
            cards = [_section(_card_title(place, seen), "card") for place in range(wanted)]
            # Cards matter most; if there are none, that is shown last.
            await self.query_one("#grid").mount_all(cards, before=0 if seen.cards else None)
        processors, memory = self.query_one("#processors", Lines), self.query_one("#memory", Lines)
        # A chart sends more bytes than a sparkline does.
        drawn = tall and not self.the_app.low_bandwidth
        processors.show(_processors(seen, processors.size.width if drawn else 0))
        memory.show(_memory(seen, memory.size.width if drawn else 0))
        rows = -(-len(seen.cards) // (1 if self.has_class("-narrow") else 2)) * _CARD_LINES
        brief = rows > max(_CARD_LINES, self.size.height - _NOT_CARDS)
        if not seen.cards:
            cards[0].show([[(f"Nothing to read: {one_line(seen.trouble)}.", "dim")]])
        for widget, card in zip(cards, seen.cards, strict=False):
            widget.show(_card_line(card) if brief else _card(card, seen.holders))
        table = self.query_one(Table)
        table.show(_Rows(seen.holders), empty=_NO_PROCESS)
        # The readings get the room that the processes do not need.
        height = self.size.height - _LINES_AROUND
        own = max(_LEAST_TABLE, min(1 + len(seen.holders), height * _MOST_TABLE // 100))
        self.query_one("#all").styles.max_height = max(1, height - own)
        count = len({one.run.folder.path for one in seen.holders if one.run})
        self.query_one(TopLine).tell(
            right=(figures.counted(count, "run") if count else "no run") + " active here"
        )
        self.refresh_bindings()

    # -- acting ------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Requires a line that belongs to a run, or is a model that waits for one."""
        holder = self._holder() if self.is_mounted else None
        if action == "open":
            return True if holder and holder.run else None
        if action == "unload":
            return True if holder and holder.kept else None
        return True

    def why_not(self, action: str) -> str:
        """See :class:`Page`."""
        if action == "open":
            return "no process of a run is selected"
        return "no loaded model that waits for a run is selected"

    def _holder(self) -> Holder | None:
        cursor = self.query_one(Table).cursor
        holders = self._seen.holders
        return holders[cursor] if cursor < len(holders) else None

    @on(Table.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(Table.Opened)
    async def action_open(self) -> None:
        """See ``commands.py``."""
        if (holder := self._holder()) and holder.run:
            await self.the_app.open_run(holder.run.folder)

    @work(exclusive=True, group="unload")
    async def action_unload(self) -> None:
        """See ``commands.py``."""
        if (holder := self._holder()) and holder.kept:
            await asyncio.to_thread(unload, holder.kept)
            self._due = 0.0


def _section(name: str, kind: str = "") -> Lines:
    section = Lines(id=None if kind else name, classes=f"section {kind}".strip())
    section.border_title = f" {name} "
    return section


def _card_title(place: int, seen: MachineReading) -> str:
    return f"GPU {place}" if len(seen.cards) > 1 else "GPU"


def _processors(seen: MachineReading, width: int) -> list[Line]:
    system = seen.system
    lines: list[Line] = []
    if system.busy is not None:
        of = f" busy of {figures.counted(len(system.cores), 'processor')}"
        lines.append([Bar(system.busy, _tone(system.busy)), f" {figures.percent(system.busy)}", of])
        lines += _history("of all processors", seen.busy, width)
        if width:
            most = len(STEPS) - 1
            each = "".join(STEPS[min(most, int(one * len(STEPS)))] for one in system.cores)
            lines.append([("each   ", "dim"), each])
    if system.load is not None:
        load = "  ".join(f"{one:.2f}" for one in system.load)
        lines.append([("load   ", "dim"), load, ("  over 1, 5 and 15 minutes", "dim")])
    return lines


def _memory(seen: MachineReading, width: int) -> list[Line]:
    system = seen.system
    total = figures.amount(system.total, "B")
    if system.used is None:
        return [[total, (" in all; install psutil to see how much is in use", "dim")]]
    lines: list[Line] = [
        [Gauge(system.used, None, system.total), f" {figures.amount(system.used, 'B')} of {total}"],
        *_history("of the memory", seen.memory, width),
    ]
    ours = sum(one.memory or 0 for one in seen.holders)
    if ours:
        lines.append([("runs   ", "dim"), figures.amount(ours, "B"), (" of it", "dim")])
    if system.swap_total and (width or system.swap_used):
        swap = figures.bytes_of(system.swap_used, system.swap_total)
        lines.append([("swap   ", "dim"), swap])
    return lines


def _history(what: str, shares: Sequence[float], width: int) -> list[Line]:
    """A chart of the last readings, of the given width in cells; a sparkline if that is 0."""
    chart = Chart(
        what,
        [Series("", [(float(n - len(shares)), one) for n, one in enumerate(shares, 1)])],
        figures.percent,
        lambda n: figures.counted(-n, "reading") + " ago" if n else "now",
        low=0.0,
        high=1.0,
    )
    if not width or chart.empty:
        return [[Sparkline(shares, top=1.0)]]
    return [*draw_chart(chart, width, _CHART_ROWS)[1:]]


def _tone(share: float) -> str:
    return "warn" if share >= 0.9 else "good"


def _card(card: Mapping[str, Any], holders: Sequence[Holder]) -> list[Line]:
    lines: list[Line] = [[(one_line(str(card["name"])), "strong")]]
    if (busy := card["utilisation"]) is not None:
        lines.append([f"{busy:>3} % busy ", Sparkline(card["history"], top=100.0)])
    if card["used"] is not None and card["total"]:
        lines.append([Gauge(card["used"], card["peak"], card["total"]), _used(card)])
    if facts := _facts(card):
        lines.append([(" · ".join(facts), "dim")])
    processes = sorted(card["processes"].items(), key=lambda item: -(item[1] or 0))
    for pid, used in processes[:_MOST_HOLDERS]:
        memory = "unknown memory" if used is None else figures.amount(used, "B")
        lines.append([("held by ", "dim"), holder_of(pid, holders), f"  {memory}"])
    if (more := len(processes) - _MOST_HOLDERS) > 0:
        lines.append([(f"and {more} more", "dim")])
    return lines


def _used(card: Mapping[str, Any]) -> str:
    text = f" {figures.bytes_of(card['used'], card['total'])}"
    if card["peak"] is not None and card["peak"] > card["used"]:
        text += f", peak {figures.amount(card['peak'], 'B')}"
    return text


def _facts(card: Mapping[str, Any]) -> list[str]:
    facts = card_facts(card["temperature"], card["power"], card["power_limit"])
    if card["clock"] is not None:
        most = f" of {card['clock_limit']}" if card["clock_limit"] is not None else ""
        facts.append(f"{card['clock']}{most} MHz")
    if card["memory_clock"] is not None:
        facts.append(f"memory {card['memory_clock']} MHz")
    return facts


def _card_line(card: Mapping[str, Any]) -> list[Line]:
    """A card in two lines, if there are many."""
    first: list[Piece] = []
    if card["used"] is not None and card["total"]:
        first = [Gauge(card["used"], card["peak"], card["total"]), _used(card)]
    second = [] if card["utilisation"] is None else [f"{card['utilisation']} % busy"]
    return [first or [one_line(str(card["name"]))], [(" · ".join(second + _facts(card)), "dim")]]


class _Rows:
    """Processes as rows of the table."""

    def __init__(self, holders: Sequence[Holder]) -> None:
        self._holders = holders

    def __len__(self) -> int:
        return len(self._holders)

    def row(self, index: int) -> Sequence[Cell]:
        one = self._holders[index]
        run: Cell = ("no run of this home", "dim")
        if one.kept:
            left = figures.duration(max(0.0, one.kept.until - time.time()))
            model = f"{one_line(one.kept.model)} ({one_line(one.kept.backend)})"
            run = f"{model}, unloads in {left}"
        elif one.run:
            run = f"{one.run.name} × {one.run.model}"
        return (
            one.what,
            run,
            (str(one.pid), "dim"),
            "" if one.cpu is None else f"{100 * one.cpu:.0f} %",
            "" if one.memory is None else figures.amount(one.memory, "B"),
            "" if one.card_memory is None else figures.amount(one.card_memory, "B"),
        )

"""Beside the runs on a wide Home: calls of live runs against their limits, and this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import cast

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical

from evalbench.engine.runs.status import Status
from evalbench.tui.screens.page import Page
from evalbench.tui.state import figures
from evalbench.tui.state.cells import cell
from evalbench.tui.state.event_words import holdup_words, limit_words
from evalbench.tui.state.machine import Machine, MachineReading
from evalbench.tui.state.run_list import RunLine
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.gauge import Gauge
from evalbench.tui.widgets.lines import Line, Lines

_EVERY_S, _LOW_BANDWIDTH_S = 2.0, 6.0
_MOST_RUNS = 4
_NAME, _BAR = 26, 24


class Glance(Vertical):
    """Read every few seconds, and only while it is shown."""

    DEFAULT_CSS = """
    Glance { height: auto; }
    Glance Lines {
        border: round $panel-lighten-2; border-title-color: $text-primary; padding: 0 1;
        max-height: 10;
    }
    """

    def __init__(self) -> None:
        super().__init__(id="glance")
        self._machine = Machine()
        self._due = 0.0

    def compose(self) -> ComposeResult:
        """Two panels."""
        for name, title in (("calls", "calls in flight"), ("machine", "machine")):
            panel = Lines(id=f"glance-{name}")
            panel.border_title = title
            yield panel

    def on_mount(self) -> None:
        """Read at once."""
        self.look(cast("Page", self.screen).the_app.runs())

    def look(self, runs: Sequence[RunLine]) -> None:
        """Read anew if it is time, and if this is shown: once there are runs."""
        self.set_class(bool(runs), "-on")
        shown = self.screen.has_class("-wide") and self.screen.has_class("-tall")
        if runs and shown and time.monotonic() >= self._due:
            self._due = float("inf")
            self._read(runs)

    @work(exclusive=True)
    async def _read(self, runs: Sequence[RunLine]) -> None:
        live = [line for line in runs if line.live]
        try:
            # The driver's library may take a second to load.
            seen = await asyncio.to_thread(self._machine.read, runs)
            statuses = await asyncio.to_thread(lambda: [line.folder.status() for line in live])
        finally:
            low = cast("Page", self.screen).the_app.low_bandwidth
            self._due = time.monotonic() + (_LOW_BANDWIDTH_S if low else _EVERY_S)
        self.show(statuses, seen)

    def show(self, statuses: Sequence[Status], seen: MachineReading) -> None:
        """Show live runs and a reading of the machine."""
        if self.query(Lines):
            self.query_one("#glance-calls", Lines).show(call_lines(statuses))
            self.query_one("#glance-machine", Lines).show(machine_lines(seen))


def call_lines(statuses: Sequence[Status]) -> list[Line]:
    """A line for each live run: calls in flight and what limits them, rate, why calls wait."""
    lines: list[Line] = []
    for status in statuses[:_MOST_RUNS]:
        gauges = status.gauges
        flying, most = gauges.get("in_flight") or 0, gauges.get("concurrency")
        limited = limit_words(gauges)
        of = f" of {figures.count(most)}" if most and not limited else ""
        words = figures.count(flying) + of
        share = 1.0 if limited else flying / most if most else 0.0
        told_words = f" {words:>9}  {figures.rate(status.rate)}"
        name = cell(status.model, _NAME)
        lines.append([f"{name} ", Bar(share, "accent", _BAR), told_words])
        if holdup := holdup_words(gauges):
            lines.append([(f"  {holdup}", "warn")])
        elif limited:
            lines.append([(f"  {limited}", "dim")])
    if (more := len(statuses) - _MOST_RUNS) > 0:
        lines.append([(f"and {figures.counted(more, 'run')} more", "dim")])
    return lines or [[("no run at work", "dim")]]


def machine_lines(seen: MachineReading) -> list[Line]:
    """Processors, memory and each GPU, a line each."""
    system = seen.system
    lines: list[Line] = []
    if system.busy is not None:
        hot = "warn" if system.busy >= 0.9 else "good"
        cores = figures.counted(len(system.cores), "processor")
        words = f" {figures.percent(system.busy):>5}"
        of = (f" of {cores}", "dim")
        lines.append([("CPU     ", "dim"), Bar(system.busy, hot, _BAR), words, of])
    if system.used is not None and system.total:
        words = f" {figures.bytes_of(system.used, system.total)}"
        lines.append([("memory  ", "dim"), Bar(system.used / system.total, "good", _BAR), words])
    for place, card in enumerate(seen.cards):
        if (used := card.get("used")) is not None and card.get("total"):
            words = f" {figures.bytes_of(used, card['total'])}"
            busy = card.get("utilisation")
            share = "" if busy is None else f" · {busy} % busy"
            name = f"GPU {place}"
            gauge = Gauge(used, card.get("peak"), card["total"])
            lines.append([(f"{name:<8}", "dim"), gauge, words, (share, "dim")])
    return lines or [[("reading…", "dim")]]

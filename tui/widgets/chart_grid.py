"""Charts of a run side by side: read from its journal in the background, drawn where they fit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.cells import cell_len
from textual import work
from textual.containers import Container
from textual.message import Message

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.history import History, read_history
from evalbench.engine.runs.status import Status
from evalbench.tui.state import figures
from evalbench.tui.state.cells import cell
from evalbench.tui.state.chart import chart_axis, chart_head, draw_chart
from evalbench.tui.state.run_charts import (
    BatchBar,
    GroupBar,
    batch_bars,
    charts,
    clock_of,
    columns,
    error_lines,
    group_bars,
    span,
)
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.sparkline import Sparkline

_AGAIN_S, _AGAIN_LOW_BANDWIDTH_S = 3.0, 15.0
_AGAIN_SHARE = 30
"""A live run is read again after this many times the CPU time that reading took."""

_NAMES_MOST, _ERROR_MOST, _BATCH_MOST = 28, 16, 12
"""Maximum widths of names of groups, errors and batches."""
_LOST, _RETRIED = "failed", "retried"
_ANSWERED, _PENDING = "█", "░"
_GUTTER = 2


class ChartGrid(Container):
    """Call :meth:`look` repeatedly, and :meth:`lay` when the room changes."""

    DEFAULT_CSS = """
    ChartGrid { layout: grid; grid-gutter: 1 2; grid-rows: auto; height: auto; }
    ChartGrid > Lines { height: auto; }
    """

    class Read(Message):
        """It was read and drawn; ``trouble`` says why it could not be, ``number`` counts charts."""

        def __init__(self, number: int, trouble: str = "") -> None:
            super().__init__()
            self.number = number
            self.trouble = trouble

    def __init__(self, folder: RunFolder, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._folder = folder
        self._history: History | None = None
        self._status = Status("")
        self._live = False
        self._due = 0.0
        self._across, self._most, self._rows = 0, 0, 0

    def look(self, status: Status, *, live: bool, low: bool) -> None:
        """Read a run again periodically while it is live, and once when it has ended.

        Args:
            status: its newest status.
            live: whether an engine drives it.
            low: whether bandwidth is scarce.
        """
        ended = self._live and not live
        self._status, self._live = status, live
        if self._across and (ended or time.monotonic() >= self._due):
            self._read(_AGAIN_LOW_BANDWIDTH_S if low else _AGAIN_S)

    def lay(self, across: int, rows: int, most: int = 0) -> None:
        """Draw charts of ``rows`` rows, ``across`` in a line; at most ``most`` if that is not 0.

        Nothing is read or drawn if ``across`` is 0.
        """
        if (across, rows, most) == (self._across, self._rows, self._most):
            return
        self._across, self._rows, self._most = across, rows, most
        self.display = bool(across)
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        """Fit the charts to the width; a scrollbar takes some of it."""
        self.call_after_refresh(self._draw)

    @work(exclusive=True, group="read", exit_on_error=False)
    async def _read(self, least: float) -> None:
        self._due = float("inf")
        value = next(iter(self._status.metrics), "")
        until = self._status.updated - self._status.created if self._live else 0.0
        seconds, trouble = 0.0, ""
        try:
            self._history, seconds = await asyncio.to_thread(
                _timed, self._folder.journal, value, until
            )
        except JournalError as error:
            trouble = f"{error.what}\n{error.why}".strip()
        # What is over is not read again.
        again = max(least, _AGAIN_SHARE * seconds)
        self._due = time.monotonic() + again if self._live or trouble else float("inf")
        self.post_message(self.Read(await self._draw(), trouble))

    async def _draw(self) -> int:
        """Draw what was read, each chart in a widget of its own; returns their number."""
        if self._history is None or not self.is_attached or not self._across:
            return 0
        across = self._across
        blocks = self._blocks(self._history, across)
        if 0 < len(blocks) < self._most:
            # Fewer charts than there is room for are wider, in as many lines.
            across = -(-len(blocks) // (self._most // self._across))
            blocks = self._blocks(self._history, across)
        self.styles.grid_size_columns = across
        widgets = list(self.query(Lines))
        if len(widgets) != len(blocks):
            await self.remove_children()
            widgets = [Lines() for _ in blocks]
            await self.mount_all(widgets)
        for widget, lines in zip(widgets, blocks, strict=True):
            widget.show(lines)
        return len(blocks)

    def _blocks(self, history: History, across: int) -> list[list[Line]]:
        """The charts that are shown, ``across`` of them in a line."""
        width = (self.size.width - _GUTTER * (across - 1)) // across
        return list(self._all(history, width))[: self._most or None] if width > 0 else []

    def _all(self, history: History, width: int) -> Iterator[list[Line]]:
        """All charts of a run, the most important first."""
        status, rows = self._status, self._rows
        found = charts(history, status, live=self._live)
        drawn: list[list[Line]] = [list(draw_chart(one, width, rows)) for one in found]
        most = max(2, rows - 1)
        groups = [_group_lines(*one, width) for one in group_bars(history, most)]
        yield from drawn[:1]
        if batches := batch_bars(history, status):
            yield self._batch_lines(batches, width)
        yield from drawn[1:3]
        if errors := self._error_lines(history, width):
            yield errors
        yield from drawn[3:4]
        yield from groups[:1]
        yield from drawn[4:]
        yield from groups[1:]

    def _error_lines(self, history: History, width: int) -> list[Line]:
        """Errors by kind, each with its number and when they happened, on a common scale."""
        found = error_lines(history)
        if not found:
            return []
        shown = found[: max(1, self._rows - 2)]
        names = min(_ERROR_MOST, width // 3, max(cell_len(one.name) for one in shown))
        counts = [figures.count(one.number) for one in shown]
        digits = max(map(len, counts))
        room = width - names - digits - len(_RETRIED) - 3
        drawn = [columns(history, one.by_interval, room) for one in shown]
        top = max((max(one, default=0) for one in drawn), default=0)
        total = figures.count(sum(one.number for one in found))
        lines: list[Line] = [chart_head("Errors by kind", total, width)]
        for one, count, values in zip(shown, counts, drawn, strict=True):
            tone, fate = ("bad", _LOST) if one.lost else ("warn", _RETRIED)
            lines.append(
                [
                    cell(one.name, names),
                    (f" {count:>{digits}} {fate:<{len(_RETRIED)}} ", tone),
                    Sparkline(values, tone, top=top, gaps=True),
                ]
            )
        first, last = span(history, self._status)
        legend = [(f"█ {figures.count(top)}", "dim")]
        gap: Line = [" " * (width - room)]
        lines.append([*gap, *chart_axis(first, last, room, legend)])
        return lines

    def _batch_lines(self, batches: Sequence[BatchBar], width: int) -> list[Line]:
        """Each batch from when it was sent to when it was read, filled as far as it is answered."""
        shown = batches[-max(1, self._rows - 2) :]
        created = self._status.created
        now = time.time() - created if self._live else self._status.updated - created
        begin = shown[0].begin
        end = max(now if one.end is None else one.end for one in shown)
        names = min(_BATCH_MOST, max(cell_len(one.name) for one in shown))
        room = width - names - len(" 100 %") - 1
        pending = sum(one.end is None for one in batches)
        note = f"{figures.count(pending)} of {figures.count(len(batches))} pending"
        lines: list[Line] = [chart_head("Batches", note, width)]
        for one in shown:
            left = round((one.begin - begin) / ((end - begin) or 1.0) * (room - 1))
            right = round(((one.end or end) - begin) / ((end - begin) or 1.0) * room)
            long = max(1, right - left)
            full = round(one.share * long)
            tone = "good" if one.end is not None else "accent"
            lines.append(
                [
                    cell(one.name, names) + " " * (left + 1),
                    (_ANSWERED * full, tone),
                    (_PENDING * (long - full), tone),
                    " " * (room - left - long),
                    (f"{figures.percent(one.share):>6}", ""),
                ]
            )
        clock = clock_of(created, end - begin)
        legend = [(f"{_ANSWERED} answered {_PENDING} pending", "dim")]
        gap: Line = [" " * (names + 1)]
        lines.append([*gap, *chart_axis(clock(begin), clock(end), room, legend)])
        return lines


def _timed(journal: Path, value: str, until: float) -> tuple[History, float]:
    """A run's history, and the seconds of CPU time that reading it took."""
    began = time.thread_time()
    history = read_history(journal, value, until=until)
    return history, time.thread_time() - began


def _group_lines(tag: str, bars: Sequence[GroupBar], number: int, width: int) -> list[Line]:
    names = min(_NAMES_MOST, max(len(bar.name) for bar in bars))
    values = max(len(bar.value) for bar in bars)
    counts = max(len(bar.counts) for bar in bars)
    note = "best first" if len(bars) == number else f"best and worst of {figures.count(number)}"
    lines: list[Line] = [chart_head(f"By {tag}", note, width)]
    for bar in bars:
        lines.append(
            [
                cell(bar.name, names) + " ",
                (f"{bar.value:>{values}} ", "strong"),
                Bar(bar.share, "accent"),
                (f" {bar.counts:>{counts}}", "dim"),
            ]
        )
    return lines

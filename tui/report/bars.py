"""Charts as lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.cells import cell_len, set_cell_size

from evalbench.tui.report.charts import Bins, Chart, Dots, Heat, Mark, Paces, Shares
from evalbench.tui.state import figures

_MOST_NAME, _LEAST_NAME = 46, 8
_LEAST_BAR = 10
_CELL = 10
"""Width of a value in a heat map, in columns."""
_PARTS = "█▓▒░▚▞"
_ASCII_PARTS = "#=:.%+"


def bars(chart: Chart, width: int, *, ascii_only: bool = False) -> list[str]:
    """A chart in lines of at most ``width`` columns, its title first."""
    draw = _Drawing(width, ascii_only=ascii_only)
    lines: Iterator[str]
    if isinstance(chart, Dots):
        lines = draw.dots(chart)
    elif isinstance(chart, Shares):
        lines = draw.shares(chart)
    elif isinstance(chart, Bins):
        lines = draw.bins(chart)
    elif isinstance(chart, Heat):
        lines = draw.heat(chart)
    else:
        lines = draw.paces(chart)
    return [chart.title, *(line.rstrip() for line in lines)]


class _Drawing:
    def __init__(self, width: int, *, ascii_only: bool) -> None:
        self._width = width
        self._full, self._reach, self._rest = ("#", "-", ".") if ascii_only else ("█", "─", "·")
        self._parts = _ASCII_PARTS if ascii_only else _PARTS
        self._cut = "~" if ascii_only else "…"
        self._levels = " .:-=+*#" if ascii_only else " ▁▂▃▄▅▆▇█"

    def _names(self, names: Sequence[str]) -> list[str]:
        """Names padded to the same width in columns; wide characters take two."""
        longest = max(map(cell_len, names), default=0)
        most = min(_MOST_NAME, longest, max(_LEAST_NAME, self._width // 3))
        return [
            set_cell_size(name, most)
            if cell_len(name) <= most
            else set_cell_size(name, most - 1) + self._cut
            for name in names
        ]

    def _room(self, name: str, words: int) -> int:
        return max(_LEAST_BAR, self._width - cell_len(name) - words - 4)

    def dots(self, chart: Dots) -> Iterator[str]:
        """A bar up to each value, a line over its interval, and the words."""
        several = len(chart.series) > 1
        names = self._names(chart.rows)
        series = self._names(chart.series) if several else [""]
        words = max(len(m.words) for row in chart.marks for m in row if m)
        for name, marks in zip(names, chart.marks, strict=True):
            if several:
                yield name
            for own, mark in zip(series, marks, strict=True):
                head = f"  {own}" if several else name
                if mark is None:
                    yield f"{head}  not scored"
                    continue
                room = self._room(head, words)
                yield f"{head}  {self._bar(chart, mark, room)}  {mark.words}"

    def _bar(self, chart: Dots, mark: Mark, room: int) -> str:
        def place(value: float) -> int:
            share = (value - chart.low) / (chart.high - chart.low)
            return min(room, max(0, round(share * room)))

        bar = [self._rest] * room
        end = place(mark.value)
        bar[:end] = [self._full] * end
        if mark.low is not None and mark.high is not None:
            for at in range(place(mark.low), place(mark.high)):
                bar[at] = self._reach
            if end:
                bar[end - 1] = self._full
        return "".join(bar)

    def shares(self, chart: Shares) -> Iterator[str]:
        """One bar of all parts per row, with a different sign for each part."""
        names = self._names(chart.rows)
        for name, counts in zip(names, chart.counts, strict=True):
            room, total = self._room(name, 0), sum(counts)
            ends = [round(room * sum(counts[:at]) / total) for at in range(len(counts) + 1)]
            # A part that occurred must be visible, however small it is.
            cells = [
                max(b - a, 1 if n else 0) for (a, b), n in zip(pairwise(ends), counts, strict=True)
            ]
            bar = "".join(sign * n for sign, n in zip(self._parts, cells, strict=False))
            yield f"{name}  {bar[: room + len(counts)]}"
        for sign, part, *numbers in zip(self._parts, chart.parts, *chart.counts, strict=False):
            yield f"  {sign} {part:<10} " + "  ".join(figures.count(number) for number in numbers)

    def heat(self, chart: Heat) -> Iterator[str]:
        """A line per group: the value of every run, and a sign for its shade."""
        for number, name in enumerate(self._names(chart.rows), 1):
            yield f"  {number:>2} {name}"
        columns = self._names(chart.columns)
        # As many runs per line as fit.
        several = max(1, (self._width - cell_len(columns[0])) // _CELL)
        for first in range(0, len(chart.rows), several):
            shown = list(enumerate(chart.marks, 1))[first : first + several]
            yield " " * cell_len(columns[0]) + "".join(f"{n:>{_CELL}}" for n, _ in shown)
            for at, name in enumerate(columns):
                yield name + "".join(self._heat_cell(chart, marks[at]) for _, marks in shown)

    def _heat_cell(self, chart: Heat, mark: Mark | None) -> str:
        if mark is None:
            return f"{'–':>{_CELL}}"
        level = self._levels[round(chart.shade(mark) * (len(self._levels) - 1))]
        return f"{f'{level} {chart.word(mark):>5}':>{_CELL}}"

    def bins(self, chart: Bins) -> Iterator[str]:
        """A bar for each share; the largest fills the available width."""
        several = len(chart.series) > 1
        most = max(share for row in chart.shares for share in row)
        series = self._names(chart.series) if several else [""]
        for name, shares in zip(self._names(chart.rows), chart.shares, strict=True):
            if several:
                yield name
            for own, share in zip(series, shares, strict=True):
                head = f"  {own}" if several else name
                bar = self._full * round(share / most * self._room(head, 8))
                yield f"{head}  {bar} {figures.percent(share, 1)}"

    def paces(self, chart: Paces) -> Iterator[str]:
        """How much was done in each time bin, as heights."""
        longest = max(points[-1][0] for points in chart.lines) or 1.0
        names = self._names(chart.series)
        for name, points in zip(names, chart.lines, strict=True):
            room = self._room(name, 10)
            columns = [0.0] * room
            for (_, before), (seconds, share) in pairwise([(0.0, 0.0), *points]):
                columns[min(room - 1, int(seconds / longest * room))] += share - before
            most = max(columns) or 1.0
            top = len(self._levels) - 1
            line = "".join(self._levels[round(top * one / most)] for one in columns)
            yield f"{name}  {line}  {figures.duration(points[-1][0])}"

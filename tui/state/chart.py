"""Charts of a few lines over time in braille dots, with their scale, as pieces of text.

Colour only repeats what the text says: lines are distinguished by their legend and their style, and
the range around a line by its shade.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len

from evalbench.tui.state.glyphs import has_braille
from evalbench.tui.state.names import apart

Piece = tuple[str, str]
"""Text and tone."""

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character by row and column of the dot."""
_BLANK = 0x2800
_UPPER = 0x01 | 0x08 | 0x02 | 0x10
"""Bits of the dots in the upper half of a character."""
_BAND = "░"
_RULE = "─"
_LEAST_PLOT = 8


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart: points (x, y) ordered by x.

    Attributes:
        name: name in the legend; empty for a chart with a single line.
        tone: colour tone.
        dotted: whether it is drawn with gaps, to distinguish it from another.
    """

    name: str
    points: Sequence[tuple[float, float]]
    tone: str = "accent"
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of lines with a common scale.

    Attributes:
        title: what is shown, with its unit.
        series: its lines.
        band: (x, low, high) of a range around the first line.
        y_words, x_words: formatters for values of the two axes.
        low, high: limits of the vertical scale, if they differ from those of the values.
        settled: from this x on, values determine the scale; earlier ones are cut off.
        level: a horizontal line, such as a limit.
        note: a few words next to the title, such as the newest value.
    """

    title: str
    series: Sequence[Series]
    y_words: Callable[[float], str]
    x_words: Callable[[float], str]
    band: Sequence[tuple[float, float, float]] = ()
    low: float | None = None
    high: float | None = None
    level: float | None = None
    settled: float = float("-inf")
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is no line to draw yet."""
        return not any(len(one.points) > 1 for one in self.series)


def draw_chart(chart: Chart, width: int, height: int) -> list[list[Piece]]:
    """A chart of the given size in cells: header, plot with its scale, and the time axis."""
    head = chart_head(chart.title, chart.note, width)
    if chart.empty:
        return [head, [("nothing to draw yet", "dim")], *[[] for _ in range(height - 2)]]
    low, high = _scale(chart)
    labels = [chart.y_words(high), chart.y_words((low + high) / 2), chart.y_words(low)]
    margin = max(map(len, labels)) + 1
    wide, tall = max(_LEAST_PLOT, width - margin), max(1, height - 2)
    canvas = _Canvas(wide, tall, _span(chart), (low, high))
    canvas.shade(chart.band)
    if chart.level is not None:
        canvas.level(chart.level)
    for one in reversed(chart.series):
        canvas.line(one)
    rows = canvas.rows()
    at = {0: labels[0], tall - 1: labels[2]}
    if tall >= 5:
        at[tall // 2] = labels[1]
    lines: list[list[Piece]] = [head]
    lines += [[(f"{at.get(y, ''):>{margin - 1}} ", "dim"), *row] for y, row in enumerate(rows)]
    first, last = map(chart.x_words, _span(chart))
    lines.append([(" " * margin, ""), *chart_axis(first, last, wide, _legend(chart))])
    return lines


def chart_head(title: str, note: str, width: int) -> list[Piece]:
    """The first line of a chart: its title, and at the right end its newest value, never cut."""
    room = width - cell_len(note) - 3 if note else width - 2
    if cell_len(title) > room:
        title = apart([title])[0].fit(max(1, room))
    rule = max(1, width - cell_len(title) - cell_len(note) - (2 if note else 1))
    head = [(f"{title} ", "strong"), (_RULE * rule, "faint")]
    return [*head, (f" {note}", "accent")] if note else head


def chart_axis(first: str, last: str, width: int, legend: Sequence[Piece] = ()) -> list[Piece]:
    """The last line of a chart: its ends, and between them the legend.

    Where there is no room for all three, the legend takes the place of the first end, or of both.
    """
    legend_width = sum(cell_len(text) for text, _ in legend)
    if not legend_width:
        return [(first + " " * max(1, width - len(first) - len(last)) + last, "dim")]
    if len(first) + legend_width + len(last) + 4 > width:
        first = ""
    if legend_width + len(last) + 1 > width:
        last = ""
    left = max(0, (width - legend_width) // 2 - len(first)) if first else 0
    right = max(0, width - len(first) - left - legend_width - len(last))
    return [(first + " " * left, "dim"), *legend, (" " * right + last, "dim")]


def _legend(chart: Chart) -> list[Piece]:
    named = [one for one in chart.series if one.name]
    found: list[Piece] = [
        (f"{'┄' if one.dotted else '─'} {one.name}", one.tone)
        for one in (named if len(named) > 1 else [])
    ]
    if chart.band:
        found.append((f"{_BAND} 95 %", "dim"))
    return [piece for one in found for piece in ((" ", ""), one)][1:]


def _span(chart: Chart) -> tuple[float, float]:
    xs = [x for one in chart.series for x, _ in one.points]
    return min(xs), max(xs)


def _scale(chart: Chart) -> tuple[float, float]:
    values = [y for one in chart.series for x, y in one.points if x >= chart.settled]
    values += [y for x, *ends in chart.band for y in ends if x >= chart.settled]
    values += [] if chart.level is None else [chart.level]
    low = min(values) if chart.low is None else chart.low
    high = max(values) if chart.high is None else chart.high
    if high <= low:
        high = low + (abs(low) or 1.0)
    return low, high


def _braille(dots: int) -> str:
    return chr(_BLANK + dots)


def _halves(dots: int) -> str:
    """The dots as half blocks, which the fonts of consoles have."""
    upper, lower = bool(dots & _UPPER), bool(dots & ~_UPPER)
    return "█" if upper and lower else "▀" if upper else "▄"


class _Canvas:
    """Dots and shades in cells of two by four dots."""

    def __init__(
        self, wide: int, tall: int, span: tuple[float, float], scale: tuple[float, float]
    ) -> None:
        self._wide, self._tall = wide, tall
        self._first, self._last = span
        self._low, self._high = scale
        self._bits = [[0] * wide for _ in range(tall)]
        self._tones = [[""] * wide for _ in range(tall)]
        self._shaded = [[False] * wide for _ in range(tall)]

    def _row(self, y: float) -> int:
        """Rows of dots, from the top."""
        share = (y - self._low) / (self._high - self._low)
        return min(4 * self._tall - 1, max(0, round((1 - share) * (4 * self._tall - 1))))

    def _column(self, x: float) -> int:
        share = (x - self._first) / ((self._last - self._first) or 1.0)
        return min(2 * self._wide - 1, max(0, round(share * (2 * self._wide - 1))))

    def shade(self, band: Sequence[tuple[float, float, float]]) -> None:
        """The range in every column, interpolated between points."""
        pairs = list(pairwise(band)) or [(one, one) for one in band]
        at = 0
        for column in range(self._wide):
            x = self._first + (self._last - self._first) * (column + 0.5) / self._wide
            while at + 1 < len(pairs) and pairs[at][1][0] < x:
                at += 1
            if not pairs or x < band[0][0] - (self._last - self._first) / self._wide:
                continue
            (left, low, high), (right, next_low, next_high) = pairs[at]
            share = min(1.0, max(0.0, (x - left) / (right - left))) if right > left else 0.0
            below = self._row(low + share * (next_low - low))
            above = self._row(high + share * (next_high - high))
            for row in range(above // 4, below // 4 + 1):
                self._shaded[row][column] = True

    def level(self, y: float) -> None:
        for column in range(0, 2 * self._wide, 3):
            self._dot(column, self._row(y), "warn")

    def line(self, series: Series) -> None:
        points = [(self._column(x), self._row(y)) for x, y in series.points]
        for (left, top), (right, bottom) in pairwise(points):
            steps = max(right - left, abs(bottom - top), 1)
            for step in range(steps + 1):
                column = left + round(step * (right - left) / steps)
                row = top + round(step * (bottom - top) / steps)
                if not series.dotted or column % 4 < 2:
                    self._dot(column, row, series.tone)

    def _dot(self, column: int, row: int, tone: str) -> None:
        self._bits[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
        self._tones[row // 4][column // 2] = tone

    def rows(self) -> list[list[Piece]]:
        """Lines of pieces, with equal neighbours merged."""
        draw = _braille if has_braille() else _halves
        drawn = []
        for bits, tones, shaded in zip(self._bits, self._tones, self._shaded, strict=True):
            row: list[Piece] = []
            for dots, tone, under in zip(bits, tones, shaded, strict=True):
                text = draw(dots) if dots else _BAND if under else " "
                own = tone if dots else "faint" if under else ""
                if row and row[-1][1] == own:
                    row[-1] = (row[-1][0] + text, own)
                else:
                    row.append((text, own))
            drawn.append(row)
        return drawn

"""Charts as SVG: embedded in a page, whose style sheet colours them, or as separate files.

Series differ in shape as well as in colour, and every mark has its value as a tooltip and for
screen readers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import cos, pi, sin

from markupsafe import Markup

from evalbench.engine.terminal_text import one_line
from evalbench.tui.report.charts import (
    Bins,
    Chart,
    Dots,
    Heat,
    Mark,
    Paces,
    Shares,
    tick_word,
    ticks,
)
from evalbench.tui.state import figures

SERIES = 6
"""Colours of series; after the last, the first is reused with another shape."""

_WIDTH = 860
_LEFT, _RIGHT = 310, 24
_LINE = 13
_LONGEST_NAME = 46
_NOT_XML = re.compile("[\ufffe\uffff]")

STYLE = """\
svg.chart { font: 12px system-ui, "Liberation Sans", Arial, sans-serif; }
svg.chart text { fill: var(--ink); }
svg.chart .dim { fill: var(--dim); }
svg.chart .grid { stroke: var(--line); stroke-width: 1; }
svg.chart .reach { stroke-width: 3; }
svg.chart .bound { stroke-width: 1; stroke-dasharray: 2 2; }
svg.chart .pace { fill: none; stroke-width: 2; }
"""
"""Styles of charts; the colours of series and parts are added."""

_ALONE = """\
:root { --ink: #1b1f24; --dim: #5b6570; --line: #d5dae0; --paper: #ffffff;
 --s0: #0072b2; --s1: #b34700; --s2: #00795a; --s3: #a1467d; --s4: #7a5c00; --s5: #4d4d4d;
 --p0: #0072b2; --p1: #8a6d00; --p2: #a1467d; --p3: #6b4fa0; --p4: #b34700; --p5: #4d4d4d; }
"""


def colours() -> str:
    """Rules that assign the colours of ``--s0`` … and ``--p0`` … to series and parts."""
    rules = [
        f"svg.chart .{kind}{n} {{ fill: var(--{kind}{n}); stroke: var(--{kind}{n}); }}"
        for kind in "sp"
        for n in range(SERIES)
    ]
    return "\n".join([*rules, "svg.chart .pace { fill: none; }"])


def _sheet() -> Markup:
    return Markup(_ALONE + STYLE + colours())  # noqa: S704  (texts of this file)


def svg(chart: Chart) -> Markup:
    """A chart as an ``svg`` element that takes its colours from the page around it."""
    return _svg(chart, Markup(""))


def svg_file(chart: Chart) -> str:
    """A chart as a separate file, on white."""
    style = Markup("<style>{}</style>").format(_sheet())
    paper = Markup('<rect width="100%" height="100%" fill="#ffffff"/>')
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + str(_svg(chart, style + paper)) + "\n"


def _svg(chart: Chart, before: Markup) -> Markup:
    drawn, height = _draw(chart)
    return Markup(
        '<svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img"'
        ' viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        "<title>{title}</title>{before}{drawn}</svg>"
    ).format(width=_WIDTH, height=height, title=_plain(chart.title), before=before, drawn=drawn)


def _draw(chart: Chart) -> tuple[Markup, float]:
    """The content of the picture, and its height."""
    if isinstance(chart, Dots):
        return _dots(chart)
    if isinstance(chart, Shares):
        return _shares(chart)
    if isinstance(chart, Heat):
        return _heat(chart)
    return _bins(chart) if isinstance(chart, Bins) else _paces(chart)


_CELL = 30
_COLUMN_NAME = 110


def _heat(chart: Heat) -> tuple[Markup, float]:
    """Cells of one colour, stronger for higher values; each shows its value and its interval."""
    width = (_WIDTH - _LEFT - _RIGHT) / len(chart.columns)
    drawn = Markup("")
    for at, column in enumerate(chart.columns):
        turned = Markup('<g transform="translate({:.1f},{}) rotate(-40)">{}</g>')
        drawn += turned.format(_LEFT + (at + 0.4) * width, _COLUMN_NAME - 6, _text(0, 0, column))
    for row, (name, marks) in enumerate(zip(chart.rows, chart.marks, strict=True)):
        top = _COLUMN_NAME + row * _CELL
        drawn += _text(_LEFT - 10, top + 19, name, anchor="end")
        for at, mark in enumerate(marks):
            if mark is not None:
                drawn += _heat_cell(chart, mark, _LEFT + at * width, top, width, name, at)
    return drawn, _COLUMN_NAME + len(chart.rows) * _CELL + 8


def _heat_cell(
    chart: Heat, mark: Mark, x: float, y: float, width: float, name: str, at: int
) -> Markup:
    label = f"{name}, {chart.columns[at]}: {mark.words}"
    return Markup(
        '<g><title>{label}</title><rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" class="s0"'
        ' fill-opacity="{shade:.2f}" stroke-opacity="0.2"/>{text}</g>'
    ).format(
        label=_plain(label),
        x=x + 1,
        y=y + 1,
        w=width - 2,
        h=_CELL - 2,
        # Never so strong that the number on it becomes illegible.
        shade=0.08 + 0.52 * chart.shade(mark),
        text=_text(x + width / 2, y + 19, chart.word(mark), anchor="middle"),
    )


def _plain(text: str) -> str:
    return _NOT_XML.sub("", one_line(text))


def _short(text: str) -> str:
    text = _plain(text)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>').format(
        x, y, kind, anchor, _short(text)
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>').format(
        x1, y1, x2, y2, kind
    )


def _shape(x: float, y: float, series: int, size: float = 5.0) -> Markup:
    """A disc, square, triangle, diamond, star or cross, by the number of the series."""
    kind = f"s{series % SERIES}"
    shape = (series + series // SERIES) % (len(_SHAPES) + 1)
    if shape == 0:
        return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" class="{}"/>').format(
            x, y, size - 0.5, kind
        )
    points = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in _SHAPES[shape])
    return Markup('<polygon points="{}" class="{}"/>').format(points, kind)


def _star() -> list[tuple[float, float]]:
    return [
        ((1.15, 0.5)[at % 2] * sin(pi * at / 5), -(1.15, 0.5)[at % 2] * cos(pi * at / 5))
        for at in range(10)
    ]


_SHAPES: dict[int, list[tuple[float, float]]] = {
    1: [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    2: [(0, -1.05), (1, 0.8), (-1, 0.8)],
    3: [(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)],
    4: _star(),
    5: [
        (-0.35, -1), (0.35, -1), (0.35, -0.35), (1, -0.35), (1, 0.35), (0.35, 0.35),
        (0.35, 1), (-0.35, 1), (-0.35, 0.35), (-1, 0.35), (-1, -0.35), (-0.35, -0.35),
    ],
}  # fmt: skip


def _legend(series: Sequence[str], top: float) -> tuple[Markup, float]:
    """Names of the series with their marks, several per line; also returns where they end."""
    if len(series) < 2:
        return Markup(""), top
    drawn, x, y = Markup(""), 10.0, top + 10
    for at, name in enumerate(series):
        room = 34 + 7 * len(_short(name))
        if x > 10 and x + room > _WIDTH:
            x, y = 10.0, y + 18
        drawn += _shape(x + 5, y - 4, at) + _text(x + 16, y, name)
        x += room
    return drawn, y + 12


def _axis(chart_low: float, chart_high: float, top: float, bottom: float, *, share: bool) -> Markup:
    drawn = Markup("")
    for at in ticks(chart_low, chart_high):
        x = _x(at, chart_low, chart_high)
        drawn += _line(x, top, x, bottom, "grid")
        drawn += _text(x, bottom + 14, tick_word(at, share=share), "dim", "middle")
    return drawn


def _x(value: float, low: float, high: float, right: float = _WIDTH - _RIGHT) -> float:
    place = (min(max(value, low), high) - low) / (high - low)
    return _LEFT + place * (right - _LEFT)


def _dots(chart: Dots) -> tuple[Markup, float]:
    drawn, top = _legend(chart.series, 4)
    height = _LINE * len(chart.series) + 9
    bottom = top + height * len(chart.rows)
    drawn += _axis(chart.low, chart.high, top, bottom, share=chart.share)
    for place, (name, marks) in enumerate(zip(chart.rows, chart.marks, strict=True)):
        y = top + height * place
        drawn += _text(_LEFT - 12, y + height / 2 + 4, name, anchor="end")
        for at, mark in enumerate(marks):
            if mark is not None:
                series = chart.series[at] if len(chart.series) > 1 else ""
                label = ": ".join(filter(None, [name, series, mark.words]))
                drawn += _dot(chart, mark, at, y + 5 + _LINE * (at + 0.5), label)
    return drawn, bottom + 22


def _dot(chart: Dots, mark: Mark, series: int, y: float, label: str) -> Markup:
    def reach(low: float | None, high: float | None, kind: str) -> Markup:
        if low is None or high is None:
            return Markup("")
        ends = (_x(end, chart.low, chart.high) for end in (low, high))
        x1, x2 = ends
        return _line(x1, y, x2, y, f"{kind} s{series % SERIES}")

    return Markup("<g><title>{}</title>{}{}{}</g>").format(
        _plain(label),
        reach(mark.bound_low, mark.bound_high, "bound"),
        reach(mark.low, mark.high, "reach"),
        _shape(_x(mark.value, chart.low, chart.high), y, series),
    )


def _shares(chart: Shares) -> tuple[Markup, float]:
    drawn, x, y = Markup(""), 10.0, 14.0
    for part in chart.parts:
        drawn += Markup('<rect x="{:.1f}" y="{:.1f}" width="10" height="10" class="p{}"/>').format(
            x, y - 9, _part(part)
        )
        drawn += _text(x + 15, y, part)
        x += 40 + 7 * len(part)
    top = y + 12
    for name, counts in zip(chart.rows, chart.counts, strict=True):
        drawn += _text(_LEFT - 12, top + 13, name, anchor="end")
        total, start = sum(counts), 0
        for part, number in zip(chart.parts, counts, strict=True):
            if not number:
                continue
            x1, x2 = _x(start / total, 0, 1), _x((start + number) / total, 0, 1)
            label = f"{name}: {part} {figures.percent(number / total, 1)} ({figures.count(number)})"
            drawn += Markup(
                '<rect x="{:.2f}" y="{:.1f}" width="{:.2f}" height="18" class="p{}">'
                "<title>{}</title></rect>"
            ).format(x1, top, max(x2 - x1, 0.75), _part(part), _plain(label))
            start += number
        top += 25
    return drawn, top + 2


def _part(word: str) -> int:
    """An outcome always has the same colour, whichever others there are."""
    return list(figures.OUTCOME_WORDS.values()).index(word)


def _bins(chart: Bins) -> tuple[Markup, float]:
    drawn, top = _legend(chart.series, 4)
    most = max(share for row in chart.shares for share in row)
    height = _LINE * len(chart.series) + 6
    for place, (name, shares) in enumerate(zip(chart.rows, chart.shares, strict=True)):
        y = top + height * place
        drawn += _text(_LEFT - 12, y + height / 2 + 4, name, anchor="end")
        for at, share in enumerate(shares):
            own = y + 3 + _LINE * at
            end = _x(share, 0, most, _WIDTH - 60)
            drawn += Markup(
                '<rect x="{}" y="{:.1f}" width="{:.1f}" height="{}" class="s{}"/>'
            ).format(_LEFT, own, end - _LEFT, _LINE - 3, at % SERIES)
            drawn += _text(end + 6, own + 9, figures.percent(share, 1), "dim")
    return drawn, top + height * len(chart.rows) + 6


def _paces(chart: Paces) -> tuple[Markup, float]:
    drawn, top = _legend(chart.series, 4)
    bottom = top + 170
    longest = max(points[-1][0] for points in chart.lines) or 1.0
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (bottom - top - 10)
        drawn += _line(_LEFT, y, _WIDTH - _RIGHT, y, "grid")
        drawn += _text(_LEFT - 12, y + 4, tick_word(share, share=True), "dim", "end")
    for at in (0.0, 0.5, 1.0):
        anchor = "end" if at == 1 else "middle"
        word = figures.duration(at * longest)
        drawn += _text(_x(at, 0, 1), bottom + 16, word, "dim", anchor)
    for at, points in enumerate(chart.lines):
        path = " ".join(
            f"{_x(seconds, 0, longest):.1f},{bottom - share * (bottom - top - 10):.1f}"
            for seconds, share in points
        )
        drawn += Markup('<polyline points="{}" class="pace s{}"/>').format(path, at % SERIES)
        if len(chart.lines) > 1:
            end = path.rpartition(" ")[2].split(",")
            drawn += _shape(float(end[0]), float(end[1]), at, 4)
    return drawn, bottom + 24

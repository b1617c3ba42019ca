"""A report's charts as plain data, from which pictures, text and files are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, NamedTuple

from evalbench.engine.runs.sanitize import without_keys
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.heatmap import Heatmap

Metrics = Mapping[str, Mapping[str, Any]]

_TICKS = 5
_MOST_BINS = 24


class Mark(NamedTuple):
    """A metric's value with its 95 % interval and its bounds; the words contain all of it."""

    value: float
    low: float | None
    high: float | None
    bound_low: float | None
    bound_high: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Dots:
    """Values with their intervals: a row per item, with a mark for each series.

    Attributes:
        title: what they are.
        series: names of the runs, or of other things compared.
        rows: names of the items.
        marks: by row, then by series; None: not scored.
        low, high: ends of the axis.
        share: whether to show percent.
    """

    title: str
    series: tuple[str, ...]
    rows: tuple[str, ...]
    marks: tuple[tuple[Mark | None, ...], ...]
    low: float
    high: float
    share: bool


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of a whole for each row; ``counts`` by row, then by part."""

    title: str
    parts: tuple[str, ...]
    rows: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Bins:
    """A histogram: a row for each value or bin, with a share for each series.

    ``shares`` by row, then by series, add up to 1 over the rows.
    """

    title: str
    series: tuple[str, ...]
    rows: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Paces:
    """Samples done over time: for each series, points of (seconds, share of all), rising."""

    title: str
    series: tuple[str, ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map: runs by groups of their samples, each value a shade.

    Attributes:
        title: what the values are.
        columns: names of the groups.
        rows: names of the runs.
        marks: by row, then by column; None: not scored.
        low, high: ends of the shade scale.
        share: whether to show percent.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    marks: tuple[tuple[Mark | None, ...], ...]
    low: float
    high: float
    share: bool

    def shade(self, mark: Mark) -> float:
        """The position of a value between the ends, from 0 to 1."""
        return (mark.value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def word(self, mark: Mark) -> str:
        """A value as shown in its cell."""
        return f"{100 * mark.value:.1f}" if self.share else f"{mark.value:.2f}"


Chart = Dots | Shares | Bins | Paces | Heat


def named(text: str) -> str:
    """An untrusted name in a form that a chart can show."""
    return one_line(without_keys(text))


def dots_of(title: str, series: Sequence[str], rows: Sequence[Sequence[Any]]) -> Dots | None:
    """A chart of metrics; None if nothing was scored.

    Args:
        title: what they are.
        series: names of the series.
        rows: a name, then a metric or None for each series.
    """
    metrics = [one for _, *metrics_of_row in rows for one in metrics_of_row if one is not None]
    if not any(one.get("value") is not None for one in metrics):
        return None
    marks = tuple(tuple(map(_mark, metrics_of_row)) for _, *metrics_of_row in rows)
    share = all(figures.is_share(one) for one in metrics if one.get("value") is not None)
    low, high = (0.0, 1.0) if share else _ends(marks)
    names = tuple(named(str(name)) for name, *_ in rows)
    return Dots(named(title), tuple(map(named, series)), names, marks, low, high, share)


def _mark(metric: Mapping[str, Any] | None) -> Mark | None:
    if metric is None or metric.get("value") is None:
        return None
    low, high, worst, best = (metric.get(n) for n in ("low", "high", "bound_low", "bound_high"))
    return Mark(float(metric["value"]), low, high, worst, best, figures.score(metric))


def _ends(marks: Sequence[Sequence[Mark | None]]) -> tuple[float, float]:
    """Round numbers that enclose all values and intervals."""
    found = [
        number
        for row in marks
        for mark in row
        if mark
        for number in mark[:5]
        if isinstance(number, (int, float))
    ]
    step = step_of(max(found) - min(found))
    low, high = floor(min(found) / step) * step, ceil(max(found) / step) * step
    return (low, high) if high > low else (low - step, high + step)


def step_of(span: float) -> float:
    """A round distance between the ticks of an axis: 1, 2 or 5 times a power of ten."""
    if span <= 0:
        return 1.0
    rough = span / _TICKS
    size = 10.0 ** floor(log10(rough))
    return float(next(times * size for times in (1, 2, 5, 10) if times * size >= rough * 0.999))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``."""
    step = step_of(high - low)
    first = ceil(low / step - 1e-9)
    return [step * at for at in range(first, floor(high / step + 1e-9) + 1)]


def tick_word(value: float, *, share: bool) -> str:
    """A number on an axis."""
    return f"{100 * value:.3g} %" if share else f"{value:.6g}"


def heat_dots(matrix: Heatmap, metrics: Metrics, title: str) -> Dots | None:
    """A matrix as a chart: one series per column."""
    rows = [
        (row, *(metrics[name] for name in names))
        for row, names in zip(matrix.rows, matrix.names, strict=True)
    ]
    return dots_of(title, matrix.columns, rows)


MOST_COLUMNS = 20
"""Maximum columns of a heat map; with more, the names would be illegible."""


def heat_of(title: str, runs: Sequence[tuple[str, Metrics]], prefix: str) -> Heat | None:
    """Runs by the groups of the metrics ``prefix`` + ``GROUP``; None for fewer than two."""
    groups = dict.fromkeys(
        name.removeprefix(prefix)
        for _, metrics in runs
        for name in metrics
        if name.startswith(prefix)
    )
    marks = tuple(
        tuple(_mark(metrics.get(prefix + group)) for group in groups) for _, metrics in runs
    )
    values = [mark.value for row in marks for mark in row if mark]
    if not 2 <= len(groups) <= MOST_COLUMNS or not values:
        return None
    shown = [m for _, metrics in runs for g in groups if (m := metrics.get(prefix + g))]
    share = all(figures.is_share(one) for one in shown)
    return Heat(
        named(title),
        tuple(map(named, groups)),
        tuple(named(name) for name, _ in runs),
        marks,
        min(values),
        max(values),
        share,
    )


def shares_of(title: str, rows: Sequence[tuple[str, Mapping[str, int]]]) -> Shares | None:
    """Outcomes of runs; None if there are none yet."""
    if not any(sum(outcomes.values()) for _, outcomes in rows):
        return None
    kinds = [kind for kind in figures.OUTCOME_WORDS if any(counts.get(kind) for _, counts in rows)]
    return Shares(
        title,
        tuple(figures.OUTCOME_WORDS[kind] for kind in kinds),
        tuple(named(name) for name, _ in rows),
        tuple(tuple(counts.get(kind, 0) for kind in kinds) for _, counts in rows),
    )


def bins_of(
    title: str, series: Sequence[str], counts: Sequence[Mapping[float, int]]
) -> Bins | None:
    """How often each value occurred; None if there are fewer than three different ones."""
    values = sorted({value for count in counts for value in count})
    if len(values) < 3 or not all(counts):
        return None
    place, names = _places(values)
    totals = [sum(count.values()) for count in counts]
    shares = [[0.0] * len(series) for _ in names]
    for at, count in enumerate(counts):
        for value, number in count.items():
            shares[place(value)][at] += number / totals[at]
    return Bins(named(title), tuple(map(named, series)), names, tuple(map(tuple, shares)))


def _places(values: Sequence[float]) -> tuple[Callable[[float], int], tuple[str, ...]]:
    """A value's bin, and the names of the bins: one per value if there are few."""
    if len(values) <= _MOST_BINS:
        at = {value: place for place, value in enumerate(values)}
        return at.__getitem__, tuple(f"{value:.4g}" for value in values)
    step = step_of((values[-1] - values[0]) / 2)
    first = floor(values[0] / step)
    last = floor(values[-1] / step)
    names = tuple(f"{step * n:.4g} to {step * (n + 1):.4g}" for n in range(first, last + 1))
    return lambda value: floor(value / step) - first, names

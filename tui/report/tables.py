"""The tables of a report: metrics, matrices, judges, and facts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.tui.state import figures
from evalbench.tui.state.agreement import AgreementLine
from evalbench.tui.state.heatmap import OWN, Heatmap

Metrics = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One value.

    Attributes:
        text: formatted value.
        small: its basis.
        step: its shade in a heat map.
    """

    text: str
    small: str = ""
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A name and its values; ``differs`` if the runs differ in it."""

    name: str
    cells: tuple[Cell, ...]
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        title: what it is.
        head: column names, starting with that of the row names.
        rows: the rows, in order.
        numbers: whether values are right-aligned; otherwise they are texts.
        note: text below it.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers: bool = True
    note: str = ""
    kind: str = "table"


def metric_table(title: str, labels: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Metrics of one run with all their details, or of several side by side.

    Args:
        title: what they are.
        labels: the runs' labels.
        rows: a name, then a metric or None for each run.
    """
    if len(labels) > 1:
        made = [Row(name, tuple(map(_whole, cells))) for name, *cells in rows]
        note = "value, 95 % interval, numerator / denominator; bounds where samples failed"
        return Table(title, ("", *labels), tuple(made), note=note)
    metrics = [(name, one) for name, one in rows if one is not None]
    bounded = any(figures.bounds(one) for _, one in metrics)
    columns = ["score", "95 %", "k / n", *(["if failed were wrong–right"] if bounded else [])]
    made = []
    for name, one in metrics:
        words = [figures.value(one), figures.interval(one), figures.fraction(one)]
        words += [figures.bounds(one)] if bounded else []
        made.append(Row(name, tuple(map(Cell, words))))
    kinds = {str(one["interval"]) for _, one in metrics if one.get("interval")}
    return Table(title, ("", *columns), tuple(made), note=", ".join(sorted(kinds)))


def _whole(metric: Mapping[str, Any] | None) -> Cell:
    if metric is None:
        return Cell("–")
    bounds = figures.bounds(metric)
    parts = [figures.interval(metric), figures.fraction(metric), bounds and f"bounds {bounds}"]
    return Cell(figures.value(metric), " · ".join(filter(None, parts)))


def heat_table(matrix: Heatmap, title: str) -> Table:
    """A matrix of metrics with a shade for every value."""
    rows = []
    own = False
    for name, spots in zip(matrix.rows, matrix.spots, strict=True):
        cells = []
        for spot in spots:
            counted = f"n {figures.count(spot.n)}" if spot.step is not None else ""
            small = " · ".join(filter(None, [spot.interval, counted]))
            cells.append(Cell((OWN if spot.own else "") + spot.value, small, spot.step))
            own = own or spot.own
        rows.append(Row(name, tuple(cells)))
    notes = [f"shades from {matrix.lowest} to {matrix.highest}"] if matrix.lowest else []
    if own:
        notes.append(f"{OWN} a judge's verdict on answers of its own model")
    return Table(title, ("", *matrix.columns), tuple(rows), note="; ".join(notes))


def judges_table(lines: Sequence[AgreementLine], title: str) -> Table:
    """How reliable the judges are."""
    rows = [
        Row(line.what, (Cell(line.value), Cell(line.counts), Cell(line.reading))) for line in lines
    ]
    return Table(title, ("", "value", "k / n", "commonly read as"), tuple(rows))


def outcome_table(
    title: str, labels: Sequence[str], outcomes: Sequence[Mapping[str, int]]
) -> Table:
    """How many samples had each outcome, and their shares."""
    rows = []
    for kind, word in figures.OUTCOME_WORDS.items():
        counts = [counted.get(kind, 0) for counted in outcomes]
        if any(counts) or kind in ("ok", "error"):
            totals = [sum(counted.values()) or 1 for counted in outcomes]
            cells = [
                Cell(figures.percent(n / total, 1), figures.count(n))
                for n, total in zip(counts, totals, strict=True)
            ]
            rows.append(Row(word, tuple(cells)))
    return Table(title, ("", *labels), tuple(rows))


def side_by_side(
    title: str, labels: Sequence[str], pairs: Sequence[Mapping[str, str]]
) -> Table | None:
    """Facts about runs, a column for each; None if there are none."""
    names = list(dict.fromkeys(name for column in pairs for name in column))
    if not names:
        return None
    rows = []
    for name in names:
        words = [column.get(name, "–") for column in pairs]
        rows.append(Row(name, tuple(map(Cell, words)), differs=len(set(words)) > 1))
    head = ("", *labels) if len(labels) > 1 else ()
    return Table(title, head, tuple(rows), numbers=False)

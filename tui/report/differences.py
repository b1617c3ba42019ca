"""Differences between runs, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalbench.engine.compare import Comparison
from evalbench.engine.compare.pairs import Pair
from evalbench.tui.report.tables import Cell, Row, Table
from evalbench.tui.state import figures


def difference_table(comparison: Comparison, labels: Sequence[str]) -> Table:
    """Every pair of runs: the second minus the first."""
    metric = comparison.contenders[0].scores.metric
    share = comparison.contenders[0].scores.share
    several = len(comparison.pairs) > 1
    head = ["difference", "p", *(["p, Holm"] if several else []), "higher, lower", "detectable"]
    rows = tuple(
        Row(
            f"{labels[pair.second]} − {labels[pair.first]}",
            tuple(_cells(pair, share=share, several=several)),
        )
        for pair in comparison.pairs
    )
    kinds = {word for pair in comparison.pairs for word in (pair.interval, pair.test) if word}
    return Table(
        metric.title or metric.name,
        ("", *head),
        rows,
        note="; ".join(
            [
                *sorted(kinds),
                "detectable: the smallest true difference that this many samples can show",
            ]
        ),
    )


def _cells(pair: Pair, *, share: bool, several: bool) -> Iterator[Cell]:
    between = ""
    if pair.low is not None and pair.high is not None:
        between = f"{_gap(pair.low, share=share)} to {_gap(pair.high, share=share)}"
    yield Cell(_gap(pair.difference, share=share, unit=True), between)
    yield Cell(_chance(pair.p))
    if several:
        yield Cell(_chance(pair.p_holm))
    counts = f"{figures.count(pair.second_higher)}, {figures.count(pair.first_higher)}"
    yield Cell(counts, f"of {figures.count(pair.n)}")
    least = pair.detectable
    yield Cell("–" if least is None else _gap(least, share=share, unit=True).lstrip("+"))


def _gap(number: float, *, share: bool, unit: bool = False) -> str:
    if share:
        return figures.signed(100 * number, 1) + (" pts" if unit else "")
    return figures.signed(number, 3)


def _chance(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def doubts(comparison: Comparison, labels: Sequence[str]) -> Iterator[str]:
    """Why a difference may not be due to the models: other differing settings, missing data."""
    for other in comparison.sameness.others:
        values = "; ".join(f"{label}: {v}" for label, v in zip(labels, other.values, strict=True))
        yield f"{other.what} is not the same ({values})"
    yield from comparison.warnings

"""Matrices of metrics and the agreement of judges, as plain tables."""

from __future__ import annotations

from evalbench.tui.cli.output import Out
from evalbench.tui.cli.table import plain_table, print_table
from evalbench.tui.state import figures
from evalbench.tui.state.agreement import AgreementLine
from evalbench.tui.state.heatmap import OWN, Heatmap, Spot


def print_matrix(out: Out, matrix: Heatmap) -> None:
    """One matrix, every value with its 95 % interval and its n."""
    from rich.text import Text

    counts = {spot.n for spots in matrix.spots for spot in spots if spot.step is not None}
    alike = len(counts) == 1
    places = frozenset(range(1, len(matrix.columns) + 1))
    table = plain_table(matrix.title, *matrix.columns, right=places)
    for name, spots in zip(matrix.rows, matrix.spots, strict=True):
        table.add_row(Text(name), *(Text(_words(spot, alike)) for spot in spots))
    print_table(out, table)
    if alike:
        out.line(f"n = {figures.count(counts.pop())} everywhere")
    if any(spot.own for spots in matrix.spots for spot in spots):
        out.line(f"{OWN} a judge's verdict on answers of its own model")
    out.line()


def _words(spot: Spot, alike: bool) -> str:
    between = f" ({spot.interval})" if spot.interval else ""
    counted = "" if alike or spot.step is None else f" n {figures.count(spot.n)}"
    return (OWN if spot.own else "") + spot.value + between + counted


def print_agreement(out: Out, lines: list[AgreementLine]) -> None:
    """The judges' table."""
    from rich.text import Text

    table = plain_table("judges", "value", "k / n", "commonly read as", right=frozenset({1, 2}))
    for line in lines:
        table.add_row(Text(line.what), Text(line.value), Text(line.counts), Text(line.reading))
    print_table(out, table)
    out.line()

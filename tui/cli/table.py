"""The score table and what goes with it when a run has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalbench.tui.cli.output import Out
from evalbench.tui.state import figures
from evalbench.tui.state.clean import one_line

if TYPE_CHECKING:
    from rich.table import Table

FEW = 12
"""A section of the score table that is longer is left to ``evalbench show``."""

Metrics = Mapping[str, Mapping[str, Any]]


def plain_table(*columns: str, right: frozenset[int] = frozenset()) -> Table:
    """A table without lines, two spaces between columns. ``right``: columns aligned right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in right else "left", overflow="fold")
    return table


def print_table(out: Out, table: Table) -> None:
    """Print a table without the blanks that would end its lines."""
    console = out.console()
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        out.line(line.rstrip())


def print_columns(out: Out, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a plain table of texts from anywhere, each on one line."""
    from rich.text import Text

    table = plain_table(*columns)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    print_table(out, table)


def print_scores(out: Out, metrics: Metrics, *, all_groups: bool) -> None:
    """Print metrics by section: the ungrouped first, then each group.

    Args:
        out: where to.
        metrics: as in the journal's ``metrics``.
        all_groups: print long sections too.
    """
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for name, metric in metrics.items():
        named = {**metric, "title": metric.get("title") or name}
        sections.setdefault(metric.get("group") or "", []).append(named)
    hidden = []
    for group, rows in sections.items():
        if group and len(rows) > FEW and not all_groups:
            hidden.append(f"{len(rows)} {one_line(group)}")
            continue
        print_table(out, _section(group or "metric", rows))
        out.line()
    if hidden:
        out.line(f"not shown: {', '.join(hidden)} (evalbench show prints them)")
        out.line()


def _section(title: str, rows: list[Mapping[str, Any]]) -> Table:
    from rich.text import Text

    bounded = any(figures.bounds(row) for row in rows)
    columns = [
        title,
        "score",
        "95 %",
        "k / n",
        *(["if failed were wrong–right"] if bounded else []),
    ]
    table = plain_table(*columns, right=frozenset({1, 2, 3}))
    for row in rows:
        cells = [
            Text(one_line(str(row["title"]))),
            Text(figures.value(row), style="bold"),
            Text(figures.interval(row)),
            Text(f"{figures.count(row.get('k', 0))} / {figures.count(row.get('n', 0))}"),
        ]
        if bounded:
            cells.append(Text(figures.bounds(row)))
        table.add_row(*cells)
    return table

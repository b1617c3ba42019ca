"""The score table and related output, for a run that has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalbench.engine.terminal_text import cells_only, one_line
from evalbench.tui.cli.output import Out
from evalbench.tui.state import figures
from evalbench.tui.state.agreement import AgreementLine, agreement_lines, agreement_metrics
from evalbench.tui.state.heatmap import OWN, Heatmap, Spot, heatmaps
from evalbench.tui.state.names import apart

if TYPE_CHECKING:
    from rich.table import Table

FEW = 12
"""A longer section of the score table is left to ``evalbench show``."""

_LEAST_NAME = 12

Metrics = Mapping[str, Mapping[str, Any]]


def plain_table(*columns: str, right: frozenset[int] = frozenset()) -> Table:
    """A table without lines, with two spaces between columns. ``right``: right-aligned columns."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index in right else "left", overflow="fold")
    return table


def print_table(out: Out, table: Table) -> None:
    """Print a table without trailing blanks."""
    console = out.console()
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        out.line(line.rstrip())


def print_columns(
    out: Out,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    name: str = "",
    text: str = "",
    right: frozenset[int] = frozenset(),
) -> None:
    """Print a plain table of untrusted texts, each on one line.

    Args:
        out: output stream.
        columns: titles.
        rows: cells.
        name: title of the column of names, which are cut if the table is too wide.
        text: title of the column of texts, whose ends are cut then.
        right: right-aligned columns.
    """
    from rich.text import Text

    heads = [printable(out, title) for title in columns]
    cells = [[printable(out, cell) for cell in row] for row in rows]
    for title, cut in ((name, cut_names), (text, _cut_texts)):
        if title:
            _narrow(heads, cells, columns.index(title), out.console().width, cut)
    table = plain_table(*heads, right=right)
    for row in cells:
        table.add_row(*map(Text, row))
    print_table(out, table)


def printable(out: Out, text: str) -> str:
    """An untrusted text on one line; on a terminal without joiners, as in the app.

    Files and pipes get them: there no column depends on the width that a terminal gives them.
    """
    line = one_line(text)
    return cells_only(line) if out.isatty() else line


def _narrow(
    columns: Sequence[str],
    rows: Sequence[list[str]],
    place: int,
    width: int,
    cut: Callable[[Sequence[str], int], list[str]],
) -> None:
    """Cut the cells of one column so that no line wraps, if that leaves enough of them."""
    over = width_of(columns, rows) - width
    if over > 0:
        keep = max(_LEAST_NAME, _widest(columns, rows)[place] - over)
        for row, text in zip(rows, cut([row[place] for row in rows], keep), strict=True):
            row[place] = text


def width_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of a plain table of these cells in terminal columns."""
    return sum(_widest(columns, rows)) + 2 * (len(columns) - 1)


def _widest(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    from evalbench.tui.state.cells import widest

    return [widest((title, *(row[at] for row in rows))) for at, title in enumerate(columns)]


def cut_names(names: Sequence[str], width: int) -> list[str]:
    """Names cut to a number of cells so that they remain distinguishable."""
    return [name.fit(width) for name in apart(names)]


def _cut_texts(texts: Sequence[str], width: int) -> list[str]:
    """Texts cut to a number of cells; their beginnings are kept."""
    from evalbench.tui.state.cells import cut

    return [cut(text, width) for text in texts]


def print_scores(out: Out, metrics: Metrics, *, all_groups: bool) -> None:
    """Print metrics by section: the ungrouped first, then each group.

    Groups over the same values are printed side by side, as a matrix, and the judges' reliability
    in a table of its own.

    Args:
        out: output stream.
        metrics: as in the journal's ``metrics``.
        all_groups: whether to print long sections too.
    """

    matrices = heatmaps(metrics)
    apart = {name for matrix in matrices for name in matrix.metrics}
    apart |= set(agreement_metrics(metrics))
    sections: dict[str, list[Mapping[str, Any]]] = {}
    for name, metric in metrics.items():
        if name in apart:
            continue
        named = {**metric, "title": metric.get("title") or name}
        sections.setdefault(metric.get("group") or "", []).append(named)
    hidden = []
    for group, rows in sections.items():
        if group and len(rows) > FEW and not all_groups:
            hidden.append(f"{len(rows)} {one_line(group)}")
            continue
        print_table(out, _section(group or "metric", rows))
        out.line()
    for matrix in matrices:
        if len(matrix.rows) > FEW and not all_groups:
            hidden.append(f"{len(matrix.rows)} {matrix.title}")
            continue
        print_matrix(out, matrix)
    if matrices and all_groups:
        out.line("counts and bounds of these: evalbench show RUN --json")
        out.line()
    if judges := agreement_lines(metrics):
        _print_agreement(out, judges)
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
            Text(figures.fraction(row)),
        ]
        if bounded:
            cells.append(Text(figures.bounds(row)))
        table.add_row(*cells)
    return table


def print_matrix(out: Out, matrix: Heatmap) -> None:
    """One matrix, every value with its 95 % interval and its n; as a list if it is too wide."""
    counts = {spot.n for spots in matrix.spots for spot in spots if spot.step is not None}
    alike = len(counts) == 1
    heads: tuple[str, ...] = (matrix.title, *matrix.columns)
    lines = tuple(zip(matrix.rows, matrix.spots, strict=True))
    rows = [(name, *(_words(spot, alike) for spot in spots)) for name, spots in lines]
    left = 1
    if width_of(heads, rows) > out.console().width:
        heads = (matrix.title, "", "score", "95 %", *([] if alike else ["n"]))
        rows = [
            (name if at == 0 else "", column, *_parts(spot, alike))
            for name, spots in lines
            for at, (column, spot) in enumerate(zip(matrix.columns, spots, strict=True))
        ]
        left = 2
    print_columns(out, heads, rows, name=heads[0], right=frozenset(range(left, len(heads))))
    if alike:
        out.line(f"n = {figures.count(counts.pop())} everywhere")
    if any(spot.own for spots in matrix.spots for spot in spots):
        out.line(f"{OWN} a judge's verdict on answers of its own model")
    out.line()


def _parts(spot: Spot, alike: bool) -> list[str]:
    """The cells of a value in a list."""
    counted = "" if spot.step is None else figures.count(spot.n)
    return [(OWN if spot.own else "") + spot.value, spot.interval, *([] if alike else [counted])]


def _words(spot: Spot, alike: bool) -> str:
    between = f" ({spot.interval})" if spot.interval else ""
    counted = "" if alike or spot.step is None else f" n {figures.count(spot.n)}"
    return (OWN if spot.own else "") + spot.value + between + counted


def _print_agreement(out: Out, lines: list[AgreementLine]) -> None:
    """The judges' table."""
    from rich.text import Text

    table = plain_table("judges", "value", "k / n", "commonly read as", right=frozenset({1, 2}))
    for line in lines:
        table.add_row(Text(line.what), Text(line.value), Text(line.counts), Text(line.reading))
    print_table(out, table)
    out.line()

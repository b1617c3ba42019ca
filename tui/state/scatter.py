"""Two runs' scores against each other, as text: dots that show how many points are there."""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.tui.state import figures

Piece = tuple[str, str]
"""Text and tone."""

_MARKS = "·○●"
"""One; a few; many."""
_FEW, _MANY = 2, 10
_COLUMNS, _ROWS = 41, 11


def draw_scatter(
    title: str,
    points: Sequence[tuple[float, float, int]],
    names: tuple[str, str],
    *,
    share: bool,
) -> list[list[Piece]]:
    """A square of points with scales, and the diagonal on which both runs score the same.

    Args:
        title: what a point is.
        points: first run's score, second run's score, and how many have both.
        names: names of the two runs.
        share: whether scores are proportions.
    """
    every = [value for x, y, _ in points for value in (x, y)]
    low, high = (0.0, 1.0) if share else (min(every), max(every))
    high = high if high > low else low + 1
    counts: dict[tuple[int, int], int] = {}
    for x, y, n in points:
        column = round((x - low) / (high - low) * (_COLUMNS - 1))
        row = _ROWS - 1 - round((y - low) / (high - low) * (_ROWS - 1))
        at = min(max(row, 0), _ROWS - 1), min(max(column, 0), _COLUMNS - 1)
        counts[at] = counts.get(at, 0) + n
    above = sum(n for x, y, n in points if y > x)
    below = sum(n for x, y, n in points if y < x)
    ends = [figures.percent(one) if share else f"{one:g}" for one in (low, high)]
    margin = max(map(len, ends)) + 1
    first, second = names
    summary = f"  {second} higher on {figures.count(above)}, {first} on {figures.count(below)}"
    legend = f"  {_MARKS[0]} one  {_MARKS[1]} {_FEW} or more  {_MARKS[2]} {_MANY} or more"
    lines: list[list[Piece]] = [
        [(f"{second} (up) against {first} (right)", "strong"), (f": {title}", "")],
        [(summary.strip(), "")],
    ]
    for row in range(_ROWS):
        label = ends[1] if row == 0 else ends[0] if row == _ROWS - 1 else ""
        line: list[Piece] = [(f"{label:>{margin - 1}} ", "dim")]
        for column in range(_COLUMNS):
            diagonal = round(column / (_COLUMNS - 1) * (_ROWS - 1)) == _ROWS - 1 - row
            if count := counts.get((row, column), 0):
                line.append((_MARKS[(count >= _FEW) + (count >= _MANY)], "accent"))
            else:
                line.append(("/", "faint") if diagonal else (" ", ""))
        lines.append(line)
    gap = _COLUMNS - len(ends[0]) - len(ends[1])
    lines.append([(" " * margin + ends[0] + " " * gap + ends[1], "dim")])
    lines.append([(legend.strip(), "dim")])
    return lines

"""A matrix of values as a heat map: each cell has its value, and a shade made of glyphs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from evalbench.tui.state.cells import cell
from evalbench.tui.state.heatmap import OWN, STEPS, Heatmap, Spot
from evalbench.tui.state.names import apart
from evalbench.tui.widgets.lines import Line, Lines, Piece

SHADES = "░▒▓█"
"""From low to high. They need no colour: any terminal can distinguish them."""

_NAMES_LEAST, _NAMES_MOST = 8, 28
_GLYPHS_LEAST, _CELL_MOST = 2, 20

assert len(SHADES) == STEPS


class HeatmapView(Lines, can_focus=True):
    """Draws one or more matrices, stacked, as wide as fits."""

    DEFAULT_CSS = """
    HeatmapView:focus { border-title-style: bold reverse; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._matrices: Sequence[Heatmap] = ()

    def show_matrices(self, matrices: Sequence[Heatmap]) -> None:
        """Replace what is shown; a single matrix has its title in the border."""
        self._matrices = matrices
        self._draw(self.size.width)

    def on_resize(self) -> None:
        """Fit the cells to the width."""
        self._draw(self.size.width)

    def _draw(self, width: int) -> None:
        lines: list[Line] = []
        for matrix in self._matrices:
            lines += [[]] if lines else []
            # Before the first layout any width will do: only the number of lines counts.
            lines += heatmap_lines(matrix, width or 80)
        self.show(lines)


def heatmap_lines(matrix: Heatmap, width: int) -> list[Line]:
    """A matrix in ``width`` cells: headers, a line per row, and a legend of the shades.

    Every cell has the same number of shade glyphs, whatever its value.
    """
    count = max(1, len(matrix.columns))
    values = max((cell_len(_value(spot)) for spots in matrix.spots for spot in spots), default=1)
    titles = max((cell_len(column) for column in matrix.columns), default=0)
    least, most = values + _GLYPHS_LEAST + 1, max(titles, _CELL_MOST)
    wanted = max(cell_len(name) for name in (*matrix.rows, matrix.title))
    names = min(wanted, max(_NAMES_MOST, width - count * (most + 1)))
    names = max(_NAMES_LEAST, min(names, width - count * (least + 1)))
    wide = max(1, min(most, (width - names) // count - 1))
    heads: list[Piece] = [(cell(matrix.title, names), "dim")]
    heads += [(" " + cell(column, wide, right=True), "dim") for column in apart(matrix.columns)]
    lines: list[Line] = [heads]
    for name, spots in zip(apart(matrix.rows), matrix.spots, strict=True):
        row: list[Piece] = [cell(name, names)]
        for spot in spots:
            row += _cell(spot, wide, values)
        lines.append(row)
    if legend := _legend(matrix):
        lines.append([(legend, "dim")])
    return lines


def _value(spot: Spot) -> str:
    return (OWN if spot.own else "") + spot.value


def _cell(spot: Spot, wide: int, values: int) -> list[Piece]:
    glyphs = wide - values - 1
    if spot.step is None or glyphs < 1:
        return [" " + cell(_value(spot), wide, right=True)]
    value = cell(_value(spot), values, right=True)
    return [" ", (SHADES[spot.step] * glyphs, "accent"), (f" {value}", "strong")]


def _legend(matrix: Heatmap) -> str:
    words = []
    if matrix.lowest:
        words.append(f"{SHADES[0]} from {matrix.lowest}  {SHADES[-1]} to {matrix.highest}")
    if any(spot.own for spots in matrix.spots for spot in spots):
        words.append(f"{OWN} a judge on answers of its own model")
    return "  ".join(words)

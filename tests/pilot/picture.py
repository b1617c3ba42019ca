"""A screen as a text file: its characters once, and for each theme the styles they have.

Styles are letters with a legend, in runs along a line: ``3-5 a10 b70`` says that
lines 3 to 5 have ten cells of style a and seventy of style b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from string import ascii_letters

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

_ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")

_LOOKS = 5

Cells = list[list[tuple[str, str]]]
"""Lines of (text, style in words)."""


async def looks(pilot: Pilot[int], themes: Iterable[str]) -> dict[str, Cells]:
    """The screen in each theme, once nothing on it changes any more.

    What a thread reads may arrive between two themes: then all are looked at again.
    """
    wanted = list(themes)
    for _ in range(_LOOKS):
        found = {theme: await _look(pilot, theme) for theme in wanted}
        if len({_characters(cells) for cells in found.values()}) <= 1:
            break
    return found


async def _look(pilot: Pilot[int], theme: str) -> Cells:
    app = pilot.app
    # All but the preferred theme are read once the first frame has been seen.
    while theme not in app.available_themes:
        await pilot.pause()
    old = set() if app.theme == theme else _colours(app)
    app.theme = theme
    for entry in app.screen.query(Input):
        entry.cursor_blink = False
    before: Cells = []
    while True:
        await pilot.pause()
        now = _cells(app)
        if now == before and _colours(app) != old:
            return now
        before = now


def _colours(app: App[int]) -> set[str]:
    """Every style on the screen: no two themes have the same ones."""
    return {style for line in _cells(app) for _, style in line}


def _cells(app: App[int]) -> Cells:
    return [
        [
            ("".join(text for text, _ in run), style)
            for style, run in (
                (style, list(run))
                for style, run in groupby(
                    [(s.text, _words(s)) for s in strip if s.text], key=lambda cell: cell[1]
                )
            )
        ]
        for strip in app.screen._compositor.render_strips()
    ]


def _words(segment: Segment) -> str:
    style = segment.style or Style()
    attributes = [name for name in _ATTRIBUTES if getattr(style, name)]
    if not segment.text.strip() and not {"underline", "reverse", "strike"} & {*attributes}:
        # Nobody sees the colour of a blank's text.
        return f"on {_colour(style.bgcolor)}"
    return " ".join([*attributes, _colour(style.color), "on", _colour(style.bgcolor)])


def _colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "default"
    return colour.triplet.hex if colour.triplet else colour.name


def picture(seen: Mapping[str, Cells]) -> str:
    """The file: characters, then the styles of each theme; where runs are alike, said once."""
    parts: list[str] = []
    runs: dict[str, str] = {}
    for theme, cells in seen.items():
        text = _characters(cells)
        if not parts:
            parts.append(text)
        assert text == parts[0], f"{theme} has other characters:\n{text}"
        legend, rows = _styles(cells)
        alike = runs.setdefault(rows, theme)
        parts += [f"--- {theme}", legend, rows if alike == theme else f"lines as in {alike}"]
    return "\n".join(parts) + "\n"


def _characters(cells: Cells) -> str:
    return "\n".join("".join(run for run, _ in line).rstrip() for line in cells)


def _styles(cells: Cells) -> tuple[str, str]:
    letters: dict[str, str] = {}
    rows = []
    for line in cells:
        runs = [
            f"{letters.setdefault(style, _letter(len(letters)))}{sum(len(t) for t, _ in run)}"
            for style, run in ((s, list(r)) for s, r in groupby(line, key=lambda cell: cell[1]))
        ]
        rows.append(" ".join(runs))
    legend = [f"{letter} = {style}" for style, letter in letters.items()]
    return "\n".join(legend), "\n".join(_numbered(rows))


def _letter(number: int) -> str:
    return ascii_letters[number] if number < len(ascii_letters) else f"({number})"


def _numbered(rows: Sequence[str]) -> list[str]:
    lines, first = [], 1
    for row, same in groupby(rows):
        last = first + len(list(same)) - 1
        lines.append(f"{first}-{last} {row}" if last > first else f"{first} {row}")
        first = last + 1
    return lines

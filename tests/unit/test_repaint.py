"""Only what looks different is written, and the terminal shows the same as with everything."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from evalbench.tui.repaint import Painted

WIDTH, HEIGHT = 40, 6
CONSOLE = Console(color_system="truecolor", force_terminal=True)
STYLES = (None, Style(bold=True), Style(color="#102030"), Style(bgcolor="#405060"))
_PARTS = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|(.)", re.DOTALL)

Cells = list[list[tuple[str, str]]]


class Terminal:
    """Cells, written by moving the cursor, choosing a style and sending text."""

    def __init__(self) -> None:
        self.cells: Cells = [[(" ", "")] * WIDTH for _ in range(HEIGHT)]
        self.written = 0

    def write(self, text: str) -> None:
        self.written += len(text)
        x = y = 0
        style = ""
        for part in _PARTS.finditer(text):
            if part[1]:
                y, x = int(part[1]) - 1, int(part[2]) - 1
            elif part[3] is not None:
                style = "" if part[3] == "0" else part[3]
            elif part[4] == "\n":
                continue
            else:
                self.cells[y][x] = part[4], style
                x += 1


def random_line(draw: random.Random) -> Strip:
    segments: list[Segment] = []
    left = WIDTH
    while left:
        wide = draw.randint(1, min(left, 9))
        segments.append(Segment(draw.choice("ab ━…") * wide, draw.choice(STYLES)))
        left -= wide
    return Strip(segments)


def whole(lines: Sequence[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[line] for line in lines], Region(0, 0, WIDTH, HEIGHT))


def parts(lines: Sequence[Strip], spans: list[tuple[int, int, int]]) -> ChopsUpdate:
    """As a compositor gives it: lines cut in the middle, of which spans are to be drawn."""
    half = WIDTH // 2
    chops = [{0: line.crop(0, half), half: line.crop(half, WIDTH)} for line in lines]
    return ChopsUpdate(chops, spans, [[half, WIDTH] for _ in lines])


def written(painted: Painted, update: CompositorUpdate, terminal: Terminal) -> int:
    before = terminal.written
    terminal.write(painted.less(update).render_segments(CONSOLE))
    return terminal.written - before


def screen_of(lines: Sequence[Strip]) -> Cells:
    terminal = Terminal()
    terminal.write(whole(lines).render_segments(CONSOLE))
    return terminal.cells


@pytest.mark.parametrize("seed", range(5))
def test_the_terminal_shows_what_it_would_show_anyway(seed: int) -> None:
    assert CONSOLE._color_system is ColorSystem.TRUECOLOR
    draw = random.Random(seed)
    painted, terminal = Painted(), Terminal()
    lines = [random_line(draw) for _ in range(HEIGHT)]
    written(painted, whole(lines), terminal)
    for _ in range(60):
        changed = draw.sample(range(HEIGHT), draw.randint(0, 3))
        lines = [random_line(draw) if y in changed else line for y, line in enumerate(lines)]
        if draw.random() < 0.1:
            painted.forget()
        if draw.random() < 0.5:
            written(painted, whole(lines), terminal)
        elif changed:
            written(painted, parts(lines, [(y, 0, WIDTH) for y in sorted(changed)]), terminal)
        assert terminal.cells == screen_of(lines)


def test_what_is_there_already_is_not_written() -> None:
    draw = random.Random(1)
    painted, terminal = Painted(), Terminal()
    lines = [random_line(draw) for _ in range(HEIGHT)]
    assert written(painted, whole(lines), terminal) > WIDTH * HEIGHT
    assert written(painted, whole([Strip(list(line)) for line in lines]), terminal) == 0
    one = Strip([Segment("x" * 20), Segment("y" * 20)])
    written(painted, whole([one, *lines[1:]]), terminal)
    other = Strip([Segment("x" * 20), Segment("y" * 9 + "z" + "y" * 10)])
    assert written(painted, whole([other, *lines[1:]]), terminal) == len("\x1b[1;30Hz")
    assert written(painted, parts([one, *lines[1:]], [(0, 20, 40)]), terminal) < 12
    painted.forget()
    assert written(painted, whole([one, *lines[1:]]), terminal) > WIDTH * HEIGHT


@pytest.mark.parametrize("text", ["漢字", "e\u0301", "👩\u200d🔬"])
def test_lines_with_characters_of_another_width_are_written_whole(text: str) -> None:
    painted = Painted()
    line = Strip([Segment(f"a{text}")])
    filled = [line.adjust_cell_length(WIDTH)] * HEIGHT
    painted.less(whole(filled)).render_segments(CONSOLE)
    changed = Strip([Segment(f"b{text}")]).adjust_cell_length(WIDTH)
    sent = painted.less(whole([changed, *filled[1:]])).render_segments(CONSOLE)
    assert sent.startswith("\x1b[1;1Hb" + text)
    assert painted.less(whole([changed, *filled[1:]])).render_segments(CONSOLE) == ""


def test_what_a_terminal_draws_by_itself_is_left_as_it_is() -> None:
    painted = Painted()
    lines = [Strip([Segment("x" * WIDTH)])] * HEIGHT
    painted.less(whole(lines)).render_segments(CONSOLE)
    picture = whole([Strip([Segment("\x1bPq#1\x1b\\")]), *lines[1:]])
    assert painted.less(picture).render_segments(CONSOLE) == picture.render_segments(CONSOLE)
    assert len(painted.less(whole(lines)).render_segments(CONSOLE)) > WIDTH * HEIGHT


@pytest.mark.parametrize("term", ["linux", "vt100"])
def test_consoles_get_characters_that_their_fonts_have(
    monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    text = "╭━▁▃▄▆█▔▊ ✓ running… 1–2 ▸╯"
    monkeypatch.setenv("TERM", term)
    lines = [Strip([Segment(text)]).adjust_cell_length(WIDTH)] * HEIGHT
    sent = Painted().less(whole(lines)).render_segments(CONSOLE)
    assert sent.startswith("\x1b[1;1H┌═__▄██▀█ √ running~ 1-2 ►┘ ")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert text in Painted().less(whole(lines)).render_segments(CONSOLE)

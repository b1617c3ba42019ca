"""Blocks of lines, bars, gauges and sparklines: exact widths, safe text, little redrawn."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widget import Widget

from evalbench.tui import screens, widgets
from evalbench.tui.widgets.bar import Bar
from evalbench.tui.widgets.gauge import Gauge
from evalbench.tui.widgets.lines import Line, Lines
from evalbench.tui.widgets.sparkline import Sparkline
from tests.pilot.driving import shown


class Seen(Lines):
    """Remembers what it asked to have repainted."""

    def __init__(self) -> None:
        self.repainted: list[Region | str] = []
        super().__init__()

    def refresh(self, *regions: Region, **how: Any) -> Any:
        self.repainted += regions or ["all"]
        return super().refresh(*regions, **how)


class OneBlock(App[None]):
    def compose(self) -> ComposeResult:
        yield Seen()

    @property
    def block(self) -> Seen:
        return self.query_one(Seen)


async def _lines(*lines: Line, width: int = 20) -> list[str]:
    app = OneBlock()
    async with app.run_test(size=(width, 6)) as pilot:
        app.block.show(lines)
        await pilot.pause()
        return shown(app).splitlines()[: len(lines)]


async def test_an_elastic_piece_takes_what_the_others_leave() -> None:
    (line,) = await _lines(["done ", Bar(0.5), "  5/10"])
    assert line == "done ━━━━─────  5/10"


async def test_text_that_is_too_long_is_cut_and_says_so() -> None:
    assert await _lines(["x" * 30], ["漢" * 15]) == ["x" * 19 + "…", "漢" * 9 + " …"]


@pytest.mark.parametrize(
    "text", ["[/bold]x", "a\x1b[31mb", "a\x00b", "a\u202eb", "a\u200db", "\ud800"]
)
async def test_text_from_anywhere_is_text(text: str) -> None:
    (line,) = await _lines([text, "|"])
    assert line.endswith("|")
    assert cell_len(line) <= 20
    assert "\x1b" not in line
    if text.startswith("["):
        assert line == "[/bold]x|"


async def test_only_cells_that_changed_are_repainted() -> None:
    app = OneBlock()
    async with app.run_test(size=(40, 6)) as pilot:
        app.block.show([["clock 1:23 left"], ["still"]])
        await pilot.pause()
        app.block.repainted.clear()
        app.block.show([["clock 1:24 left"], ["still"]])
        assert app.block.repainted == [Region(9, 0, 1, 1)]
        await pilot.pause()
        assert shown(app).splitlines()[:2] == ["clock 1:24 left", "still"]
        app.block.repainted.clear()
        app.block.show([["clock 1:24 left"], ["still"]])
        assert app.block.repainted == []


async def test_a_change_of_tone_alone_is_seen() -> None:
    app = OneBlock()
    async with app.run_test(size=(40, 6)) as pilot:
        app.block.show([["a", ("b", "good"), "c"]])
        await pilot.pause()
        app.block.repainted.clear()
        app.block.show([["a", ("b", "bad"), "c"]])
        assert app.block.repainted == [Region(1, 0, 1, 1)]


async def test_wide_characters_are_repainted_with_their_line() -> None:
    app = OneBlock()
    async with app.run_test(size=(40, 6)) as pilot:
        app.block.show([["漢字 one"]])
        await pilot.pause()
        app.block.show([["漢字漢 two"]])
        await pilot.pause()
        assert shown(app).splitlines()[0] == "漢字漢 two"


async def test_it_is_as_high_as_it_has_lines_and_fits_itself_to_the_width() -> None:
    app = OneBlock()
    async with app.run_test(size=(30, 8)) as pilot:
        app.block.show([["one ", Bar(1.0)], ["two"], ["three"]])
        await pilot.pause()
        assert app.block.size.height == 3
        app.block.show([["one ", Bar(1.0)]])
        await pilot.resize_terminal(10, 8)
        await pilot.pause()
        assert app.block.size.height == 1
        assert shown(app).splitlines()[0] == "one ━━━━━━"


def _text(pieces: Sequence[tuple[str, str]]) -> str:
    return "".join(text for text, _ in pieces)


@pytest.mark.parametrize(
    ("share", "full"), [(0.0, 0), (0.001, 1), (0.5, 5), (0.999, 9), (1.0, 10), (7.0, 10), (-1, 0)]
)
def test_a_bar_shows_that_a_little_is_not_nothing(share: float, full: int) -> None:
    assert _text(Bar(share).draw(10)) == "━" * full + "─" * (10 - full)


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_pieces_have_exactly_the_width_they_are_given(width: int) -> None:
    for piece in (Bar(0.3), Sparkline([1, 2, 3]), Gauge(3, 5, 8), Gauge(1, 1, 0)):
        assert len(_text(piece.draw(width))) == width


async def test_what_follows_a_short_bar_stays_next_to_it() -> None:
    (line,) = await _lines(["CPU ", Bar(0.5, most=4), " 50 %"])
    assert line.rstrip() == "CPU ━━── 50 %"


def test_a_gauge_marks_its_peak_beyond_what_is_used() -> None:
    assert _text(Gauge(2, 6, 10).draw(10)) == "━━───┃────"
    assert _text(Gauge(6, 6, 10).draw(10)) == "━━━━━━────"
    assert _text(Gauge(2, None, 10).draw(10)) == "━━────────"
    assert _text(Gauge(12, 15, 10).draw(10)) == "━" * 10


def test_a_sparkline_scales_to_its_highest_and_keeps_the_newest() -> None:
    assert _text(Sparkline([0, 1, 4, 8]).draw(6)) == "▁▂▅█  "
    assert _text(Sparkline([0, 1, 4, 8]).draw(2)) == "▅█"
    assert _text(Sparkline([0, 0]).draw(2)) == "▁▁"
    assert _text(Sparkline([]).draw(2)) == "  "


async def test_dragging_over_a_block_selects_nothing() -> None:
    app = OneBlock()
    async with app.run_test(size=(20, 6)) as pilot:
        app.block.show([["one"], ["two"]])
        await pilot.pause()
        await pilot.mouse_down(Seen, offset=(0, 0))
        await pilot.hover(Seen, offset=(2, 1))
        await pilot.mouse_up(Seen, offset=(2, 1))
        assert not app.screen.get_selected_text()


def test_what_draws_its_own_lines_offers_no_selection() -> None:
    """Textual would copy such a widget's name."""
    for room in (screens, widgets):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    waiting: list[type[Widget]] = [Widget]
    drawing = []
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("evalbench.") and "render_line" in vars(kind):
            drawing.append(kind)
    assert Lines in drawing
    assert [kind for kind in drawing if kind.ALLOW_SELECT] == []

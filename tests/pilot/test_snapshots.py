"""Every page looks as it did, and all its text is legible. ``make snapshots`` keeps new looks."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from textual.color import Color
from textual.geometry import Region
from textual.screen import ModalScreen, Screen

from evalbench.engine.hardware.system import SystemReading
from evalbench.tui import screens
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.palette import Palette
from evalbench.tui.screens import settings
from evalbench.tui.screens.dialogs import Dialog
from evalbench.tui.screens.filtered import FilteredPage
from evalbench.tui.screens.fixing import FixingPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.home_glance import Glance
from evalbench.tui.screens.key_entry import Clock
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.seeking import SeekingPage
from evalbench.tui.state import run_charts
from evalbench.tui.state.machine import MachineReading
from evalbench.tui.state.preferences import load_preferences
from evalbench.tui.state.rate_history import RateHistory, TimeLeft
from evalbench.tui.state.run_list import RunLine
from evalbench.tui.state.run_view import RunView
from evalbench.tui.widgets.focus import FocusScreen
from tests.contrast import ratio
from tests.pilot.pages import SHOTS, SIZES, settled
from tests.pilot.picture import Cells, looks, picture

THEMES = ("evalbench-dark", "evalbench-light", "monochrome")
CHECKED = {
    **dict.fromkeys((*THEMES, "colour-blind-safe"), 4.5),
    "high-contrast": 7.0,
}
"""Themes whose contrast is checked on every page, and how much there must be."""

FOLDER = Path(__file__).parent / "snapshots"
KEEP = bool(os.environ.get("EVALBENCH_SNAPSHOTS"))


def _still_glance(glance: Glance, runs: Sequence[RunLine]) -> None:
    """A machine whose load never changes, read at once."""
    glance.set_class(bool(runs), "-on")
    told = [line.folder.status() for line in runs if line.live]
    still = SystemReading((0.25, 0.75), None, 6_000_000_000, 16_000_000_000)
    glance.show(told, MachineReading(still))


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing of this machine or version in the pictures."""
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.setattr(settings, "version", lambda *_: "0.0.0")
    monkeypatch.setattr(RunView, "elapsed", 93.0)
    monkeypatch.setattr(RunView, "left", TimeLeft(262.0, 203.0, 341.0))
    monkeypatch.setattr(
        RateHistory, "history", lambda _pace, _most: [n * 7 % 11 + 1 for n in range(24)]
    )
    monkeypatch.setattr(RunView, "clock_time", lambda _view, _event: "12:34:56")
    monkeypatch.setattr(run_charts, "_clock", lambda *_: lambda _x: "12:34:56")
    monkeypatch.setattr(Glance, "look", _still_glance)
    monkeypatch.setattr(Clock, "_tell", lambda clock: clock.show("3 s"))


def file_name(name: str, size: tuple[int, int]) -> str:
    return f"{name}-{size[0]}x{size[1]}.txt"


ALL = [(name, size) for name in sorted(SHOTS) for size in SIZES]
ROOMY = {"compare", "home", "new", "run-live", "sample"}
"""Pages that show more where there is more room; of the others one size says enough."""


def _case(name: str, size: tuple[int, int]) -> ParameterSet:
    told = size == SIZES[0] or (name in ROOMY and size == SIZES[-1])
    marks = () if told else (pytest.mark.slow, pytest.mark.share(16))
    return pytest.param(name, size, id=file_name(name, size)[:-4], marks=marks)


@pytest.mark.share(4)
@pytest.mark.parametrize(("name", "size"), [_case(*which) for which in ALL])
async def test_it_looks_as_before(
    monkeypatch: pytest.MonkeyPatch, name: str, size: tuple[int, int]
) -> None:
    await SHOTS[name].before(monkeypatch)
    preferences = load_preferences()
    preferences.welcomed = True
    app = EvalbenchApp(preferences)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await SHOTS[name].then(pilot)
        if isinstance(app.screen, HomePage):
            await settled(pilot)
        seen = await looks(pilot, THEMES)
        assert type(app.screen) is SHOTS[name].of
        if size == SIZES[0]:
            others = [theme for theme in CHECKED if theme not in seen]
            every = seen | await looks(pilot, others)
            # Under a dialog the page is dimmed on purpose.
            area = (app.screen.children[0] if app.screen.is_modal else app.screen).region
            assert not sorted(set(faint(every, area)))
    now = picture(seen)
    file = FOLDER / file_name(name, size)
    if KEEP:
        FOLDER.mkdir(exist_ok=True)
        file.write_text(now, "utf-8")
    before = file.read_text("utf-8") if file.exists() else ""
    if now != before:
        lines = difflib.unified_diff(
            before.splitlines(), now.splitlines(), f"{file.name} as kept", "as drawn now", n=1
        )
        pytest.fail("\n".join([*lines, "", "wanted? make snapshots, and read the difference"]))


def faint(seen: Mapping[str, Cells], area: Region) -> Iterator[tuple[str, str, str, float]]:
    """Text in an area whose letters hardly stand out; frames and bars may."""
    for theme, cells in seen.items():
        for line in cells[area.y : area.bottom]:
            for text, style in cut(line, area):
                if all(c.isspace() or "\u2500" <= c <= "\u259f" for c in text):
                    continue
                front, back = (Color.parse(word) for word in style.split() if word[0] == "#")
                if (found := ratio(front, back)) < CHECKED[theme]:
                    yield theme, text.strip(), style, round(found, 1)


def cut(line: Sequence[tuple[str, str]], area: Region) -> Iterator[tuple[str, str]]:
    """The part of a line that lies in an area; only for text one cell wide."""
    x = 0
    for text, style in line:
        yield text[max(0, area.x - x) : max(0, area.right - x)], style
        x += len(text)


def test_every_screen_is_pictured() -> None:
    found: set[type] = {Palette}
    for module in pkgutil.iter_modules(screens.__path__):
        names = vars(importlib.import_module(f"{screens.__name__}.{module.name}"))
        found |= {kind for kind in names.values() if isinstance(kind, type)}
    every = {kind for kind in found if issubclass(kind, Screen)}
    bases = {Screen, ModalScreen, FocusScreen, Page, FilteredPage, FixingPage, SeekingPage, Dialog}
    assert {shot.of for shot in SHOTS.values()} == every - bases


def test_every_picture_is_kept_in_every_size_and_theme() -> None:
    lacking = [
        f"{name} {size} {theme}"
        for name, size in ALL
        for theme in THEMES
        if f"\n--- {theme}\n" not in (FOLDER / file_name(name, size)).read_text("utf-8")
    ]
    assert not lacking


def test_no_picture_is_left_over() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {file_name(*which) for which in ALL}

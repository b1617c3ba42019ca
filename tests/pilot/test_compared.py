"""A judged run on its page: category by turn as a heat map, and how far the judges agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.cli.main import main
from evalbench.tui.screens.run_panels import Compared
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.heatmap import SHADES, HeatmapView
from tests.pilot.driving import shown, until, until_shown
from tests.pilot.judged import CATEGORIES, judged_run, rated
from tests.pretending import pretend


@pytest.mark.share(3)
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_every_category_and_turn_is_in_sight_at_once(
    home: Path, size: tuple[int, int]
) -> None:
    engine = await judged_run()
    app = EvalbenchApp(Preferences(), run=engine.folder)
    async with app.run_test(size=size) as pilot:
        await until_shown(pilot, "writing")
        await until_shown(pilot, SHADES[-1])
        screen = await until_shown(pilot, "Krippendorff's alpha")
    lines = screen.splitlines()
    heads = ("By category", "both turns", "first turn", "second turn")
    assert any(all(head in line for head in heads) for line in lines)
    metrics = rated()
    for category in CATEGORIES:
        row = next(line for line in lines if line.strip().startswith(category))
        for name in ("score", "turn_1", "turn_2"):
            assert f" {metrics[f'{name}/category={category}']['value']:.3f}" in row
        assert any(shade in row for shade in SHADES)
    assert "unread judgements" in screen
    assert all(len(line) <= size[0] for line in lines)


async def test_the_keyboard_reaches_all_of_it_on_a_small_screen(home: Path) -> None:
    engine = await judged_run()
    app = EvalbenchApp(Preferences(), run=engine.folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.focused, HeatmapView), "the heat map")
        assert "kappa" not in shown(app)
        await pilot.press(*["down"] * 4)
        await until_shown(pilot, "kappa: gpt-5-mini, claude-haiku-4-5")
        await pilot.press("tab")
        await until_shown(pilot, "Mean rating, first turn")


async def test_it_comes_when_the_run_completes_and_takes_no_room_without(home: Path) -> None:
    engine = pretend("mt-bench", "openai/gpt-4.1", total=80, judge=["openai/gpt-5-mini"])
    engine.status(State.RUNNING, done=3)
    app = EvalbenchApp(Preferences(), run=engine.folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "running")
        assert not app.screen.query_one(Compared).display
        await engine.keep(metrics=rated())
        engine.status(State.COMPLETE, done=80)
        await until(pilot, lambda: app.screen.query_one(Compared).display, "the heat map")
        await until(pilot, lambda: isinstance(app.focused, HeatmapView), "the keyboard there")


async def test_show_prints_the_same_matrix(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = await judged_run()
    assert main(["show", engine.folder.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("By category"))
    heads = ["By category", "both turns", "first turn", "second turn"]
    assert re.split(r" {2,}", lines[at].strip()) == heads
    assert [line.split()[0] for line in lines[at + 1 : at + 9]] == list(CATEGORIES)
    first = rated()["score/category=coding"]
    assert f"{first['value']:.3f} ({first['low']:.3f}–{first['high']:.3f})" in lines[at + 1]
    assert any(line.startswith("judges  ") and "read as" in line for line in lines)
    assert any("Krippendorff's alpha" in line for line in lines)

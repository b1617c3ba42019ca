"""Compare: runs marked on Home side by side, what differs besides, and the samples behind it."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.runs.folder import RunFolder
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import compare
from evalbench.tui.screens.compare import ComparePage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.sample import SamplePage
from evalbench.tui.screens.side_by_side import SideBySidePage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.scored_runs import MODELS, right_or_wrong, score_run


def an_app() -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True))


@pytest.fixture
async def runs() -> list[RunFolder]:
    """Two runs of the same questions, the second in another order; Home shows them turned round."""
    found = []
    marks = right_or_wrong("++++-+-+")
    other = dict(reversed(right_or_wrong("+-+--++-").items()))
    for number, (own, model) in enumerate(zip((marks, other), MODELS, strict=False)):
        folder = await score_run(own, model)
        path = folder.path.with_name(f"2026010{2 - number}-000000-run")
        folder.path.rename(path)
        found.append(RunFolder(path))
    return found


async def test_runs_are_marked_compared_and_their_samples_opened(runs: list[RunFolder]) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "2 runs")
        await pilot.press("space", "space")
        await until_shown(pilot, "2 marked")
        await pilot.press("c")
        screen = await until_shown(pilot, "4 scored differently")
        assert "8 samples scored in every run" in screen
        assert "compared: the model" in screen
        assert "WARNING" not in screen
        assert "B − A = −25.00 points: not significant" in screen
        assert "higher on   A 3, B 1; both right 3, both wrong 1" in screen
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, SideBySidePage), "both replies")
        screen = await until_shown(pilot, "2 of 4 scored differently")
        assert "How much is 4 and one?" in screen
        assert all(one in screen for one in ("A  ", "B  ", "right", "wrong"))
        await pilot.press("n")
        await until_shown(pilot, "3 of 4 scored differently")
        await pilot.press("p")
        await until_shown(pilot, "2 of 4 scored differently")
        await pilot.press("escape", "o")
        await until(pilot, lambda: isinstance(app.screen, SamplePage), "a sample")
        first = app.screen
        assert isinstance(first, SamplePage)
        # The second sample of those that flip is the fourth of the first run.
        assert first.number == 4
        await until_shown(pilot, "How much is 4 and one?")
        await pilot.press("escape", "w")
        await until_shown(pilot, "o opens B's sample")
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, SamplePage), "the same sample")
        second = app.screen
        assert isinstance(second, SamplePage)
        assert second.number == 5
        await until_shown(pilot, "How much is 4 and one?")


async def test_one_marked_run_is_compared_with_the_one_under_the_cursor(
    runs: list[RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    async def run_command(*words: str, **_: Any) -> list[dict[str, Any]]:
        asked.append(words)
        raise EvalbenchError("no", why="it is a test", hint="none")

    monkeypatch.setattr(compare, "run_command", run_command)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "2 runs")
        await pilot.press("c")
        await pilot.pause()
        assert isinstance(app.screen, HomePage)
        await pilot.press("space")
        await until_shown(pilot, "1 marked")
        await pilot.press("c")
        await until_shown(pilot, "it is a test")
        assert "cannot be compared" in shown(app)
        assert asked == [
            ("compare", *(str(run.path) for run in runs), "--flips", str(compare.MOST_FLIPS))
        ]
        # Nothing to open, and the way back is there.
        await pilot.press("enter", "w", "escape")
        await until(pilot, lambda: isinstance(app.screen, HomePage), "Home")
        await pilot.press("up", "space")
        await until(pilot, lambda: "marked" not in shown(app), "no mark")


async def test_a_deleted_run_is_not_marked_any_more(runs: list[RunFolder]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "2 runs")
        await pilot.press("space", "space")
        await until_shown(pilot, "2 marked")
        assert app.screen.query_one(Table).cursor == 1
        await pilot.press("d")
        await until_shown(pilot, "Delete the 2 marked runs?")
        await pilot.press("tab", "enter")
        await until(pilot, lambda: "marked" not in shown(app), "no marks")


async def test_runs_of_different_benchmarks_are_refused_in_words() -> None:
    await score_run(right_or_wrong("+-"))
    await score_run(right_or_wrong("+-"), benchmark="quickstart")
    app = an_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_shown(pilot, "2 runs")
        await pilot.press("space", "space", "c")
        screen = await until_shown(pilot, "different benchmarks")
        assert "compare runs of one benchmark" in screen
        assert isinstance(app.screen, ComparePage)
        assert "question" not in shown(app)
        await pilot.press("b")
        await until_told(pilot, "there is no comparison")


async def test_of_three_runs_the_least_visible_difference_is_told_in_80_columns(
    runs: list[RunFolder],
) -> None:
    third = await score_run(right_or_wrong("--------"), "scripted/third")
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(ComparePage([*runs, third]))
        screen = await until_shown(pilot, "detectable")
        rows = [line for line in screen.splitlines() if " − " in line]
        assert len(rows) == 3
        assert all("not significant" in row or "higher" in row for row in rows)
        assert all(row.rstrip("│┃ ").endswith("points") for row in rows)

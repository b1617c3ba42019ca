"""Setting up a judged run: who judges, what is wrong with that, and what each of them takes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from evalbench.engine.runs.folder import all_runs
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.new import NewRunPage
from evalbench.tui.screens.new_panels import EstimatePanel
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.form import Field
from tests.pilot.driving import shown, until, until_shown

SIZES = ((80, 24), (120, 40), (200, 60))
FORM = "PROVIDER/NAME,temperature=0,qps=10"


@pytest.fixture(autouse=True)
def no_engine_left(home: Path) -> Iterator[None]:
    yield
    for folder in all_runs(home / "runs"):
        if pid := folder.live_pid():
            os.kill(pid, signal.SIGKILL)


async def opened(pilot: Pilot[int]) -> NewRunPage:
    await pilot.press("f3")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, NewRunPage) and pilot.app.screen.query(Field),
        "the settings",
    )
    assert isinstance(pilot.app.screen, NewRunPage)
    return pilot.app.screen


async def write(pilot: Pilot[int], page: NewRunPage, name: str, text: str) -> None:
    """Type into the field of a setting."""
    await page._reveal(name).wait()
    entry = page.query_one(f"#field-{name} Input", Input)
    await until(pilot, lambda: entry.has_focus, f"the field {name}")
    entry.value = text
    await pilot.pause()


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
async def test_a_judge_is_asked_for_first_checked_in_place_and_priced(
    home: Path, size: tuple[int, int]
) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="judged", model="scripted/good"))
    async with app.run_test(size=size) as pilot:
        page = await opened(pilot)
        assert page.query(Field).first().option.name == "judge"
        assert FORM in await until_shown(pilot, "name a judge, as")
        await pilot.press("f9")
        field = page.query_one("#field-judge")
        await until(pilot, lambda: field.has_focus_within, "the field of the judge")
        await pilot.press(*"scripted/good,qsp=3")
        fault = page.query_one("#field-judge .fault", Static)
        await until(pilot, lambda: "did you mean qps" in str(fault.visual), "the hint")
        assert "is no setting of a judge" in str(fault.visual)
        assert fault.region.height
        both = "scripted/good,qps=300, scripted/better"
        await write(pilot, page, "judge", both)
        await write(pilot, page, "limit", "6")
        # The whole text may be longer than the panel is high.
        await until(pilot, lambda: "6 samples" in shown(app), "the estimate")
        takes = page.query_one(EstimatePanel).text
        assert "judge/scripted/good: 6 calls" in takes
        assert "judge/scripted/better: 6 calls" in takes
        await pilot.press("f9")
        await until_shown(pilot, "The cost is unknown. Start?")
        await pilot.press("y")
        folder = (await until(pilot, lambda: all_runs(home / "runs"), "a run folder"))[0]
        await until_shown(pilot, "complete")
    assert folder.spec().get("judge") == ("scripted/good,qps=300", "scripted/better")


@pytest.mark.slow
async def test_given_answers_need_no_model(home: Path, tmp_path: Path, shared_data: Path) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, benchmark="spec-comply", model="scripted/good"))
    sample = shared_data / "speceval" / "sample" / "specs" / "sample.jsonl"
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(pilot)
        await write(pilot, page, "judge", "scripted/good")
        await write(pilot, page, "data", str(sample))
        await until_shown(pilot, "of scripted")
        await write(pilot, page, "answers", f"mine={tmp_path}/nowhere")
        fault = page.query_one("#field-answers .fault", Static)
        await until(pilot, lambda: "no file or folder" in str(fault.visual), "the fault")
        (tmp_path / "here").mkdir()
        await write(pilot, page, "answers", f"mine={tmp_path}/here")
        screen = await until_shown(pilot, "spec-comply × answers/mine")
        state = page.query_one(EstimatePanel).text.splitlines()[0]
        assert state == "no model is called: the answers exist already"
        assert "of scripted" not in screen
        assert page.query_one("#field-answers").has_focus_within
        assert "--model" not in page._draft.command()
        await write(pilot, page, "answers", "")
        await until_shown(pilot, "spec-comply × scripted/good")

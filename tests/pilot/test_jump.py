"""Letters on what takes the keyboard: one press goes there, any other key leaves."""

from __future__ import annotations

from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.jump import LETTERS, Jump
from evalbench.tui.screens.run import RunPage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import shown, until, until_shown
from tests.pretending import ACCURACY, pretend


async def test_a_letter_takes_the_keyboard_to_what_it_stands_on() -> None:
    assert len(set(LETTERS)) == len(LETTERS)
    engine = pretend()
    engine.status(State.COMPLETE, done=1, metrics={"accuracy": ACCURACY})
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open_run(engine.folder)
        await until_shown(pilot, "score and outcomes")
        page = app.screen
        assert isinstance(page, RunPage)
        await pilot.press("ctrl+o")
        jump = await until(pilot, lambda: isinstance(app.screen, Jump) and app.screen, "letters")
        letter = next(one for one, found in jump._letters.items() if found.id == "log")
        # Each stands on the first cell of its own.
        places = [found.region.offset for found in jump._letters.values()]
        await until(
            pilot,
            lambda: [mark.region.offset for mark in jump.query(".letter")] == places,
            "a letter on each",
        )
        await pilot.press(letter)
        await until(pilot, lambda: app.screen is page, "the page again")
        await until(pilot, lambda: page.focused is page.query_one("#log", Table), "the log")
        for leave in ("escape", "f9"):
            await pilot.press("ctrl+o")
            await until(pilot, lambda: isinstance(app.screen, Jump), "letters again")
            await pilot.press(leave)
            await until(pilot, lambda: app.screen is page, "the page again")
        assert page.focused is page.query_one("#log", Table)


async def test_no_letter_stands_on_a_frame_that_hides_its_field() -> None:
    app = EvalbenchApp(
        Preferences(welcomed=True, benchmark="quickstart", model="compatible/any-model")
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f3")
        await until_shown(pilot, "base-url")
        await until(pilot, lambda: "F9 Start" in shown(app), "the page")
        await pilot.press("ctrl+o")
        jump = await until(pilot, lambda: isinstance(app.screen, Jump) and app.screen, "letters")
        assert len(jump._letters) > 4
        await until(pilot, lambda: " s " in shown(app), "letters")
        frames = [line for line in shown(app).splitlines() if line.startswith("╰")]
        assert frames
        assert not any(one.isalnum() for line in frames for one in line)

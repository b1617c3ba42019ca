"""Keys that come faster than the app works: each goes where the one before it leads."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.app import App
from textual.widgets import Input

from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.palette import Palette
from evalbench.tui.screens.help import HelpPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.new import NewRunPage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import until, until_shown
from tests.pretending import pretend


def an_app() -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True))


def burst(app: App[int], keys: Iterable[str]) -> None:
    """Keys that are all there before the app works off the first, as on a busy machine."""
    for key in keys:
        character = {"colon": ":"}.get(key, key if len(key) == 1 else None)
        app.post_message(events.Key(key, character))


async def test_a_filter_gets_all_that_follows_its_key() -> None:
    for number, state in enumerate((State.PAUSED, State.COMPLETE)):
        pretend(model=f"openai/gpt-{number}").status(state, done=number)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "2 runs")
        burst(app, ["slash", *"comp", "enter", "j", "slash", *"pause", "d"])
        await until_shown(pilot, "1 of 2 runs")
        field = app.screen.query_one("#filter", Input)
        await until(pilot, lambda: field.value == "paused", "what was typed")
        assert type(app.screen) is HomePage


async def test_a_dialog_gets_what_follows_the_key_that_opens_it() -> None:
    engine = pretend()
    engine.status(State.COMPLETE, done=400)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "1 run")
        burst(app, ["t", *"paper", "enter", "slash", *"tag", "colon", *"pa"])
        await until(pilot, lambda: list(engine.folder.status().tags) == ["paper"], "the tag")
        await until_shown(pilot, "filter tag:pa")
        assert type(app.screen) is HomePage


async def test_a_page_gets_what_follows_the_key_that_opens_it() -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "No runs yet")
        burst(app, ["f3", *"gsm"])
        await until(pilot, lambda: isinstance(app.screen, NewRunPage), "the page")
        field = app.screen.query_one("#benchmark").query_one(Input)
        await until(pilot, lambda: field.value == "gsm", "what was typed")
        await until_shown(pilot, "evalbench run")


async def test_the_palette_gets_what_follows_its_key_and_the_page_it_leads_to_the_rest() -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "No runs yet")
        burst(app, ["ctrl+p", *"sett"])
        await until(pilot, lambda: isinstance(app.screen, Palette), "the palette")
        field = app.screen.query_one(Input)
        await until(pilot, lambda: field.value == "sett", "what was typed")
        burst(app, ["escape", "f1", "slash", *"quit"])
        await until(pilot, lambda: isinstance(app.screen, HelpPage), "help")
        await until(pilot, lambda: app.screen.query("#filter"), "the filter")
        found = app.screen.query_one("#filter", Input)
        await until(pilot, lambda: found.value == "quit", "what was typed")


async def test_a_paste_waits_for_the_keys_before_it_and_quitting_for_none() -> None:
    for number in range(3):
        pretend(model=f"openai/gpt-{number}").status(State.COMPLETE, done=number)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "3 runs")
        burst(app, ["j", "slash", "g"])
        app.post_message(events.Paste("pt-1"))
        burst(app, ["enter", "space"])
        await until_shown(pilot, "1 of 3 runs, 1 marked")
        assert app.screen.query_one("#filter", Input).value == "gpt-1"
        assert app.screen.query_one(Table).has_focus
        burst(app, ["j"] * 50)
        await pilot.press("ctrl+q")
    assert app.return_code == 0

"""The command palette: what can be done here and now, and themes to try."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import OptionList

from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.dialogs import Confirm
from evalbench.tui.screens.help import HelpPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.run import RunPage
from evalbench.tui.screens.settings import SettingsPage
from evalbench.tui.state.preferences import Preferences, load_preferences
from evalbench.tui.widgets.form import Field
from tests.pilot.driving import shown, until, until_shown
from tests.pretending import ACCURACY, pretend


def an_app(preferences: Preferences | None = None) -> EvalbenchApp:
    return EvalbenchApp(preferences or Preferences(welcomed=True))


async def offers(pilot: Pilot[int], typed: str = "") -> list[str]:
    """Opens the palette; what it offers."""
    app = pilot.app
    await pilot.press("ctrl+p", *typed)
    await until(pilot, lambda: isinstance(app.screen, CommandPalette), "the palette")
    options = app.screen.query_one(OptionList)
    before: list[str] = []
    while True:
        await until(pilot, lambda: options.option_count, "offers")
        now = [str(option.prompt) for option in options.options]
        if now == before:
            return now
        before = now


async def choose(pilot: Pilot[int], typed: str) -> None:
    await offers(pilot, typed)
    await pilot.press("enter")
    await until(pilot, lambda: not isinstance(pilot.app.screen, CommandPalette), "the choice")


async def test_the_pages_commands_come_first() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        offered = await offers(pilot)
    assert offered[0] == "New run: choose a benchmark, a provider and a model (n)"
    assert any(offer.startswith("Settings: ") for offer in offered)
    assert sum(offer.startswith("New run: ") for offer in offered) == 1
    assert not any(offer.startswith("Commands: ") for offer in offered)


async def test_what_cannot_be_done_is_not_offered() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        offered = await offers(pilot)
    dead = ("Open: ", "Resume: ", "Stop: ", "Delete: ", "Back: ")
    assert not [offer for offer in offered if offer.startswith(dead)]


async def test_what_can_be_done_with_a_run_is() -> None:
    pretend().status()
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        offered = await offers(pilot)
    assert any(offer.startswith("Stop: ") for offer in offered)
    assert not any(offer.startswith("Resume: ") for offer in offered)


async def test_nothing_foreign_is_ever_among_them() -> None:
    pretend(desc="[/b] model text", tag=["[red]tag"]).status()
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        offered = await offers(pilot)
    assert not [offer for offer in offered if "[" in offer]


async def test_runs_benchmarks_and_models_are_found(home: Path) -> None:
    made = pretend("mmlu", "openai/gpt-[5].2")
    made.status(State.COMPLETE, metrics={"accuracy": ACCURACY})
    line = {
        "id": "openai/o9-[/]odd", "provider": "openai", "name": "o9-[/]odd", "title": "Odd [b]",
        "context_tokens": 1, "retires": "", "notes": "", "price": None, "able": {},
    }  # fmt: skip
    file = home / "cache" / "model-lists" / "openai.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(orjson.dumps({"when": 1, "lines": [line]}))
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        for typed, wanted in (
            ("gpt-[5]", "Run mmlu × openai/gpt-[5].2: complete, 25.0 % (20.0–31.0)"),
            ("o9-", "New run with openai/o9-[/]odd: Odd [b]"),
            ("quickst", "New run of quickstart: benchmark"),
        ):
            await pilot.press("ctrl+p", *typed)
            await until_shown(pilot, wanted)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, HomePage), "Home")
        await pilot.press("ctrl+p", *"run mmlu")
        await until_shown(pilot, "Run mmlu ×")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunPage), "the run")


async def test_settings_are_found_and_names_before_scattered_letters() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+p", *"mmlu")
        await until_shown(pilot, "New run of mmlu: benchmark")
        await until(pilot, lambda: "Your own:" not in shown(app), "no scattered letters")
        await pilot.press("escape")
        await choose(pilot, "bandwidth low")
        await until(pilot, lambda: load_preferences().bandwidth == "low", "the setting")
        await pilot.press("f3")
        await until(pilot, lambda: app.screen.query(Field), "the settings of a new run")
        await choose(pilot, "set temperature")
        field = app.screen.query_one("#field-temperature")
        await until(pilot, lambda: field.has_focus_within, "the field")


async def test_a_command_is_carried_out_where_it_belongs() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await choose(pilot, "settings")
        await until(pilot, lambda: isinstance(app.screen, SettingsPage), "Settings")
        await choose(pilot, "back")
        await until(pilot, lambda: isinstance(app.screen, HomePage), "Home")
        await choose(pilot, "filter")
        entry = app.screen.query_one("#filter")
        await until(pilot, lambda: entry.has_focus, "the filter")


async def test_keys_of_the_users() -> None:
    app = an_app(Preferences(welcomed=True, keymap={"app.settings": "left_square_bracket"}))
    async with app.run_test(size=(120, 40)) as pilot:
        offered = await offers(pilot, "settings")
    assert offered[0].endswith("([)")


async def test_a_theme_is_tried_under_the_cursor_and_given_up() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await offers(pilot, "theme mono")
        await pilot.press("down")
        await until(pilot, lambda: app.theme == "monochrome", "the theme")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "evalbench-dark", "the old theme")
    assert load_preferences().theme == "evalbench-dark"


@pytest.mark.parametrize(("low", "rest_s"), [(False, 3600.0), (True, 0.0)])
async def test_a_theme_is_not_tried_in_passing_or_on_a_slow_line(
    monkeypatch: pytest.MonkeyPatch, low: bool, rest_s: float
) -> None:
    monkeypatch.setattr("evalbench.tui.app.TRY_AFTER_S", rest_s)
    app = EvalbenchApp(Preferences(welcomed=True), low_bandwidth=low)
    seen: list[object] = []
    async with app.run_test(size=(120, 40)) as pilot:
        app.theme_changed_signal.subscribe(app, seen.append)
        await offers(pilot, "theme ")
        options = app.screen.query_one(OptionList)
        await pilot.press("down", "down", "up")
        await until(pilot, lambda: options.highlighted == 1, "another theme")
        await pilot.pause(0.05)
        assert app.theme == "evalbench-dark"
        assert not seen


async def test_a_theme_is_kept() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await choose(pilot, "theme mono")
        await until(pilot, lambda: load_preferences().theme == "monochrome", "it was kept")
        assert app.theme == "monochrome"


@pytest.mark.parametrize("page", ["f1", "f6"])
async def test_it_opens_over_other_pages_and_while_one_types(page: str) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(page, "slash")
        offered = await offers(pilot)
        assert any(offer.startswith("Back: ") for offer in offered)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, (HelpPage, SettingsPage)), "the page")


async def test_themes_come_also_where_the_first_page_is_covered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whoever waits for the first frame of a page that never shows one would wait for ever.
    monkeypatch.setattr(EvalbenchApp, "call_after_refresh", lambda *_, **__: True)
    app = an_app()
    async with app.run_test() as pilot:
        await app.push_screen(Confirm("Sure?", yes="Yes"))
        await until(pilot, lambda: "evalbench-light" in app.available_themes, "the other themes")

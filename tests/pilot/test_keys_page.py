"""The Keys page: where keys are; setting, trying and removing them without ever showing one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from textual.pilot import Pilot

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.dialogs import Trouble
from evalbench.tui.screens.key_entry import set_key
from evalbench.tui.screens.keys import KeysPage
from evalbench.tui.state import session_keys
from evalbench.tui.state.key_places import ask_key_places
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.footer import Footer
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.simulator.handle import Handle

KEY = "gsk0123456789abcdefghijWXYZ"
OTHER = "xai0123456789abcdefghijABCD"


@pytest.fixture
def keychain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's commands have a keychain, in this file."""
    file = tmp_path / "keychain.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "evalbench_keyrings.InFile")
    monkeypatch.setenv("FAKE_KEYCHAIN", str(file))
    return file


def held(keychain: Path) -> dict[str, str]:
    return json.loads(keychain.read_text()) if keychain.exists() else {}


def an_app() -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True))


async def opened(pilot: Pilot[int]) -> KeysPage:
    await pilot.press("f5")
    await until_shown(pilot, "none; needed")
    assert isinstance(pilot.app.screen, KeysPage)
    return pilot.app.screen


async def stand_on(pilot: Pilot[int], provider: str, name: str = "") -> None:
    """Put the cursor on a line of a provider."""

    def place() -> int | None:
        page = pilot.app.screen
        lines = page._lines if isinstance(page, KeysPage) else []
        found = [
            number
            for number, line in enumerate(lines)
            if line.provider == provider and name in ("", line.name)
        ]
        return found[0] + 1 if found else None

    number = await until(pilot, place, f"a line of {provider}")
    pilot.app.screen.query_one(Table).cursor = number - 1
    await pilot.pause()


async def test_a_key_is_set_tried_and_removed(home: Path, keychain: Path) -> None:
    app = an_app()
    # A server at the usual address of llama.cpp is not there: the key cannot be tried.
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await opened(pilot)
        await stand_on(pilot, "llamacpp")
        await until_shown(pilot, "s puts a key of llamacpp into the keychain")
        assert "LLAMACPP_API_KEY works too" in shown(app)
        await pilot.press("s")
        await until_shown(pilot, "It is stored in the keychain and never shown again")
        await pilot.press(*KEY)
        assert KEY not in shown(app)
        await pilot.press("enter")
        await until_told(pilot, "the key could not be tried")
        await until_shown(pilot, "✓ llamacpp")
        assert held(keychain) == {"evalbench llamacpp/default": KEY}
        assert "1 key" in shown(app).splitlines()[0]

        await pilot.press("a")
        await until_shown(pilot, "Taken: default")
        await pilot.press(*"work", "enter")
        await until_shown(pilot, "llamacpp key 'work'")
        await pilot.press(*OTHER, "enter")
        await until(pilot, lambda: len(held(keychain)) == 2, "a second key")
        await stand_on(pilot, "llamacpp", "work")
        await until_shown(pilot, "used by runs that name it: --key work")

        await pilot.press("t")
        await until_shown(pilot, "Close")
        await pilot.press("escape")
        await until_shown(pilot, "✗ ")

        await pilot.press("d")
        await until_shown(pilot, "Remove the llamacpp key 'work' from the keychain?")
        await pilot.press("enter")
        await pilot.pause()
        assert len(held(keychain)) == 2
        await pilot.press("d")
        await until_shown(pilot, "Remove the llamacpp key 'work'")
        await pilot.press("y")
        await until_told(pilot, "the llamacpp key 'work' is gone")
        assert held(keychain) == {"evalbench llamacpp/default": KEY}
        for secret in (KEY, OTHER):
            assert secret not in shown(app)


async def test_a_key_of_the_environment_is_told_and_cannot_be_removed(
    home: Path, keychain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", OTHER)
    app = an_app()
    async with app.run_test() as pilot:
        page = await opened(pilot)
        await stand_on(pilot, "xai")
        screen = await until_shown(pilot, "set outside, in XAI_API_KEY")
        assert "env XAI_API_KEY" in screen
        assert page.check_action("test", ()) is True
        assert page.check_action("remove", ()) is None
        assert OTHER not in screen


async def test_a_key_that_does_nothing_says_why(
    home: Path, keychain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XAI_API_KEY", OTHER)
    app = an_app()
    async with app.run_test(notifications=True) as pilot:
        await opened(pilot)
        await stand_on(pilot, "groq")
        await pilot.press("t")
        await until_told(pilot, "Test: groq has no key yet")
        await stand_on(pilot, "xai")
        await pilot.press("d")
        await until_told(pilot, "Remove: the key is set outside, in XAI_API_KEY")
        # A click in the footer is the key.
        footer = app.screen.query_one(Footer)
        at = next(x for x in range(footer.size.width) if (key := footer._at(x)) and key.key == "d")
        await pilot.click(Footer, offset=(at, 0))
        await until_told(pilot, "Remove: the key is set outside, in XAI_API_KEY")


@pytest.mark.parametrize("theme", ["ansi", "evalbench-dark"])
async def test_without_colours_the_footer_says_what_cannot_be_done(
    home: Path, keychain: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = EvalbenchApp(Preferences(welcomed=True, theme=theme))
    async with app.run_test() as pilot:
        await opened(pilot)
        await stand_on(pilot, "groq")
        screen = await until_shown(pilot, "(t Test)")
        assert " s Set " in screen.splitlines()[-1]


async def test_what_is_no_key_is_refused_with_the_reason(home: Path, keychain: Path) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await opened(pilot)
        await stand_on(pilot, "groq")
        await pilot.press("s")
        await until_shown(pilot, "never shown again")
        await pilot.press(*"two", "space", *"words", "enter")
        await until_shown(pilot, "cannot be a key")
        await until_shown(pilot, "try: copy the key again, alone")
        await pilot.press("escape")
        assert held(keychain) == {}


@pytest.mark.slow
async def test_a_keychain_that_waits_is_said_and_can_be_called_off(
    home: Path, keychain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "keys.json").write_text('{"groq": ["default"]}')
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "evalbench_keyrings.Silent")
    app = an_app()
    async with app.run_test() as pilot:
        await opened(pilot)
        await stand_on(pilot, "groq")
        await pilot.press("t")
        await until_shown(pilot, "waiting for the keychain")
        dialog = int(keychain.read_text())
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, KeysPage), "the page")
        # Nothing that was started for it stays behind.
        await until(pilot, lambda: not psutil.pid_exists(dialog), "the end of the helper")


async def test_the_list_fits_every_size(home: Path, keychain: Path) -> None:
    (home / "config").mkdir(parents=True)
    (home / "config" / "keys.json").write_text('{"groq": ["default", "work"]}')
    for size in ((80, 24), (120, 40), (200, 60)):
        app = an_app()
        async with app.run_test(size=size) as pilot:
            await opened(pilot)
            lines = (await until_shown(pilot, "✓ groq")).splitlines()
        assert all(len(line) <= size[0] for line in lines)
        # A high page has a frame around the list.
        lines = [line.strip("│") for line in lines if not line.startswith("╭")]
        assert lines[1].split() == ["provider", "key", "where", "tried"]
        assert [line.split()[:4] for line in lines[2:4]] == [
            ["✓", "groq", "default", "keychain"],
            ["✓", "groq", "work", "keychain"],
        ]
        assert any(line.startswith("– ") for line in lines)
        assert size[1] < 60 or any(line.startswith("· ollama") for line in lines)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """No key of a session outlives its test."""
    yield
    session_keys._held.clear()


async def test_without_a_keychain_a_key_is_used_for_the_session(
    home: Path, sim: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("LLAMACPP_API_KEY", "")
    app = an_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await opened(pilot)
        await stand_on(pilot, "groq")
        # It is said before anybody pastes anything; no changes nothing.
        await pilot.press("s")
        await until_shown(pilot, "this session only?")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, KeysPage), "the page")
        await pilot.press("s")
        await until_shown(pilot, "There is no keychain on this machine.")
        await pilot.press("y")
        await until_shown(pilot, "this app closes")
        monkeypatch.setenv("GROQ_API_KEY", "")
        await pilot.press(*"two", "space", *"words", "enter")
        await until_shown(pilot, "cannot be a key")
        await pilot.press("enter")
        assert not session_keys._held
        # One that cannot be tried is kept: there is no server at the address of this one.
        await stand_on(pilot, "llamacpp")
        await pilot.press("s")
        await until_shown(pilot, "this session only?")
        # It does no harm, so enter takes it.
        await pilot.press("enter")
        await until_shown(pilot, "this app closes")
        await pilot.press(*KEY, "enter")
        await until_told(pilot, "the key could not be tried: ")
        assert KEY not in shown(app)
        assert session_keys._held == {"LLAMACPP_API_KEY": KEY}
        # Nobody set it outside, and nothing but closing the app removes it.
        screen = await until_shown(pilot, "held until the app closes")
        assert re.search(r"✓ llamacpp +set +this session ", screen)
        await pilot.press("d")
        await until_told(pilot, "the key is held only until the app closes")


async def test_a_session_key_is_found_by_what_the_app_starts(
    home: Path, sim: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("GROQ_API_KEY", "")
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(notifications=True) as pilot:
        places = (await ask_key_places())["groq"]
        flags = ("--base-url", sim.base_url("groq"))
        # One that is rejected is forgotten.
        sim.key(OTHER, "wrong")
        asking = app.run_worker(set_key(app, places, "default", flags))
        await until_shown(pilot, "There is no keychain on this machine.")
        await pilot.press("y")
        await until_shown(pilot, "this app closes")
        await pilot.press(*OTHER, "enter")
        await until(pilot, lambda: isinstance(app.screen, Trouble), "the refusal")
        assert not session_keys._held
        await pilot.press("escape")
        assert await asking.wait() is False
        asking = app.run_worker(set_key(app, places, "default", flags))
        await until_shown(pilot, "There is no keychain on this machine.")
        await pilot.press("y")
        await until_shown(pilot, "this app closes")
        await pilot.press(*KEY, "enter")
        assert await asking.wait() is True
        # What else the app starts inherits nothing of it.
        assert KEY not in str(os.environ)
        assert (await ask_key_places())["groq"].set_variables == ["GROQ_API_KEY"]


@pytest.mark.parametrize("way", ["f5", "p"])
async def test_keys_and_providers_are_filtered_as_one_types(home: Path, way: str) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(way)
        await until_shown(pilot, "anthropic")
        await pilot.press("slash", *"groq")
        await until(pilot, lambda: "deepseek" not in shown(app), "only groq")
        assert "groq" in shown(app)
        await pilot.press("escape")
        await until_shown(pilot, "deepseek")


async def test_a_secret_of_a_servers_header_is_used_for_the_session(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    app = an_app()
    async with app.run_test(size=(100, 40), notifications=True) as pilot:
        await app.action_providers()
        await until_shown(pilot, "anthropic")
        await pilot.press("a")
        await until_shown(pilot, "base-url")
        await pilot.press(*"gate", "tab", *"http://127.0.0.1:9/v1", "tab")
        await pilot.press(*"X-Team: ${TEAM_TOKEN}", "f9")
        await until_shown(pilot, "'TEAM_TOKEN' for this session only?")
        await pilot.press("y")
        await until_shown(pilot, "this app closes")
        await pilot.press(*KEY, "enter")
        await until_told(pilot, "TEAM_TOKEN is used until the app closes")
        assert session_keys._held == {"TEAM_TOKEN": KEY}
        assert KEY not in shown(app)

"""The Providers page: servers are described, tested and removed; secrets stay hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.providers import ProvidersPage
from evalbench.tui.screens.server_form import ServerPage
from evalbench.tui.state.preferences import Preferences
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.simulator.handle import Handle

TOKEN = "tok0123456789planted"


async def test_a_server_is_described_tested_changed_and_removed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sim: Handle
) -> None:
    keychain = tmp_path / "keychain.json"
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "evalbench_keyrings.InFile")
    monkeypatch.setenv("FAKE_KEYCHAIN", str(keychain))
    file = home / "config" / "providers.toml"
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("p")
        await until_shown(pilot, "anthropic")
        assert isinstance(app.screen, ProvidersPage)
        assert all(len(line) <= 80 for line in shown(app).splitlines())

        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, ServerPage), "the form")
        await until_shown(pilot, "base-url")
        await pilot.press(*"my-gw", "tab", *sim.base_url("custom"), "tab")
        await pilot.press(*"X-Auth: Bearer ${GW_TOKEN}")
        await until_shown(pilot, "kept in the keychain")
        await pilot.press("f9")
        await until_shown(pilot, "my-gw key 'GW_TOKEN'")
        await pilot.press(*TOKEN)
        assert TOKEN not in shown(app)
        await pilot.press("enter")
        await until_told(pilot, "'my-gw' is in providers.toml")
        await until_shown(pilot, "* my-gw")
        assert json.loads(keychain.read_text()) == {"evalbench my-gw/GW_TOKEN": TOKEN}
        assert TOKEN not in file.read_text()
        assert "${GW_TOKEN}" in file.read_text()

        await pilot.press("t")
        await until_shown(pilot, "it offers 1 model")
        (asked,) = (one for one in sim.entries() if one["path"].endswith("/models"))
        assert "x-auth" in {name.lower() for name in asked["headers"]}

        await pilot.press("e")
        await until_shown(pilot, "Server my-gw")
        field = app.screen.query_one("#field-requests_per_minute")
        field.take_focus()  # type: ignore[attr-defined]
        await pilot.press(*"90", "f9")
        await until_told(pilot, "'my-gw' is in providers.toml")
        await until_shown(pilot, "90 req")
        assert "requests_per_minute = 90" in file.read_text()

        await pilot.press("d")
        await until_shown(pilot, "Remove the server 'my-gw'?")
        await pilot.press("y")
        await until(pilot, lambda: "my-gw" not in file.read_text(), "it is gone")


async def test_where_a_key_is_missing_its_test_says_what_to_press(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("p")
        await until_shown(pilot, "anthropic")
        await pilot.press("t")
        screen = await until_shown(pilot, "there is no key for anthropic")
        assert "try: s sets its key" in screen


async def test_what_is_wrong_is_told_at_its_field(home: Path) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.action_providers()
        await until_shown(pilot, "anthropic")
        await pilot.press("a")
        await until_shown(pilot, "base-url")
        await pilot.press("f9")
        await until_shown(pilot, "a server needs a name")
        await pilot.press(*"mine", "tab", *"no where", "f9")
        await until_shown(pilot, "not a web address")
        assert not (home / "config" / "providers.toml").exists()


async def test_an_address_without_its_scheme_is_mended_by_a_key(home: Path) -> None:
    app = EvalbenchApp(Preferences(welcomed=True))
    file = home / "config" / "providers.toml"
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await app.action_providers()
        await until_shown(pilot, "anthropic")
        await pilot.press("a")
        await until_shown(pilot, "base-url")
        await pilot.press(*"mine", "tab", *"gpu-box:8000/v1", "f9")
        await until_shown(pilot, "✗ must begin with http:// or https://; ctrl+g: use base-url")
        assert not file.exists()
        await pilot.press("ctrl+g")
        await until(pilot, lambda: "✗ must" not in shown(app), "an address that will do")
        assert app.screen.query_one("#field-base_url").has_focus_within
        await pilot.press("f9")
        await until_told(pilot, "'mine' is in providers.toml")
        assert 'base_url = "http://gpu-box:8000/v1"' in file.read_text()

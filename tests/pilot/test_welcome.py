"""The first start: a welcome with three ways to begin, shown once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import starting
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.welcome import Welcome
from evalbench.tui.state.preferences import load_preferences
from tests.pilot.driving import until
from tests.pretending import pretend


def at_welcome(app: EvalbenchApp) -> Callable[[], bool]:
    return lambda: isinstance(app.screen, Welcome)


async def welcomed(pilot: Pilot[int]) -> None:
    await until(pilot, lambda: load_preferences().welcomed, "the note that it was seen")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the welcome led to, instead of doing it."""
    led: list[Any] = []

    async def start(_app: EvalbenchApp, words: tuple[str, ...]) -> None:
        led.append(words)

    async def open_page(_app: EvalbenchApp, name: str) -> None:
        led.append(name)

    monkeypatch.setattr(starting, "start", start)
    monkeypatch.setattr(EvalbenchApp, "open_page", open_page)
    return led


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("keys", "led"),
    [
        (["enter"], ("run", "quickstart", "--limit", "10")),
        (["t"], ("run", "quickstart", "--limit", "10")),
        (["down", "enter"], "keys"),
        (["k"], "keys"),
        (["tab", "tab", "enter"], "new"),
        (["n"], "new"),
        (["up", "enter"], "new"),
    ],
    ids="-".join,
)
async def test_by_keyboard(begun: list[Any], keys: list[str], led: Any) -> None:
    app = EvalbenchApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, at_welcome(app), "the welcome")
        await pilot.press(*keys)
        await welcomed(pilot)
        await until(pilot, lambda: begun, "what was chosen")
    assert begun == [led]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("button", "led"),
    [("#demo", ("run", "quickstart", "--limit", "10")), ("#keys", "keys"), ("#new", "new")],
)
async def test_by_mouse(begun: list[Any], button: str, led: Any) -> None:
    app = EvalbenchApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, at_welcome(app), "the welcome")
        await until(pilot, lambda: app.screen.query(button), "the button")
        await until(pilot, lambda: app.screen.query_one(button).region, "its place")
        await pilot.click(button)
        await until(pilot, lambda: begun, "what was chosen")
    assert begun == [led]


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_it_can_be_skipped_and_does_not_come_again(begun: list[Any], key: str) -> None:
    app = EvalbenchApp()
    async with app.run_test() as pilot:
        await until(pilot, at_welcome(app), "the welcome")
        await pilot.press(key)
        await welcomed(pilot)
        assert isinstance(app.screen, HomePage)
    assert not begun
    again = EvalbenchApp(load_preferences())
    async with again.run_test() as pilot:
        await pilot.pause()
        assert isinstance(again.screen, HomePage)


async def test_who_has_runs_is_not_greeted() -> None:
    pretend()
    app = EvalbenchApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert isinstance(app.screen, HomePage)


async def test_leaving_at_once_is_possible() -> None:
    app = EvalbenchApp()
    async with app.run_test() as pilot:
        await until(pilot, at_welcome(app), "the welcome")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: app.return_code is not None, "the end")

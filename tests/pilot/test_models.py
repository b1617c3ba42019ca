"""The Models page: lists from disk at once, fresh ones as providers answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from textual.widgets import Input

from evalbench.engine.config import registry
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens.models import ModelsPage
from evalbench.tui.screens.new import NewRunPage
from evalbench.tui.state import model_cache
from evalbench.tui.state.model_cache import ask_models
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import shown, until, until_shown


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says which providers are installed."""

    def install(*names: str) -> None:
        monkeypatch.setattr(registry, "provider_names", lambda: list(names))

    return install


def an_app() -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True))


async def test_models_and_troubles_of_all_providers(providers: Callable[..., None]) -> None:
    providers("groq", "local", "scripted")
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4")
        await until_shown(pilot, "groq · there is no key")
        await until(pilot, lambda: "asking" not in shown(app), "all answers")
        screen = shown(app)
    head, _, *lines = [line.strip("│ ") for line in screen.splitlines()]
    assert "9 models" in head
    assert lines[0].split() == ["model", "context", "in", "$/M", "out", "$/M", "retires", "notes"]
    assert lines[1].startswith("local · 7 models · asked just now")
    assert lines[2].split()[:4] == ["local/smollm2-135m-instruct", "8,192", "free", "free"]
    assert "fits: 4.1 GB · SmolLM2" in lines[2]
    assert lines[9].startswith("scripted · 2 models · asked just now")
    assert lines[10].split()[:4] == ["scripted/good", "8,192", "unknown", "unknown"]
    assert lines[12].startswith("groq · there is no key")
    assert lines[12].endswith("F5 sets its key")


async def test_a_kept_list_is_there_at_once_and_asked_for_anew_on_request(
    providers: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    providers("scripted")
    three_hours_ago = time.time() - 3 * 3600
    with monkeypatch.context() as earlier:
        earlier.setattr(time, "time", lambda: three_hours_ago)
        await ask_models("scripted")
    app = an_app()
    async with app.run_test() as pilot:
        await pilot.press("f4")
        await pilot.pause()
        assert "scripted · 2 models · asked 3 h ago\n" in shown(app)
        await pilot.press("r")
        await until_shown(pilot, "asking now")
        assert "scripted/good" in shown(app)
        await until_shown(pilot, "asked just now")


async def test_a_broken_copy_is_no_copy(providers: Callable[..., None]) -> None:
    providers("scripted")
    await ask_models("scripted")
    kept = model_cache._file("scripted")
    for broken in (b"", b"[]", b'{"when": 1, "lines": [{}]}', b'{"when": "x", "lines": []}'):
        kept.write_bytes(broken)
        assert model_cache.kept_models("scripted") is None


@pytest.mark.slow
async def test_letters_find_models_and_escape_shows_all(providers: Callable[..., None]) -> None:
    providers("local", "scripted")
    await ask_models("local")
    await ask_models("scripted")
    app = an_app()
    async with app.run_test() as pilot:
        await pilot.press("f4", "slash", *"btr")
        await until(pilot, lambda: "smollm2" not in shown(app), "a filtered list")
        assert "scripted/better" in shown(app)
        assert "scripted/good" not in shown(app)
        await pilot.press("z")
        await until_shown(pilot, "No matching models. Press escape to show all.")
        await pilot.press("escape")
        await until_shown(pilot, "smollm2")
        assert isinstance(app.screen, ModelsPage)
        assert app.screen.query_one(Input).value == ""
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ModelsPage), "Home")


async def test_the_cursor_stays_on_its_line_when_lists_come_in_above(
    providers: Callable[..., None],
) -> None:
    providers("local", "scripted")
    await ask_models("scripted")
    app = an_app()
    async with app.run_test() as pilot:
        await pilot.press("f4", "down", "down")
        await pilot.pause()
        table = app.screen.query_one(Table)
        # The list may be in before this line is reached.
        came = any("smollm2" in str(table.rows.row(n)) for n in range(len(table.rows)))
        row = table.cursor - 8 * came
        await until_shown(pilot, "smollm2")
        assert table.cursor == row + 8
        assert "scripted/better · A better one" in shown(app)


async def test_names_from_outside_are_only_text(providers: Callable[..., None]) -> None:
    providers("scripted")
    await ask_models("scripted")
    kept = model_cache._file("scripted")
    kept.write_bytes(kept.read_bytes().replace(b"A good one", b"[/foo][bold]\\u001b[31m\\u202ered"))
    app = an_app()
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("f4", "down")
        await until_shown(pilot, "[/foo][bold]red")
        assert "\x1b" not in shown(app)
        assert "\u202e" not in shown(app)


async def test_a_run_is_set_up_with_the_model_under_the_cursor(
    providers: Callable[..., None],
) -> None:
    providers("local", "scripted")
    await ask_models("scripted")
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f4", "u")
        await pilot.pause()
        assert isinstance(app.screen, ModelsPage), "a provider's line is no model"
        await until(pilot, lambda: "asking" not in shown(app), "all answers")
        await pilot.press("end", "u")
        await until_shown(pilot, "× scripted/better")
        assert isinstance(app.screen, NewRunPage)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModelsPage), "Models again")


async def test_the_line_under_the_cursor_says_whether_it_fits(
    providers: Callable[..., None],
) -> None:
    providers("local")
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f4")
        await until_shown(pilot, "llama-3.2-3b")
        await until(pilot, lambda: "asking" not in shown(app), "the answer")
        told = []
        for _ in range(7):
            await pilot.press("down")
            await pilot.pause()
            told.append(shown(app).splitlines()[-2])
    assert told[0].startswith(" fits: 4.1 GB · 93 MB to download; Apache-2.0")
    assert [line.split(": ")[0].strip() for line in told[2:]] == [
        "fits with a smaller batch",
        "fits in bfloat16",
        "fits in 8-bit",
        "fits in bfloat16",
        "fits in bfloat16",
    ]

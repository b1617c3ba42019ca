"""Help: every command from the registry, with the user's own keys, and an easy way out."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from evalbench.tui.app import EvalbenchApp
from evalbench.tui.commands import COMMANDS, SCOPES, commands
from evalbench.tui.screens.help import _ABOUT, HelpPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.state.user_keys import keys_words
from evalbench.tui.widgets.table import Table
from tests.pilot.driving import shown
from tests.pilot.pages import filter_by, turn_to


def an_app(keymap: dict[str, str] | None = None) -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True, keymap=keymap or {}))


def cells(app: EvalbenchApp) -> list[tuple[str, ...]]:
    rows = app.screen.query_one(Table).rows
    return [
        tuple(cell if isinstance(cell, str) else cell[0] for cell in rows.row(index))
        for index in range(len(rows))
    ]


def test_every_command_belongs_to_a_scope_with_a_name() -> None:
    # Charts have no commands of their own.
    assert {command.scope for command in COMMANDS} == set(SCOPES) - {"charts"}
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)


def test_every_page_says_what_it_is() -> None:
    assert set(SCOPES) - set(_ABOUT) == {"app", "list", "help"}


async def test_the_pages_own_commands_then_lists_then_everywhere() -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await turn_to(pilot, HelpPage, "f1")
        rows = cells(app)
        told = [
            (keys_words(command, {}) or "–", command.title, command.help)
            for scope in ("home", "list", "app")
            for command in commands(scope)
        ]
        assert [row for row in rows if row[1]] == told
        assert [row[0] for row in rows if row[0] and not row[1]] == [
            "Home",
            "In every list",
            "Everywhere",
        ]
        assert "Runs are separate processes" in " ".join(shown(app).split())


@pytest.mark.share(5)
@pytest.mark.parametrize("scope", sorted(SCOPES))
async def test_every_scope_has_its_help(scope: str) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await app.push_screen(HelpPage(scope))
        await pilot.pause()
        assert SCOPES[scope] in shown(app).splitlines()[0]
        own = [command.title for command in commands(scope)]
        assert [row[1] for row in cells(app)[1:][: len(own)]] == own
        # Nothing is cut on a screen of 80 columns.
        table = app.screen.query_one(Table)
        assert not table.dropped
        for row in cells(app):
            for text, wide in zip(row, table._widths, strict=False):
                assert cell_len(text) <= wide or len(row) == 1, text


async def test_the_users_keys_are_told() -> None:
    app = an_app({"home.open": "f12,ctrl+o", "home.delete": ""})
    async with app.run_test() as pilot:
        await turn_to(pilot, HelpPage, "f1")
        told = {row[1]: row[0] for row in reversed(cells(app))}
        assert told["Open"] == "F12 ctrl+o"
        assert told["Delete"] == "–"


async def test_filtering_as_one_types() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await turn_to(pilot, HelpPage, "f1")
        await filter_by(pilot, "page down")
        assert [row[1] for row in cells(app) if row[1]] == ["Page down"]
        await pilot.press("escape")
        await pilot.pause()
        assert len(cells(app)) > 20
        assert isinstance(app.screen, HelpPage)
        await filter_by(pilot, "nothing like it")
        assert "No matching commands. Press escape to show all." in shown(app)


@pytest.mark.share(2)
@pytest.mark.parametrize("key", ["f1", "question_mark", "escape", "q"])
async def test_ways_out(key: str) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await turn_to(pilot, HelpPage, "question_mark")
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, HomePage)


async def test_letters_are_letters_while_one_types_and_f_keys_are_keys() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await pilot.press("slash", "question_mark", "q", "d")
        assert isinstance(app.screen, HomePage)
        await pilot.press("f1")
        await pilot.pause()
        assert isinstance(app.screen, HelpPage)

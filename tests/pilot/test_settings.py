"""The Settings page: what is chosen holds at once, is kept, and can be taken back."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from evalbench.tui.app import LOW_BANDWIDTH_S, NORMAL_S, EvalbenchApp
from evalbench.tui.screens.help import HelpPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.settings import PressKey, SettingsPage
from evalbench.tui.state.preferences import Preferences, load_preferences, preferences_file
from evalbench.tui.state.theme_files import themes_dir
from evalbench.tui.widgets.table import Table
from evalbench.tui.widgets.theme_sample import ThemeSample
from tests.pilot.driving import shown, until, until_shown


def an_app(preferences: Preferences | None = None) -> EvalbenchApp:
    return EvalbenchApp(preferences or Preferences(welcomed=True))


def kept() -> dict[str, object]:
    file = preferences_file()
    return tomllib.loads(file.read_text()) if file.exists() else {}


def told(app: EvalbenchApp) -> str:
    """What was said in passing."""
    return "\n".join(notification.message for notification in app._notifications)


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys one by one; after one that opens a page, wait for it to have the keyboard."""

    def shows(page: type[Page]) -> bool:
        return isinstance(pilot.app.screen, page) and pilot.app.screen.focused is not None

    for key in keys:
        await pilot.press(key)
        await pilot.pause()
        if key in _OPENS:
            page = _OPENS[key]
            await until(pilot, partial(shows, page), page.__name__)


_OPENS: dict[str, type[Page]] = {"f1": HelpPage, "f2": HomePage, "f6": SettingsPage}


async def on_the_key_of(pilot: Pilot[int], ident: str) -> None:
    """Opens the page with the cursor on a command's keys."""
    await press(pilot, "f6")
    page = pilot.app.screen
    assert isinstance(page, SettingsPage)
    table = page.query_one("#keys", Table)
    table.focus()
    table.cursor = [command and command.id for command in page._commands].index(ident)
    await pilot.pause()


# -- themes --------------------------------------------------------------------------


def sample_colours(app: EvalbenchApp) -> set[str]:
    """The backgrounds of the lines that show a theme."""
    strips = (app.screen.query_one(ThemeSample).render_line(y) for y in range(5))
    styles = (part.style for strip in strips for part in strip)
    return {style.bgcolor.name for style in styles if style and style.bgcolor}


async def test_a_theme_is_shown_on_a_few_lines_before_it_is_kept() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "f6")
        dark = app.available_themes["evalbench-dark"]
        light = app.available_themes["evalbench-light"]
        assert str(dark.panel).lower() in sample_colours(app)
        await press(pilot, "down")
        await until(pilot, lambda: str(light.panel).lower() in sample_colours(app), "the sample")
        assert str(dark.panel).lower() not in sample_colours(app)
        assert app.theme == "evalbench-dark"
        await press(pilot, "escape")
        assert isinstance(app.screen, HomePage)
    assert kept() == {}


async def test_every_theme_can_be_shown() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "f6", "home")
        seen = [frozenset(sample_colours(app))]
        for _ in app.own_themes[1:]:
            await press(pilot, "down")
            seen.append(frozenset(sample_colours(app)))
        assert len(set(seen)) == len(app.own_themes)


async def test_a_theme_is_kept() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "f6", "down", "enter")
        assert "✓ evalbench-light" in shown(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, HomePage)
        assert app.theme == "evalbench-light"
    assert kept() == {"theme": "evalbench-light"}


async def test_a_theme_by_mouse() -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "f6")
        names = app.own_themes
        row = names.index("high-contrast") + 1
        await pilot.click("#themes", offset=(5, row))
        assert app.theme == "evalbench-dark"
        await pilot.click("#themes", offset=(5, row))
        await until(pilot, lambda: app.theme == "high-contrast", "the theme")
    assert kept() == {"theme": "high-contrast"}


async def test_themes_of_the_users_and_what_is_wrong_with_them() -> None:
    folder = themes_dir()
    folder.mkdir(parents=True)
    (folder / "a.toml").write_text(
        'name = "mine"\nprimary = "#884400"\n[variables]\npanel = "#552200"\nborder = "red 10%"\n'
        'text = "auto 75%"\ntext-muted = "rgb(1, 2, 3)"\nblock-cursor-text-style = "reverse"\n'
    )
    (folder / "b.toml").write_text('name = "[/bad]"\nprimary = "rose"\n')
    app = an_app(Preferences(welcomed=True, theme="mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        assert app.theme == "mine"
        await press(pilot, "f1", "escape", "f6")
        assert "✓ mine" in shown(app)
        assert "theme b.toml is not used: its name must be" in " ".join(shown(app).split())
        await press(pilot, "ctrl+p", *"mine")
        await until_shown(pilot, "Theme mine")


async def test_a_theme_that_is_gone_is_named() -> None:
    app = an_app(Preferences(welcomed=True, theme="[/b]evalbench-drak"))
    async with app.run_test() as pilot:
        words = "there is no theme '[/b]evalbench-drak', did you mean"
        await until(pilot, lambda: words in told(app), "the word")
        assert app.theme == "evalbench-dark"


# -- thin lines and the mouse --------------------------------------------------------


async def test_bandwidth_holds_at_once() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        assert app._timer
        assert app._timer._interval == NORMAL_S
        await press(pilot, "f6", "tab", "enter")
        assert app.low_bandwidth
        assert app._timer._interval == LOW_BANDWIDTH_S
        assert kept() == {"bandwidth": "low"}
        await press(pilot, "enter")
        assert not app.low_bandwidth
        assert app._timer._interval == NORMAL_S
        assert kept() == {"bandwidth": "full"}


async def test_auto_is_low_over_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    app = an_app(Preferences(welcomed=True, bandwidth="full"))
    async with app.run_test() as pilot:
        await press(pilot, "f6", "tab", "enter")
        assert app.low_bandwidth
        assert "auto (low here)" in shown(app)


async def test_the_mouse_is_left_to_the_terminal_from_the_next_start() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "f6", "tab", "down", "enter")
        assert "off (next start)" in shown(app)
    assert load_preferences().mouse is False


# -- keys ----------------------------------------------------------------------------


async def test_a_new_key_works_at_once_and_the_old_one_no_more() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "app.keys")
        await press(pilot, "enter")
        assert isinstance(app.screen, PressKey)
        await press(pilot, "f15")
        assert isinstance(app.screen, SettingsPage)
        assert kept() == {"keys": {"app.keys": "f15"}}
        assert app.screen.active_bindings["f15"].binding.id == "app.keys"
        assert "f5" not in app.screen.active_bindings
        await press(pilot, "r")
        assert kept() == {}
        assert app.screen.active_bindings["f5"].binding.id == "app.keys"


async def test_one_more_key() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "home.filter")
        await press(pilot, "a", "f")
        assert kept() == {"keys": {"home.filter": "slash,f"}}
        await press(pilot, "f2", "f")
        assert app.focused is app.screen.query_one("#filter")


async def test_no_key_and_all_defaults_again() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "home.filter")
        await press(pilot, "x", "f2", "slash")
        assert not app.screen.query_one("#filter").has_focus
        await press(pilot, "f6")
        await app.screen.run_action("reset_all")
        await until_shown(pilot, "Reset all keys to the defaults?")
        await press(pilot, "y")
        assert kept() == {}
        await press(pilot, "f2", "slash")
        assert app.screen.query_one("#filter").has_focus


async def test_a_taken_key_is_refused() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "home.open")
        await press(pilot, "enter", "n")
        await until_shown(pilot, "n is 'New run' already (Home); change that first")
        await press(pilot, "tab")
        await until_shown(pilot, "tab moves between")
        await press(pilot, "escape")
        assert isinstance(app.screen, SettingsPage)
    assert kept() == {}


async def test_a_swallowed_key_has_to_be_pressed_twice() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "home.open")
        await press(pilot, "enter", "ctrl+b")
        await until_shown(pilot, "tmux keeps it for itself")
        await press(pilot, "ctrl+s")
        await until_shown(pilot, "many terminals stop the screen")
        await press(pilot, "ctrl+s")
    assert kept() == {"keys": {"home.open": "ctrl+s"}}


async def test_what_a_key_hides_is_told() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await on_the_key_of(pilot, "home.open")
        await press(pilot, "enter", "j")
        await until(pilot, lambda: "j is also 'Down' (In every list)" in told(app), "the word")


async def test_keys_are_changed_only_in_their_list() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "f6", "x", "r", "a")
        assert isinstance(app.screen, SettingsPage)
    assert kept() == {}


# -- ways out that no keymap can close -----------------------------------------------


async def test_no_keymap_locks_anybody_in(home: Path) -> None:
    preferences_file().parent.mkdir(parents=True)
    preferences_file().write_text(
        '[keys]\n"app.leave" = ""\n"app.back" = ""\n"home.leave" = ""\n"app.settings" = "ctrl+q"\n'
        '"app.nonsense" = "f1"\n"home.open" = "\\u001b[31m"\n'
    )
    preferences = load_preferences()
    assert len(preferences.problems) == 3
    preferences.welcomed = True
    app = an_app(preferences)
    async with app.run_test() as pilot:
        await press(pilot, "slash", "a", "ctrl+q")
        await until(pilot, lambda: app.return_code is not None, "the end")


async def test_another_key_leaves_too() -> None:
    app = an_app(Preferences(welcomed=True, keymap={"app.leave": "f12,ctrl+q"}))
    async with app.run_test() as pilot:
        await press(pilot, "f12")
        await until(pilot, lambda: app.return_code is not None, "the end")


async def test_an_f_key_given_to_a_letters_command_works_while_typing() -> None:
    app = an_app(Preferences(welcomed=True, keymap={"home.filter": "f,f7"}))
    async with app.run_test() as pilot:
        await press(pilot, "f", "f", "o", "o")
        entry = app.screen.query_one("#filter")
        assert entry.has_focus
        assert entry.value == "foo"  # type: ignore[attr-defined]
        assert app.screen.active_bindings["f7"].binding.id == "home.filter"


async def test_a_place_that_cannot_be_written_is_told_and_nothing_breaks(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config").write_text("in the way")
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "f6", "down", "enter")
        assert "cannot be written" in told(app)
        assert app.theme == "evalbench-light"

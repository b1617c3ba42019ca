"""The user's settings and keys: what is bad in the file is told, the rest holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.errors import UsageError
from evalbench.tui.commands import COMMANDS, keys_of
from evalbench.tui.state.preferences import (
    Preferences,
    load_preferences,
    preferences_file,
    save_preferences,
)
from evalbench.tui.state.user_keys import (
    ALWAYS_LEAVES,
    advice,
    canonical,
    check_keymap,
    hidden,
    key_words,
    keys,
    keys_words,
    refusal,
)

BY_ID = {command.id: command for command in COMMANDS}


def write(text: str) -> None:
    file = preferences_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture(autouse=True)
def _home(home: Path) -> None:
    """Every test has a home of its own."""


# -- the file ------------------------------------------------------------------------


def test_without_a_file_there_are_defaults() -> None:
    assert load_preferences() == Preferences()
    assert not preferences_file().exists()


def test_what_is_kept_comes_back() -> None:
    save_preferences(theme="monochrome", mouse=False, keymap={"home.open": "f7"})
    found = load_preferences()
    assert (found.theme, found.mouse, found.keymap) == ("monochrome", False, {"home.open": "f7"})
    assert not found.problems


def test_the_users_own_lines_stay() -> None:
    write(
        '# mine\nfuture = 3\ntheme = "ansi" # dark room\n\n[keys]\n'
        '"home.open" = "f7" # near\n"home.stop" = "f8"\n'
    )
    save_preferences(theme="monochrome", keymap={"home.open": "f7", "run.stop": "f9"})
    text = preferences_file().read_text()
    for kept in ("# mine", "future = 3", "# dark room", "# near", '"run.stop" = "f9"'):
        assert kept in text
    assert "home.stop" not in text


def test_no_keys_no_table() -> None:
    save_preferences(keymap={"home.open": "f7"})
    save_preferences(keymap={})
    assert "keys" not in preferences_file().read_text()


def test_ids_without_quotes_are_understood_and_replaced() -> None:
    write('[keys]\nhome.open = "f7"\n')
    assert load_preferences().keymap == {"home.open": "f7"}
    save_preferences(keymap={"home.open": "f8"})
    assert load_preferences().keymap == {"home.open": "f8"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("theme = 3", "theme cannot be 3"),
        ('bandwidth = "some"', "bandwidth cannot be 'some'"),
        ('mouse = "yes"', "mouse cannot be 'yes'"),
        ("colour = 1", "there is no setting 'colour'"),
        ("keys = 3", "keys is not a table"),
        ('[keys]\n"home.opne" = "f7"', "no command 'home.opne'; did you mean home.open"),
        ('[keys]\n"home.open" = 7', "the keys of home.open are a text"),
        ('[keys]\n"home.open" = "f77"', "no key is called so"),
        ('[keys]\n"home.open" = "ctrl+q"', "ctrl+q always leaves"),
        ('[keys]\n"home.open" = "escape"', "escape always goes back"),
        ('[keys]\n"home.open" = "tab"', "tab moves between"),
        ('[keys]\n"home.open" = "n"', "'New run' already (Home)"),
        ('[keys]\n"app.leave" = "x"', "leaving must work while you type"),
        ("theme = ", "cannot be read"),
    ],
)
def test_what_is_bad_is_told(text: str, told: str) -> None:
    write(text)
    found = load_preferences()
    (problem,) = found.problems
    assert told in problem
    assert str(preferences_file()) in problem
    assert found == Preferences(problems=[problem])


def test_a_file_that_is_no_text() -> None:
    write("")
    preferences_file().write_bytes(b"\xff\xfe")
    assert len(load_preferences().problems) == 1


def test_a_place_that_cannot_be_written(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(UsageError, match="names a file"):
        save_preferences(theme="ansi")


# -- keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?", "question_mark"),
        ("question_mark", "question_mark"),
        ("QUESTION_MARK", "question_mark"),
        ("/", "slash"),
        ("+", "plus"),
        ("ctrl++", "ctrl+plus"),
        ("Ctrl+X", "ctrl+x"),
        ("shift+g", "G"),
        ("G", "G"),
        ("F12", "f12"),
        ("alt+ctrl+left", "ctrl+alt+left"),
        (" pageup ", "pageup"),
        ("é", "é"),
        ("§", "section_sign"),
    ],
)
def test_names_of_keys(written: str, meant: str) -> None:
    assert canonical(written) == meant
    assert canonical(meant) == meant


@pytest.mark.parametrize("written", ["", " ", "hyper", "f25", "ctrl+", "strg+x", "\x1b", "a b"])
def test_what_is_no_key(written: str) -> None:
    assert canonical(written) is None


def test_textual_calls_keys_the_same() -> None:
    import string

    from textual.keys import _character_to_key

    for character in string.printable.strip():
        assert canonical(character) == _character_to_key(character)


def test_defaults_are_good_keys_and_no_two_commands_of_a_page_share_one() -> None:
    defaults = {command.id: command.keys for command in COMMANDS}
    assert check_keymap(defaults) == (defaults, [])
    assert not [key for command in COMMANDS for key in keys_of(command, {}) if advice(key)]


def test_two_commands_may_swap_their_keys() -> None:
    swapped = {"home.open": "r", "home.resume": "o"}
    assert check_keymap(swapped) == (swapped, [])


def test_one_key_for_two_commands_goes_to_one() -> None:
    keymap, problems = check_keymap({"home.open": "f7", "home.stop": "f7"})
    assert len(keymap) == 1
    assert len(problems) == 1


def test_a_command_may_have_no_key_but_leaving_keeps_its_own() -> None:
    keymap, problems = check_keymap({"home.open": "", "app.leave": "", "app.back": ""})
    assert not problems
    assert keys(BY_ID["home.open"], keymap) == ()
    assert keys_words(BY_ID["home.open"], keymap) == ""
    assert keys(BY_ID["app.leave"], keymap) == (ALWAYS_LEAVES,)
    assert keys(BY_ID["app.leave"], {"app.leave": "f12"}) == ("f12", ALWAYS_LEAVES)


def test_a_key_is_refused_with_the_reason() -> None:
    opening = BY_ID["home.open"]
    assert "'New run' already (Home)" in refusal(opening, "n", {})
    assert "ctrl+q always leaves" in refusal(opening, "ctrl+q", {})
    assert "suspends" in refusal(opening, "ctrl+z", {})
    assert not refusal(opening, "n", {"home.new": "f7"})
    assert not refusal(opening, "o", {})
    assert not refusal(BY_ID["run.stop"], "n", {})


def test_what_terminals_swallow_is_advised_against() -> None:
    for key in ("ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+s", "ctrl+b", "ctrl+a"):
        assert advice(key)
    assert not advice("f7")


def test_a_key_that_hides_another_is_named() -> None:
    assert "'Down' (In every list)" in hidden(BY_ID["home.open"], "j", {})
    assert "'New run' (Home)" in hidden(BY_ID["app.help"], "n", {})
    assert not hidden(BY_ID["home.open"], "f7", {})


def test_keys_in_words() -> None:
    assert key_words("question_mark") == "?"
    assert key_words("ctrl+right_square_bracket") == "ctrl+]"
    assert key_words("f1") == "F1"
    assert key_words("pagedown") == "page down"
    assert key_words("section_sign") == "§"
    assert key_words("G") == "G"

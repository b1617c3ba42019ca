"""The order in which keys are found, and what a user reads when there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import KeyUnavailable, SpecError, UsageError
from evalbench.engine.keys import (
    KeychainState,
    KeyRef,
    KeySource,
    find_again,
    find_key,
    set_key,
)
from evalbench.engine.keys.keychain import Answer

NEED = KeyNeed(("ACME_API_KEY", "ACME_OLD_KEY"), page="https://acme.example/keys")
OPTIONAL = KeyNeed(("ACME_API_KEY",), required=False)
KEY = "sk-acme-0123456789abcdef"
OTHER = "sk-acme-fedcba9876543210"


def test_the_environment_comes_before_the_keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    set_key("acme", OTHER)
    monkeypatch.setenv("ACME_OLD_KEY", KEY)
    assert find_key("acme", NEED) == (
        KeyRef("acme", KeySource.ENVIRONMENT, variable="ACME_OLD_KEY"),
        KEY,
    )


def test_variables_count_in_the_providers_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_OLD_KEY", OTHER)
    monkeypatch.setenv("ACME_API_KEY", f" {KEY}\n")
    ref, secret = find_key("acme", NEED)
    assert (ref.variable, secret) == ("ACME_API_KEY", KEY)


@pytest.mark.parametrize("typed", [f'"{KEY}"', f"'{KEY}'", f" `{KEY}` "])
def test_marks_around_a_key_are_left_out(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setenv("ACME_API_KEY", typed)
    assert find_key("acme", NEED)[1] == KEY


def test_an_empty_variable_is_not_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "  ")
    set_key("acme", KEY)
    assert find_key("acme", NEED) == (KeyRef("acme", KeySource.KEYCHAIN, "default"), KEY)


@pytest.mark.parametrize("state", ["locked", "timed out", "failed"])
def test_a_silent_keychain_is_blamed_only_if_a_key_was_stored_there(
    monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    answer = Answer(KeychainState(state), why="its words", limit_s=3.0)
    monkeypatch.setattr("evalbench.engine.keys.keychain.fetch", lambda *_: answer)
    with pytest.raises(KeyUnavailable, match="the keychain") as named:
        find_key("acme", NEED, "work")
    with pytest.raises(KeyUnavailable) as caught:
        find_key("acme", NEED)
    assert caught.value.what == "there is no key for acme"
    assert caught.value.why.startswith(f"ACME_API_KEY is not set, and {named.value.what}: ")
    assert "export ACME_API_KEY=…" in caught.value.hint

    set_key("acme", KEY)
    with pytest.raises(KeyUnavailable) as stored:
        find_key("acme", NEED)
    assert stored.value.what == named.value.what


def test_a_named_key_is_taken_whatever_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    set_key("acme", OTHER, "work")
    ref, secret = find_key("acme", NEED, "work")
    assert (str(ref), secret) == ("acme key 'work' from the keychain", OTHER)


def test_a_named_file_is_read_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", OTHER)
    file = tmp_path / ".env"
    file.write_text(f"ACME_API_KEY={KEY}\n")
    ref, secret = find_key("acme", NEED, env_file=file)
    assert (ref, secret) == (KeyRef("acme", KeySource.FILE, str(file), "ACME_API_KEY"), KEY)


def test_a_file_for_other_providers_leaves_the_usual_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", OTHER)
    file = tmp_path / ".env"
    file.write_text(f"ELSE_API_KEY={KEY}\n")
    assert find_key("acme", NEED, env_file=file)[1] == OTHER


def test_a_name_and_a_file_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not both"):
        find_key("acme", NEED, "work", env_file=tmp_path / ".env")


def test_an_env_file_is_not_read_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text(f"ACME_API_KEY={KEY}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyUnavailable):
        find_key("acme", NEED)


def test_no_key_says_how_to_set_one() -> None:
    with pytest.raises(KeyUnavailable) as caught:
        find_key("acme", NEED)
    assert caught.value.state == "absent"
    assert caught.value.exit_code == 5
    assert "evalbench keys set acme" in caught.value.hint
    assert "ACME_API_KEY" in caught.value.hint


def test_a_missing_named_key_is_never_replaced_by_another() -> None:
    set_key("acme", KEY)
    with pytest.raises(KeyUnavailable, match="named 'work'") as caught:
        find_key("acme", NEED, "work")
    assert "--name work" in caught.value.hint


def test_a_server_without_keys_does_not_wait_for_the_keychain(keychain: Any) -> None:
    assert find_key("acme", OPTIONAL) == (KeyRef("acme", KeySource.NONE), "")
    assert keychain.requests() == []


def test_a_key_set_for_a_server_that_needs_none_is_used() -> None:
    set_key("acme", KEY)
    assert find_key("acme", OPTIONAL)[1] == KEY


def test_what_is_no_key_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "sk-acme-0123 with words")
    with pytest.raises(UsageError, match="ACME_API_KEY") as caught:
        find_key("acme", NEED)
    assert "0123" not in str(caught.value)


def test_a_stored_reference_leads_to_the_same_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_key("acme", OTHER, "work")
    file = tmp_path / "keys"
    file.write_text(f"export ACME_API_KEY='{KEY}'\n")
    for ref in (find_key("acme", NEED, "work")[0], find_key("acme", NEED, env_file=file)[0]):
        stored = KeyRef.from_json(ref.to_json())
        monkeypatch.setenv("ACME_API_KEY", "sk-acme-of-somebody-else")
        assert find_again(stored, NEED)[0] == ref


def test_a_key_of_the_environment_may_move_to_the_keychain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    ref, _ = find_key("acme", NEED)
    monkeypatch.delenv("ACME_API_KEY")
    set_key("acme", KEY)
    assert find_again(ref, NEED) == (KeyRef("acme", KeySource.KEYCHAIN, "default"), KEY)


def test_references_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", KEY)
    ref, _ = find_key("acme", NEED)
    assert KEY not in repr(ref) + str(ref) + str(ref.to_json())


PAIR = KeyNeed(
    ("ACME_TOKEN", "ACME_ID"),
    required=False,
    parts={"ACME_ID": ("ACME_SECRET", "ACME_SESSION")},
    profile="ACME_PROFILE",
)


def test_a_key_of_several_variables_is_one_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACME_ID", "id-of-acme")
    monkeypatch.setenv("ACME_SECRET", "secret-of-acme")
    ref = KeyRef("acme", KeySource.ENVIRONMENT, variable="ACME_ID")
    assert find_key("acme", PAIR) == (ref, "id-of-acme:secret-of-acme")
    monkeypatch.setenv("ACME_SESSION", "session")
    assert find_key("acme", PAIR)[1] == "id-of-acme:secret-of-acme:session"
    file = tmp_path / ".env"
    file.write_text("ACME_ID=other\nACME_SECRET=pair\n")
    assert find_key("acme", PAIR, env_file=file)[1] == "other:pair"
    monkeypatch.delenv("ACME_ID")
    assert find_key("acme", PAIR) == (KeyRef("acme", KeySource.PROFILE), "")


def test_a_profile_is_named_and_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_PROFILE", "home")
    ref, secret = find_key("acme", PAIR)
    assert (ref, secret) == (KeyRef("acme", KeySource.PROFILE, "home", "ACME_PROFILE"), "")
    assert "'home'" in str(ref)
    assert KeyRef.from_json(ref.to_json()) == ref
    monkeypatch.setenv("ACME_TOKEN", KEY)
    assert find_key("acme", PAIR)[1] == KEY
    ref, secret = find_key("acme", PAIR, profile="work")
    assert (ref, secret) == (KeyRef("acme", KeySource.PROFILE, "work"), "")
    assert find_again(ref, PAIR) == (ref, "")
    set_key("acme", OTHER, "mine")
    assert find_key("acme", PAIR, "mine", profile="work")[1] == OTHER
    assert find_key("acme", NEED, "mine", profile="work")[1] == OTHER

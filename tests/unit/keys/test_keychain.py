"""The keychain's child process: limits, failures, and what it must not give away."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import KeyUnavailable, SpecError, UsageError
from evalbench.engine.keys import keychain as keychains
from evalbench.engine.keys import keychain_child, list_keys, remove_key, set_key
from evalbench.engine.keys.keychain import Answer, KeychainState, fetch, unavailable

KEY = "sk-acme-0123456789abcdef"
LIMIT_S = 30.0
# Other tests may be at work beside these; what never answers takes far longer.
BESIDE_S = 40.0


def _until_gone(pid: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        stat_file = Path(f"/proc/{pid}/stat")
        try:
            if stat_file.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_a_key_can_be_set_read_listed_and_removed(keychain: Any) -> None:
    set_key("acme", f"  {KEY}\n", "work")
    assert keychain.held() == {"evalbench acme/work": KEY}
    assert fetch("acme/work", LIMIT_S) == Answer(
        KeychainState.FOUND, KEY, "a file", limit_s=LIMIT_S
    )
    assert [str(ref) for ref in list_keys()] == ["acme key 'work' from the keychain"]
    assert remove_key("acme", "work") is True
    assert keychain.held() == {}
    assert list_keys() == []
    assert remove_key("acme", "work") is False


def test_a_keychain_that_never_answers_is_left_after_its_limit(keychain: Any) -> None:
    keychain.use("Silent")
    begun = time.monotonic()
    answer = fetch("acme/default", 3.0)
    taken = time.monotonic() - begun
    assert answer.state is KeychainState.TIMED_OUT
    assert 3.0 <= taken < 3.0 + BESIDE_S
    assert _until_gone(int(keychain.file.read_text())), "what it started must die with it"


def test_the_limit_is_a_parameter(keychain: Any) -> None:
    keychain.use("Silent")
    begun = time.monotonic()
    assert fetch("acme/default", 0.2).state is KeychainState.TIMED_OUT
    assert time.monotonic() - begun < BESIDE_S


@pytest.mark.parametrize(
    ("backend", "state"),
    [
        ("Locked", KeychainState.LOCKED),
        ("LockedOverSsh", KeychainState.LOCKED),
        ("Dismissed", KeychainState.LOCKED),
        ("Crashing", KeychainState.FAILED),
    ],
)
def test_failures_are_told_apart(keychain: Any, backend: str, state: KeychainState) -> None:
    keychain.use(backend)
    assert fetch("acme/default", LIMIT_S).state is state


@pytest.mark.parametrize("backend", ["null", "fail"])
def test_a_keychain_switched_off_is_no_keychain(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", f"keyring.backends.{backend}.Keyring")
    with pytest.raises(KeyUnavailable) as caught:
        set_key("acme", KEY, timeout=LIMIT_S)
    assert caught.value.state == "no keychain"
    assert list_keys() == []


def test_a_store_that_is_chosen_and_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "nowhere_at_all.Keyring")
    answer = fetch("acme/default", LIMIT_S)
    assert answer.state is KeychainState.FAILED
    assert "nowhere_at_all" in answer.why


def test_a_plain_text_store_is_never_taken_by_itself(
    keychain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As where keyrings.alt is installed and nothing better is there.
    code = (
        "import runpy, sys, keyring.backend, evalbench_keyrings\n"
        "keyring.backend.get_all_keyring = lambda: [evalbench_keyrings.PlainText()]\n"
        "runpy.run_path(sys.argv[1], run_name='__main__')\n"
    )
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
    asked = {"do": "set", "service": "evalbench", "user": "acme/default", "secret": KEY}
    request = {**asked, "within": LIMIT_S}
    run = subprocess.run(
        [sys.executable, "-c", code, keychain_child.__file__],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout)["state"] == "no keychain"
    assert keychain.held() == {}


def test_a_keychain_that_loses_keys_is_found_out(keychain: Any) -> None:
    keychain.use("Forgetful")
    with pytest.raises(KeyUnavailable) as caught:
        set_key("acme", KEY)
    assert "does not return it" in caught.value.why
    assert list_keys() == []


def test_errors_do_not_repeat_the_key(keychain: Any) -> None:
    keychain.use("Repeating")
    with pytest.raises(KeyUnavailable) as caught:
        set_key("acme", KEY)
    assert "no room for [key]" in str(caught.value)
    assert KEY not in str(caught.value)


def test_the_key_travels_by_pipe_alone(keychain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-provider")
    set_key("acme", KEY)
    assert keychain.requests()
    for _, argv, environment in keychain.requests():
        assert KEY not in " ".join(argv)
        assert environment == {}
    assert KEY not in repr(fetch("acme/default", LIMIT_S))


@pytest.mark.cold
def test_a_module_in_the_current_folder_is_not_given_the_key(
    keychain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring.py").write_text("raise SystemExit('taken')\n")
    monkeypatch.chdir(tmp_path)
    set_key("acme", KEY)
    assert keychain.held()


def test_the_list_of_names_is_private_and_holds_no_key(home: Path) -> None:
    set_key("acme", KEY, "work")
    file = home / "config" / "keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in file.read_text()
    assert [path.name for path in file.parent.iterdir()] == ["keys.json"]


def test_a_key_that_could_not_be_removed_stays_listed(keychain: Any) -> None:
    set_key("acme", KEY)
    keychain.use("Locked")
    with pytest.raises(KeyUnavailable):
        remove_key("acme")
    assert len(list_keys()) == 1


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 65, "ä"])
def test_names_that_could_be_misread_are_refused(keychain: Any, name: str) -> None:
    with pytest.raises(SpecError):
        set_key("acme", KEY, name)
    assert keychain.requests() == []


@pytest.mark.parametrize("typed", ["", " \n", "sk-a b", "sk-a\nsk-b", "sk-ä", "sk-\x00"])
def test_what_cannot_be_a_key_is_refused(keychain: Any, typed: str) -> None:
    with pytest.raises(UsageError):
        set_key("acme", typed)
    assert keychain.requests() == []


def test_a_locked_keychain_over_ssh_on_macos_is_named_with_its_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    error = unavailable(Answer(KeychainState.LOCKED), "acme", "default", "ACME_API_KEY")
    assert "locked" in error.what
    assert "security unlock-keychain" in error.hint
    assert "SSH" in error.hint


@pytest.mark.parametrize("state", [s for s in KeychainState if s is not KeychainState.FOUND])
def test_every_failure_says_what_to_do(state: KeychainState) -> None:
    error = unavailable(Answer(state, limit_s=3.0), "acme", "default", "ACME_API_KEY")
    assert error.what
    assert "ACME_API_KEY" in error.hint
    assert error.state == state


def test_only_the_child_imports_keyring() -> None:
    code = (
        "import sys; import evalbench.engine.keys as keys; keys.set_key('acme', sys.stdin.read());"
        "print('keyring' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=KEY, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"


def test_the_limits_are_what_is_promised() -> None:
    assert (keychains.UNATTENDED_S, keychains.ATTENDED_S) == (3.0, 60.0)

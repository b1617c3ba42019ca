"""Keys that come by a pipe: found like those of the environment, and inherited by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.calls import KeyNeed
from evalbench.engine.errors import UsageError
from evalbench.engine.execution.request import RunRequest
from evalbench.engine.keys import KeySource, find_key, inherited, list_keys, with_variables
from evalbench.engine.keys.inherited import NAMED_BY, take_inherited
from evalbench.tui.state import session_keys

NEED = KeyNeed(("GROQ_API_KEY",))
KEY = "gsk-handed-0123456789abcdef"


@pytest.fixture(autouse=True)
def fresh(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No keys of ours, and none that stays."""
    monkeypatch.setenv("GROQ_API_KEY", "")
    yield
    inherited._held.clear()
    session_keys._held.clear()


def hand(monkeypatch: pytest.MonkeyPatch, data: bytes) -> int:
    """Take what comes by a pipe; its end."""
    end, ours = os.pipe()
    os.write(ours, data)
    os.close(ours)
    monkeypatch.setenv(NAMED_BY, str(end))
    take_inherited()
    assert NAMED_BY not in os.environ
    return end


def test_a_handed_key_is_found_and_in_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    end = hand(monkeypatch, json.dumps({"GROQ_API_KEY": KEY}).encode())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(end)
    ref, secret = find_key("groq", NEED)
    assert (ref.source, ref.variable, secret) == (KeySource.ENVIRONMENT, "GROQ_API_KEY", KEY)
    assert "groq" in [one.provider for one in list_keys()]
    assert with_variables("groq", KEY, ["Bearer ${GROQ_API_KEY}"]).endswith(f'"{KEY}"}}')
    assert KEY not in str(os.environ)


@pytest.mark.parametrize("number", ["", "x", "0", "-1", "99999", "9" * 30])
def test_what_is_no_such_pipe_is_left_alone(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    before = os.fstat(0)
    monkeypatch.setenv(NAMED_BY, number)
    take_inherited()
    assert os.fstat(0) == before
    assert not inherited._held


@pytest.mark.parametrize("data", [b"", b"[1]", b"\xff", b"{", b"[" * 100_000])
def test_rubbish_is_no_key(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    hand(monkeypatch, data[:4000])
    assert not inherited._held


def test_a_session_hands_its_keys_on_by_a_pipe() -> None:
    with session_keys.handing() as nothing:
        assert nothing == ({}, ())
    names = session_keys.hold("groq", f" {KEY}\n")
    script = (
        "from evalbench.engine.keys.inherited import take_inherited, variables; import os;"
        "take_inherited();"
        " print(variables()['GROQ_API_KEY'], os.environ.get('GROQ_API_KEY') or '-')"
    )
    with session_keys.handing() as (variables, pipes):
        assert KEY not in str(variables)
        said = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **variables},
            pass_fds=pipes,
            capture_output=True,
            text=True,
            check=True,
        )
    assert said.stdout.split() == [KEY, "-"]
    with pytest.raises(UsageError, match="too long"):
        session_keys.hold("groq", "x" * 20_000)
    session_keys.drop(names)
    with session_keys.handing() as nothing:
        assert nothing == ({}, ())


def test_what_goes_into_no_log() -> None:
    """Keys by role: with secrets beside them, and headers for traces."""
    beside = 'sk-key-0123456789\n{"GATEWAY_TOKEN": "token-0123456789"}'
    secrets = {"candidate": beside, "otlp": "Authorization=Basic%20abc0123456789,x=other-0123456"}
    texts = RunRequest(Path("run"), None, {}, secrets, {}, {}).private_texts()
    assert {"sk-key-0123456789", "token-0123456789", "abc0123456789", "other-0123456"} <= {*texts}

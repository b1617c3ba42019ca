"""Keys where something else belongs, keychains that are only probed, and tokens of the hub."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import BadKey, ConnectionFailed, ServerFault, UsageError
from evalbench.engine.keys import KeychainState, looks_like_key, probe, set_key
from evalbench.engine.process.run_keys import find_keys
from tests.simulator.hub import Hub, Repository

KEYS = (
    "sk-ant-api03-0123456789abcdefghij",
    "sk-proj-0123456789abcdefghij",
    "sk-odd",
    "gsk_0123456789abcdefghij",
    "hf_0123456789abcdefghijklmnop",
    "xai-0123456789abcdefghij",
)
TOKEN = "hf_0123456789abcdefghijklmnop"


@pytest.mark.parametrize("text", KEYS)
def test_a_key_is_recognised_where_a_name_belongs(keychain: Any, text: str) -> None:
    assert looks_like_key(text)
    with pytest.raises(UsageError, match="does not belong on the command line") as caught:
        set_key("acme", "sk-acme-0123456789abcdef", name=text)
    assert text not in str(caught.value)
    assert keychain.requests() == []


@pytest.mark.parametrize("text", ["work", "default", "anthropic", "my-key.2", "sky", ""])
def test_names_are_not_taken_for_keys(text: str) -> None:
    assert not looks_like_key(text)


@pytest.mark.parametrize("key", KEYS)
def test_no_run_starts_with_a_key_for_a_name(key: str) -> None:
    # Also where no key is needed: the settings of a run are stored.
    spec = make_spec("quickstart", "local/smollm2-135m-instruct", key=key)
    with pytest.raises(UsageError, match="does not belong") as caught:
        find_keys([spec])
    assert key not in str(caught.value)


def test_a_missing_package_is_told_before_a_missing_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setattr("evalbench.engine.installed.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs anthropic, which this installation lacks"):
        find_keys([make_spec("quickstart", "anthropic/claude-haiku-4-5")])


@pytest.mark.parametrize(
    ("backend", "state"),
    [("InFile", KeychainState.ABSENT), ("Locked", KeychainState.LOCKED)],
)
def test_a_probe_tells_whether_the_keychain_answers(
    keychain: Any, backend: str, state: KeychainState
) -> None:
    keychain.use(backend)
    assert probe(30.0).state is state


def test_a_token_is_tried_at_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    with Hub({"org/model": Repository({}, frozenset({TOKEN}))}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert (
            preflight.check_key("huggingface", TOKEN) == "the Hugging Face hub knows it as a-reader"
        )
        with pytest.raises(BadKey) as caught:
            preflight.check_key("huggingface", TOKEN + "x")
        assert TOKEN not in str(caught.value)
        hub.status = 503
        with pytest.raises(ServerFault, match="503"):
            preflight.check_key("huggingface", TOKEN)
    with pytest.raises(ConnectionFailed):
        preflight.check_key("huggingface", TOKEN)

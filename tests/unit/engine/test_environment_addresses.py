"""Addresses that the SDKs take from the environment: honoured, recorded, and asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.engine.config.roles import with_address
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import SpecError
from evalbench.engine.process.run_keys import (
    check_hosts,
    environment_variables,
    environment_words,
    remember_place,
)

GATEWAY = "https://gateway.test/v1"


@pytest.fixture(autouse=True)
def _no_addresses(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in registry.provider_names():
        for variable in getattr(registry.provider_class(name), "address_variables", ()):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz")


def test_every_sdk_has_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider, variable in {
        "openai": "OPENAI_BASE_URL",
        "anthropic": "ANTHROPIC_BASE_URL",
        "together": "TOGETHER_BASE_URL",
        "google": "GOOGLE_GEMINI_BASE_URL",
        "vertex": "GOOGLE_VERTEX_BASE_URL",
        "bedrock": "AWS_ENDPOINT_URL",
    }.items():
        assert "base_url" not in with_address(provider, {})
        monkeypatch.setenv(variable, GATEWAY)
        assert with_address(provider, {})["base_url"] == GATEWAY
        assert with_address(provider, {"base_url": "https://mine.test"}) == {
            "base_url": "https://mine.test"
        }
    # Of a service's own variable and that of all of AWS, boto3 reads the former.
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "https://runtime.test")
    assert with_address("bedrock", {})["base_url"] == "https://runtime.test"
    # Not every server that speaks the protocol is meant by OpenAI's variable.
    assert "base_url" not in with_address("groq", {})


def test_a_run_keeps_the_address_with_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", GATEWAY)
    judges = ["openai/gpt-4.1", "openai/gpt-5,base_url=https://mine.test/v1"]
    spec = make_spec("mt-bench", "openai/gpt-4.1-mini", judge=judges)
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert [part.provider_options["base_url"] for part in spec.roles().values()] == [
        GATEWAY,
        GATEWAY,
        "https://mine.test/v1",
    ]


def test_a_key_goes_to_a_new_host_only_when_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", GATEWAY)
    specs = [make_spec("quickstart", "openai/gpt-4.1-mini")]
    assert environment_words(specs) == [f"openai is asked at {GATEWAY} (OPENAI_BASE_URL)"]
    assert environment_variables(specs) == "OPENAI_BASE_URL"
    with pytest.raises(SpecError) as error:
        check_hosts(specs, "OPENAI_BASE_URL", environment=True)
    assert "OPENAI_BASE_URL would send the key of openai to gateway.test" in error.value.what
    assert "--allow-host gateway.test" in error.value.hint
    check_hosts(specs, "it", environment=True, ask=lambda bound: len(bound) == 1)
    # Known from now on.
    check_hosts(specs, "it", environment=True)
    # What was typed is the user's own word, and other addresses are not the environment's.
    typed = [make_spec("quickstart", "openai/gpt-5", provider_options={"base_url": "https://x.y"})]
    assert environment_words(typed) == []
    check_hosts(typed, "it", environment=True)
    assert environment_words(specs, ["base_url"]) == []


def test_listing_models_asks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", GATEWAY)
    settings = with_address("openai", {})
    with pytest.raises(SpecError, match="OPENAI_BASE_URL would send the key of openai"):
        remember_place("openai", settings, "sk-1", typed=False)
    remember_place("openai", settings, "sk-1", typed=False, ask=lambda bound: True)
    remember_place("openai", settings, "sk-1", typed=False)
    with pytest.raises(SpecError):
        remember_place("openai", settings, "sk-2", typed=False)

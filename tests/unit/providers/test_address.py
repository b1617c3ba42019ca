"""Addresses as people type them."""

from __future__ import annotations

import pytest

from evalbench.engine.errors import SpecError
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.address import api_address, proxy_for

OWN = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://gateway.example/openai/v1", "https://gateway.example/openai/v1"),
        (" https://gateway.example/llm ", "https://gateway.example/llm"),
    ],
)
def test_with_a_version_in_it(given: str, url: str) -> None:
    assert api_address(given, OWN, version="v1", versioned=True).url == url


def test_without_a_version_in_it() -> None:
    for given in ("http://127.0.0.1:9", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/"):
        assert Anthropic({"base_url": given}).address.url == "http://127.0.0.1:9"


def test_ones_own() -> None:
    assert OpenAI({}).address.official
    assert OpenAI({"base_url": "https://api.openai.com/v1/"}).address.official
    assert not OpenAI({"base_url": "http://127.0.0.1:1"}).address.official


@pytest.mark.parametrize(
    "given", ["127.0.0.1:8000", "ftp://host", "http://", "http://h:port/", "https://[::1", "x"]
)
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(SpecError, match="web address"):
        api_address(given, OWN, version="v1", versioned=True)


@pytest.mark.parametrize(
    "given", ["http://me:secret@h/v1", "https://h/v1?key=secret", "http://h/#x"]
)
def test_secrets_in_an_address_are_refused_unseen(given: str) -> None:
    with pytest.raises(SpecError) as caught:
        api_address(given, OWN, version="v1", versioned=True)
    assert "secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)


def test_proxies_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert proxy_for("https://api.example.com/v1") == "http://proxy:3128"
    assert proxy_for("https://inside.example/v1") is None
    assert proxy_for("http://api.example.com/v1") is None
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    assert proxy_for("http://127.0.0.1:8000/v1") is None

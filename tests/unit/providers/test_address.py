"""Addresses as people type them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from evalbench.engine.errors import RunFatal, SpecError
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.address import api_address, proxy_for, tls

OWN = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://gateway.example/openai/v1", "https://gateway.example/openai/v1"),
        (" https://gateway.example/llm ", "https://gateway.example/llm"),
        # Copied whole, or with the marks of a configuration.
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/chat/completions/", "http://127.0.0.1:8000/v1"),
        ("https://gateway.example/llm/responses", "https://gateway.example/llm"),
        ("'http://127.0.0.1:8000/v1'", "http://127.0.0.1:8000/v1"),
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


def test_certificates_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(tls("https://host"), ssl.SSLContext)
    for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        file = tmp_path / name
        monkeypatch.setenv(name, str(file))
        assert tls("http://host") is True
        for content in (None, "no certificate"):
            if content:
                file.write_text(content)
            with pytest.raises(RunFatal) as caught:
                tls("https://host")
            assert caught.value.what.startswith(f"{name} names {file}")
            assert name in caught.value.hint

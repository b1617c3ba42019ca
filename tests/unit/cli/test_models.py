"""The list of all providers' models: one that cannot tell does not stop the others."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.calls import BaseProvider, KeyNeed
from evalbench.engine.config import registry
from evalbench.engine.errors import BadKey, ConnectionFailed
from evalbench.tui.cli.main import main

MODEL = {
    "name": "m",
    "title": "A model",
    "context_tokens": 8192,
    "retires": "2027-01-31",
    "notes": "",
}


@pytest.fixture
def providers(monkeypatch: pytest.MonkeyPatch, home: Any) -> None:
    """Providers with a good key, a refused one, none, one that needs none and one that is away."""
    needs = {
        "good": KeyNeed(("GOOD_API_KEY",)),
        "refused": KeyNeed(("REFUSED_API_KEY",)),
        "keyless": KeyNeed(("KEYLESS_API_KEY",)),
        "away": KeyNeed(("AWAY_API_KEY",), required=False),
        "free": None,
    }
    monkeypatch.setenv("GOOD_API_KEY", "sk-good")
    monkeypatch.setenv("REFUSED_API_KEY", "sk-refused")

    def ask(provider: str, secret: str = "", settings: Any = None) -> list[dict[str, Any]]:
        if provider == "refused":
            raise BadKey("the key is refused", hint="set another")
        if provider == "away":
            raise ConnectionFailed("nobody there")
        assert secret == {"good": "sk-good", "free": ""}[provider]
        return [MODEL]

    monkeypatch.setattr(registry, "provider_names", lambda: sorted(needs))
    monkeypatch.setattr(
        registry, "provider_class", lambda name: type(name, (BaseProvider,), {"key": needs[name]})
    )
    monkeypatch.setattr(preflight, "models", ask)


@pytest.mark.usefixtures("providers")
def test_what_cannot_be_listed_is_named_beside_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 5
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "model   context  retires     notes",
        "free/m  8,192    2027-01-31  A model",
        "good/m  8,192    2027-01-31  A model",
    ]
    assert "error: refused: the key is refused\n  try: set another" in told.err
    assert "no key for keyless: evalbench keys set PROVIDER" in told.err
    assert "no answer from away: evalbench models PROVIDER says why" in told.err


@pytest.mark.usefixtures("providers")
def test_one_provider_alone_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "away"]) == 5
    assert "error: nobody there" in capsys.readouterr().err
    assert main(["models", "--key", "work"]) == 1
    assert "about one provider" in capsys.readouterr().err

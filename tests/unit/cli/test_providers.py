"""``evalbench providers``: what is known of each, and servers of one's own in providers.toml."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import preflight
from evalbench.engine.calls import ModelRef
from evalbench.engine.config import registry
from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.errors import KeyUnavailable
from evalbench.engine.keys import is_variable, keychain, with_variables
from evalbench.engine.keys.keychain import Answer, KeychainState
from evalbench.tui.cli.main import main
from tests.e2e.schema import check_line


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command; its exit code and what it wrote."""

    def run(*words: str) -> tuple[int, str]:
        code = main(["providers", *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def test_every_provider_is_listed_in_80_columns_with_limits_and_prices(
    home: Path, said: Any
) -> None:
    code, text = said()
    assert code == 0
    assert all(len(line) <= 80 for line in text.splitlines())
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert set(registry.provider_names()) <= set(rows)
    assert "300 req" in rows["cloudflare"]
    assert "table" in rows["perplexity"]
    code, text = said("show", "cohere")
    assert "20 with a trial key" in text
    assert "https://docs.cohere.com/docs/rate-limits" in text
    assert "unverified" in said("show", "nvidia")[1]


def test_a_server_is_added_changed_and_removed_and_the_rest_of_the_file_stays(
    home: Path, said: Any
) -> None:
    file = home / "config" / "providers.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        '# ours\n[lab]\nlike = "vllm"\nbase_url = "http://gpu-7:8000/v1"  # the big one\n'
    )
    code, _ = said(
        *("add", "my-gw", "--base-url", "https://gw.example.com/v1"),
        *("--header", "X-Auth: Bearer ${GW_TOKEN}", "--query", "v=1", "--price", "a/b=0.4/1.6"),
        *("--price", "*=1/2", "--price-source", "contract", "--requests-per-minute", "90"),
        *("--tokens-per-minute", "60000", "--batches", "no"),
    )
    assert code == 0
    assert file.read_text().startswith("# ours\n[lab]")
    assert "# the big one" in file.read_text()
    spec = make_spec("quickstart", "my-gw/a/b")
    assert (spec.get("qps"), spec.get("tpm")) == (1.5, 60000)
    book = PriceBook()
    for model, rates in (("a/b", ("0.4", "1.6")), ("c", ("1", "2"))):
        found = book.prices(ModelRef("my-gw", model))
        assert found
        assert found.source == "contract"
        assert (found.rates.input, found.rates.output) == tuple(map(Decimal, rates))
    assert (
        said("edit", "my-gw", "--title", "Ours", "--tokens-per-minute", "70000", "--query=")[0] == 0
    )
    assert "query" not in file.read_text()
    check_line(json.loads(said("list", "my-gw", "--json")[1]))
    (line,) = (json.loads(one) for one in said("list", "my-gw", "--json")[1].splitlines())
    assert (line["title"], line["tokens_per_minute"]) == ("Ours", 70000)
    assert said("rm", "my-gw")[0] == 0
    assert "my-gw" not in file.read_text()
    assert "lab" in registry.provider_names()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "openai", "--base-url", "http://x"), "built in"),
        (("add", "A B", "--base-url", "http://x"), "small letters"),
        (("add", "x", "--base-url", "nowhere"), "not a web address"),
        (("add", "x"), "base_url is missing"),
        (("add", "x", "--base-url", "http://x", "--price", "a=cheap"), "not IN/OUT"),
        (("add", "x", "--base-url", "http://x", "--price", "cheap"), "MODEL=IN/OUT"),
        (("add", "x", "--base-url", "http://x", "--requests-per-minute", "0"), "more than 0"),
        (("add", "x", "--base-url", "http://x", "--like", "anthropic"), "OpenAI's protocol"),
        (
            ("add", "x", "--base-url", "http://x", "--header", "X-Key: sk-0123456789abcdef"),
            "secret",
        ),
        (("edit", "groq", "--title", "x"), "built in"),
        (("edit", "none", "--title", "x"), "no server of yours"),
        (("rm", "none"), "no server of yours"),
        (("show", "grok"), "did you mean groq"),
        (("test",), "which provider"),
        (("groq",), "evalbench providers show groq"),
    ],
)
def test_mistakes_write_nothing(home: Path, said: Any, words: Any, told: str) -> None:
    code, text = said(*words)
    assert code == 1
    assert told in text
    assert not (home / "config" / "providers.toml").exists()


def test_limits_of_vendors_hold_unless_a_run_or_another_address_says_otherwise(home: Path) -> None:
    assert make_spec("quickstart", "minimax/m").get("tpm") == 20_000_000
    assert make_spec("quickstart", "cohere/m").get("qps") == pytest.approx(500 / 60)
    assert make_spec("quickstart", "cohere/m", qps=1).get("qps") == 1
    elsewhere = make_spec("quickstart", "cohere/m", provider_options={"base_url": "http://h/v1"})
    assert elsewhere.get("qps") is None


def test_what_headers_refer_to_may_lie_in_the_keychain(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GW_TOKEN", raising=False)
    texts = ["Bearer ${GW_TOKEN}"]
    with pytest.raises(KeyUnavailable) as error:
        with_variables("my-gw", "", texts)
    assert "evalbench keys set my-gw --name GW_TOKEN" in error.value.hint
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "keys.json").write_text('{"my-gw": ["GW_TOKEN"]}')
    asked = []

    def fetch(user: str, timeout: float) -> Answer:
        asked.append(user)
        return Answer(KeychainState.FOUND, secret="planted-0123456789")

    monkeypatch.setattr(keychain, "fetch", fetch)
    assert "planted-0123456789" in with_variables("my-gw", "", texts)
    assert asked == ["my-gw/GW_TOKEN"]
    # The environment comes first, and other providers get none of it.
    monkeypatch.setenv("GW_TOKEN", "of-the-environment")
    assert "of-the-environment" in with_variables("my-gw", "", texts)
    monkeypatch.delenv("GW_TOKEN")
    with pytest.raises(KeyUnavailable):
        with_variables("other", "", texts)
    assert [is_variable(name) for name in ("GW_TOKEN", "default", "WORK", "x_y")] == [
        *(True, False, False, False)
    ]


def test_a_test_sends_no_key_where_only_the_environment_says(
    home: Path, said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def check_key(name: str, *_: Any) -> str:
        sent.append(name)
        return "fine"

    monkeypatch.setattr(preflight, "check_key", check_key)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdefghij")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.test/v1")
    code, text = said("test", "openai", "--json")
    assert (code, sent) == (1, [])
    assert "OPENAI_BASE_URL would send the key of openai to gateway.test" in text
    # A server that the user described is where the user wants its key to go.
    described = home / "config" / "providers.toml"
    described.parent.mkdir(parents=True, exist_ok=True)
    described.write_text('[mine]\nbase_url = "https://mine.test/v1"\nkey = "MINE_KEY"\n')
    monkeypatch.setenv("MINE_KEY", "mine-0123456789abcdefghij")
    assert said("test", "mine")[0] == 0
    assert sent == ["mine"]

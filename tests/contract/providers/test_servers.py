"""The table of servers, and those that users describe: each answers, with its key in its place."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import Call, ModelRef, Outcome, generate, system, user
from evalbench.engine.calls.secrets import bundled
from evalbench.engine.config import registry
from evalbench.engine.config.roles import with_address
from evalbench.engine.config.spec import make_spec
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.cost.unit_prices import Rates
from evalbench.engine.errors import BadKey, KeyUnavailable, RateLimited, SpecError
from evalbench.engine.keys import with_variables
from evalbench.providers.compatible.servers import SERVERS
from tests.contract.providers.conftest import KEY, Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask

ROOT = Path(__file__).parents[3]


def last(sim: Handle) -> dict[str, Any]:
    return [entry for entry in sim.entries() if entry["method"] == "POST"][-1]


def test_every_row_is_a_provider_and_every_page_tells_of_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["evalbench.providers"]
    page = (ROOT / "docs" / "providers.md").read_text("utf-8")
    for name, row in SERVERS.items():
        assert points[name].startswith("evalbench.providers.compatible.servers:"), name
        cls: Any = registry.provider_class(name)
        assert (cls.name, cls.own_address) == (name, row.address)
        assert row.source.startswith("https://"), name
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"`{row.variables[0]}`" in line
        assert row.source in line


@pytest.mark.parametrize("name", [*SERVERS, "azure"])
async def test_each_answers_refuses_a_bad_key_and_waits_when_it_is_told_to(
    sim: Handle, make: Make, name: str
) -> None:
    base = sim.base_url("openai")
    provider = make(name, base_url=base)
    model = f"{name}/gpt-4.1-mini"
    reply = await provider.answer(ask(model, max_tokens=300))
    assert reply.outcome is Outcome.OK
    assert reply.usage.input_tokens
    assert any(one.name == "gpt-4.1-mini" for one in await provider.models())
    sim.fault(status=429, retry_after=7, times=1)
    with pytest.raises(RateLimited) as told:
        await provider.answer(ask(model, max_tokens=300))
    assert told.value.retry_after == 7
    with pytest.raises(BadKey):
        await make(name, secret="sk-wrong-0123456789", base_url=base).answer(ask(model))


async def test_keys_headers_and_parameters_go_where_they_belong(sim: Handle, make: Make) -> None:
    base = sim.base_url("custom")
    secret = bundled(KEY, {"TOKEN": "planted-token-0123456789"})
    settings = {"header": ("X-Team: evals", "X-Auth: Bearer ${TOKEN}"), "query": ("v=1",)}
    for name, header in (("compatible", "authorization"), ("portkey", "x-portkey-api-key")):
        provider = make(name, secret=secret, base_url=base, **settings)
        reply = await provider.answer(ask(f"{name}/any"))
        seen = {key.lower(): value for key, value in last(sim)["headers"].items()}
        assert header in seen
        assert ("authorization" in seen) == (name == "compatible")
        assert seen["x-team"] == "evals"
        assert "x-auth" in seen
        assert last(sim)["path"].partition("?")[0] == "/custom/v1/chat/completions"
        assert "planted-token" not in repr(reply)
    for name, model in (("openai", "gpt-4.1-mini"), ("anthropic", "claude-haiku-4-5")):
        provider = make(name, secret=secret, **settings)
        assert (await provider.answer(ask(f"{name}/{model}", max_tokens=300))).text
        seen = {key.lower(): value for key, value in last(sim)["headers"].items()}
        assert seen["x-team"] == "evals"


async def test_perplexity_is_asked_by_responses_with_instructions(sim: Handle, make: Make) -> None:
    provider = make("perplexity", base_url=sim.base_url("openai"))
    turns = [system("Be brief."), user("Which?")]
    call = Call(ModelRef("perplexity", "gpt-4.1-mini"), generate(turns, max_tokens=300))
    body = provider.prepare(call).body
    assert body["instructions"] == "Be brief."
    assert [one["role"] for one in body["input"]] == ["user"]
    assert not {"store", "truncation", "prompt_cache_key"} & set(body)
    reply = await provider.answer(ask("perplexity/gpt-4.1-mini", max_tokens=300))
    assert reply.outcome is Outcome.OK
    assert last(sim)["path"].endswith("/responses")
    assert provider.batch_api is None


def test_addresses_with_parts_to_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION", "CLOUDFLARE_ACCOUNT_ID", "DATABRICKS_HOST",
    ):  # fmt: skip
        monkeypatch.delenv(variable, raising=False)
    for provider, given, url in (
        ("cloudflare", {"account": "ab"}, "https://api.cloudflare.com/client/v4/accounts/ab/ai/v1"),
        (
            "databricks",
            {"host": "w.databricks.test"},
            "https://w.databricks.test/serving-endpoints",
        ),
        ("databricks", {"host": "https://w.test/"}, "https://w.test/serving-endpoints"),
        (
            "dashscope",
            {"workspace": "w", "region": "us-east-1"},
            "https://w.us-east-1.maas.aliyuncs.com/compatible-mode/v1",
        ),
        ("azure", {"endpoint": "r.openai.azure.com"}, "https://r.openai.azure.com/openai/v1"),
        ("azure", {"endpoint": "https://r.test/openai/v1/"}, "https://r.test/openai/v1"),
        ("azure", {"base_url": "https://r.test/"}, "https://r.test/openai/v1"),
        ("azure", {"endpoint": "https://openai-eu.test/"}, "https://openai-eu.test/openai/v1"),
    ):
        cls: Any = registry.provider_class(provider)
        assert cls.address_for(given).url == url
        assert with_address(provider, given)["base_url"] in (url, given.get("base_url"))
    with pytest.raises(SpecError) as error:
        make_spec("quickstart", "azure/my-deployment")
    assert "--endpoint" in error.value.what
    assert "AZURE_OPENAI_ENDPOINT" in error.value.hint
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com")
    spec = make_spec("quickstart", "azure/my-deployment")
    assert spec.provider_options["base_url"] == "https://r.openai.azure.com/openai/v1"


def test_azure_by_dated_versions_and_by_entra_tokens(make: Make) -> None:
    settings = {"base_url": "https://r.test", "api_version": "2024-10-21"}
    provider = make("azure", **settings)
    prepared = provider.prepare(ask("azure/my deployment"))
    assert prepared.path == "https://r.test/openai/deployments/my%20deployment/chat/completions"
    assert provider.query == {"api-version": "2024-10-21"}
    assert provider.key_headers() == {"api-key": KEY}
    token = make("azure", secret="eyJhbGciOi.a.b", **settings)
    assert token.key_headers() == {"Authorization": "Bearer eyJhbGciOi.a.b"}


# -- described by users -------------------------------------------------------------------------


def describe(home: Path, text: str) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "providers.toml").write_text(text)


async def test_servers_of_ones_own(
    home: Path, sim: Handle, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = sim.base_url("openai")
    describe(
        home,
        f"""
[first]
base_url = "{base}"
key = "FIRST_KEY"
headers = {{ X-Team = "evals", X-Auth = "Bearer ${{FIRST_TOKEN}}" }}
query = {{ api-version = "1" }}
concurrency = 3
qps = 2.5
prices = {{ "gpt-4.1-mini" = "0.5/1.5" }}

[second]
like = "vllm"
base_url = "http://10.0.0.1:8000"
""",
    )
    assert {"first", "second"} <= set(registry.provider_names())
    spec = make_spec("quickstart", "first/gpt-4.1-mini")
    assert spec.provider_options["base_url"] == base
    assert (spec.settings.candidate.concurrency, spec.settings.candidate.qps) == (3, 2.5)
    # Of a judge as of a candidate, in every mode; what is given counts more.
    book, ref = PriceBook(), ModelRef.parse("first/gpt-4.1-mini")
    assert book.at_hand(ref)
    for prices in (
        book.prices(ref),
        book.prices(ref, "batch"),
        book.prices(ref, "realtime", "flex"),
    ):
        assert prices is not None
        assert prices.source == "providers.toml"
        assert prices.rates == Rates(Decimal("0.5"), Decimal("1.5"))
    given = PriceBook(["first/gpt-4.1-mini=1/2"]).prices(ref)
    assert given is not None
    assert given.source == "--price"
    assert book.prices(ModelRef.parse("first/x")) is None
    assert make_spec("quickstart", "first/x", concurrency=9).get("concurrency") == 9
    cls: Any = registry.provider_class("first")
    assert cls.key.variables == ("FIRST_KEY",)
    assert cls.key.required
    other: Any = registry.provider_class("second")
    assert not other.key.required
    assert other({}).address.url == "http://10.0.0.1:8000/v1"
    monkeypatch.setenv("FIRST_TOKEN", '"token-0123456789"')
    secret = with_variables("first", KEY, list(cls.own_headers.values()))
    reply = await make("first", secret=secret, base_url=base).answer(
        ask("first/gpt-4.1-mini", max_tokens=300)
    )
    assert reply.outcome is Outcome.OK
    monkeypatch.delenv("FIRST_TOKEN")
    with pytest.raises(KeyUnavailable, match="FIRST_TOKEN"):
        with_variables("first", KEY, list(cls.own_headers.values()))
    # Read anew when it changes.
    describe(home, '[third]\nbase_url = "http://10.0.0.3"\n')
    assert "first" not in registry.provider_names()
    assert "third" in registry.provider_names()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not toml [", "cannot be read"),
        ("x = 1", "table of its own"),
        ('[openai]\nbase_url = "http://x"', "built in"),
        ('["A B"]\nbase_url = "http://x"', "small letters"),
        ("[mine]\n", "base_url is missing"),
        ('[mine]\nbase_ur = "http://x"', "no field 'base_ur'"),
        ("[mine]\nbase_url = 5", "of another kind"),
        ('[mine]\nbase_url = "nowhere"', "not a web address"),
        ('[mine]\nlike = "anthropic"\nbase_url = "http://x"', "OpenAI's protocol"),
        ('[mine]\nbase_url = "http://x"\nheaders = { X-Key = "sk-0123456789abcdef" }', "secret"),
        ('[mine]\nbase_url = "http://x"\nheaders = { X = 1 }', "texts"),
    ],
)
def test_mistakes_are_told_with_their_place(home: Path, text: str, words: str) -> None:
    describe(home, text)
    with pytest.raises(SpecError) as error:
        registry.provider_class("mine" if "mine" in text else "openai")
    assert words in str(error.value)


@pytest.mark.parametrize(
    "given", ["X", "X Y: z", ": z", "Authorization: Bearer abc", "X-Token: ab"]
)
def test_headers_that_are_none_or_hold_a_secret(given: str) -> None:
    with pytest.raises(SpecError) as error:
        registry.provider_class("compatible")({"base_url": "http://x", "header": (given,)})
    assert "abc" not in str(error.value)

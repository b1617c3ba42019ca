"""Bedrock without a network: names, facts, credentials, parameters, prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine.calls import ModelRef, Params, Usage
from evalbench.engine.cost.prices import PriceBook
from evalbench.engine.errors import BadKey, CallRejected, NoSuchModel
from evalbench.engine.keys import implausible
from evalbench.providers.bedrock import Bedrock
from evalbench.providers.bedrock.credentials import Credentials, read_credentials
from evalbench.providers.bedrock.facts import bedrock_facts, least_cached, takes_video
from evalbench.providers.bedrock.names import geography_of, model_name
from evalbench.providers.bedrock.prepare import terms
from evalbench.providers.bedrock.read import read_usage
from evalbench.providers.modelfacts import NOTHING, ModelFacts
from evalbench.providers.modelfacts.token_rules import token_rules

SONNET = "anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = f"arn:aws:bedrock:us-east-1:216874796537:inference-profile/us.{SONNET}"
PAIR = "AKIAPLANTED12345:" + "s/+x" * 10


@pytest.mark.parametrize(
    ("text", "base", "geography", "region", "plain"),
    [
        (SONNET, SONNET, "", "", "claude-sonnet-4-5-20250929"),
        (f"us.{SONNET}", SONNET, "us", "", "claude-sonnet-4-5-20250929"),
        (f"global.{SONNET}", SONNET, "global", "", "claude-sonnet-4-5-20250929"),
        (ARN, SONNET, "us", "us-east-1", "claude-sonnet-4-5-20250929"),
        ("us.anthropic.claude-sonnet-5-5", "anthropic.claude-sonnet-5-5", "us", "",
         "claude-sonnet-5-5"),
        ("openai.gpt-5.4", "openai.gpt-5.4", "", "", "gpt-5.4"),
        ("us.openai.gpt-5.6-luna", "openai.gpt-5.6-luna", "us", "", "gpt-5.6-luna"),
        ("openai.gpt-oss-120b-1:0", "openai.gpt-oss-120b-1:0", "", "", "gpt-oss-120b-1"),
        ("moonshotai.kimi-k3.1", "moonshotai.kimi-k3.1", "", "", "kimi-k3.1"),
        ("amazon.nova-lite-v1:0:24k", "amazon.nova-lite-v1:0:24k", "", "", "nova-lite"),
        ("arn:aws:bedrock:eu-west-1::foundation-model/" + SONNET, SONNET, "", "eu-west-1",
         "claude-sonnet-4-5-20250929"),
        ("arn:aws:bedrock:eu-west-1:1:application-inference-profile/a1b2", "", "", "eu-west-1",
         ""),
        ("anything", "", "", "", ""),
    ],
)  # fmt: skip
def test_names_are_taken_apart(
    text: str, base: str, geography: str, region: str, plain: str
) -> None:
    name = model_name(text)
    assert (name.base, name.geography, name.region) == (base, geography, region)
    assert name.plain == plain
    assert name.text == text


@pytest.mark.parametrize(
    ("region", "geography"),
    [
        ("us-west-2", "us"), ("us-gov-west-1", "us-gov"), ("eu-west-3", "eu"),
        ("ap-south-1", "apac"), ("ca-central-1", "us"), ("sa-east-1", "sa"),
    ],
)  # fmt: skip
def test_a_region_has_a_geography(region: str, geography: str) -> None:
    assert geography_of(region) == geography


def test_claude_is_what_it_is_at_its_maker() -> None:
    for name in (SONNET, f"us.{SONNET}", ARN):
        facts = bedrock_facts(name)
        assert facts.context_tokens == 200_000
        assert facts.thinking == ("enabled", "disabled")
        assert not facts.retires
    assert bedrock_facts("us.anthropic.claude-opus-4-7").sampling == "no"
    assert bedrock_facts("global.anthropic.claude-sonnet-5-5").thinks
    assert bedrock_facts("anything") == ModelFacts()


def test_who_sees_films_and_who_caches() -> None:
    assert takes_video("us.amazon.nova-pro-v1:0")
    assert takes_video(SONNET) is False
    assert takes_video("twelvelabs.pegasus-1-2-v1:0") is None
    assert least_cached("amazon.nova-pro-v1:0", ModelFacts()) == 1024
    assert least_cached("anthropic.claude-3-haiku-20240307-v1:0", ModelFacts()) == 0
    assert least_cached("meta.llama3-3-70b-instruct-v1:0", ModelFacts()) == 0
    assert least_cached(f"us.{SONNET}", ModelFacts(cache_tokens=4096)) == 4096


def test_credentials_in_one_text() -> None:
    assert read_credentials(PAIR) == Credentials("AKIAPLANTED12345", "s/+x" * 10)
    assert read_credentials(f"{PAIR}:to/ken+=").token == "to/ken+="
    assert read_credentials("bedrock-api-key-abc=").bearer == "bedrock-api-key-abc="
    assert read_credentials("") == Credentials()
    assert "s/+x" not in repr(read_credentials(f"{PAIR}:session"))
    with pytest.raises(ValueError, match="half"):
        read_credentials("AKIAPLANTED12345")


def test_what_a_key_should_look_like() -> None:
    need = Bedrock.key
    assert need
    for good in (PAIR, f"{PAIR}:{'x' * 300}=", "ABSK" + "x" * 60, "bedrock-api-key-" + "x" * 60):
        assert not implausible(need, good)
    assert implausible(need, "AKIAPLANTED12345")


def test_who_shares_a_profile_shares_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert Bedrock({}).account == Bedrock({"profile": "work"}).account
    assert Bedrock({}).account != Bedrock({"region": "eu-west-1"}).account
    assert not Bedrock({}, PAIR).account


def test_half_a_key_is_told_before_anything_is_asked() -> None:
    with pytest.raises(BadKey, match="AWS_SECRET_ACCESS_KEY"):
        Bedrock({}, "AKIAPLANTED12345").check_secret()


def test_a_bare_claude_is_told_its_name_here() -> None:
    with pytest.raises(NoSuchModel, match=r"bedrock/us\.anthropic\.claude-sonnet-5-5"):
        Bedrock({}).check_model("claude-sonnet-5-5")
    Bedrock({}).check_model("us.anthropic.claude-sonnet-5-5")
    Bedrock({}).check_model(ARN)


@pytest.mark.parametrize(("budget", "cap"), [(100, 4000), (4000, 4000)])
def test_a_budget_that_no_request_could_carry(budget: int, cap: int) -> None:
    params = Params(max_tokens=cap, thinking_budget=budget)
    with pytest.raises(CallRejected):
        terms(params, bedrock_facts(SONNET), NOTHING, claude="claude-sonnet-4-5")


def test_the_oldest_claudes_took_both() -> None:
    params = Params(temperature=0.5, top_p=0.9)
    name = "claude-3-haiku-20240307"
    agreed = terms(params, bedrock_facts(f"anthropic.{name}-v1:0"), NOTHING, claude=name)
    assert agreed.fields["inferenceConfig"] == {"maxTokens": 4096, "temperature": 0.5, "topP": 0.9}


def test_thinking_is_turned_off_in_the_models_own_way() -> None:
    params = Params(thinking_budget=0, temperature=0.5)
    for plain, thinking, sampled in (
        ("claude-sonnet-4-5", {"type": "disabled"}, "sent"),
        ("claude-sonnet-5-5", {"type": "between_tools"}, "dropped"),
        ("claude-opus-5-5", None, "dropped"),
    ):
        agreed = terms(params, bedrock_facts(f"anthropic.{plain}"), NOTHING, claude=plain)
        more = agreed.fields.get("additionalModelRequestFields", {})
        assert more.get("thinking") == thinking
        assert {note.name: note.fate for note in agreed.notes}["temperature"] == sampled


@pytest.mark.parametrize(
    ("name", "price"),
    [
        (f"us.{SONNET}", "3.3"),
        (f"eu.{SONNET}", "3.3"),
        (f"global.{SONNET}", "3"),
        (ARN, "3.3"),
        ("us.anthropic.claude-sonnet-5-5", "2.2"),
        ("us.amazon.nova-lite-v1:0", "0.06"),
    ],
)
def test_prices_by_every_kind_of_name(name: str, price: str) -> None:
    prices = PriceBook().prices(ModelRef("bedrock", name))
    assert prices
    assert prices.rates.input == Decimal(price)
    batch = PriceBook().prices(ModelRef("bedrock", name), "batch")
    assert batch
    assert batch.rates.input == Decimal(price) / 2


def test_a_tier_of_unknown_price_is_unknown() -> None:
    assert PriceBook().prices(ModelRef("bedrock", f"us.{SONNET}"), service_tier="flex") is None
    assert PriceBook().prices(ModelRef("bedrock", f"us.{SONNET}"), service_tier="default")


def test_images_and_texts_are_counted_as_claude_counts() -> None:
    for name in (SONNET, ARN):
        assert token_rules(name).image((1000, 1000)) == token_rules("claude-sonnet-4-5").image(
            (1000, 1000)
        )
    assert token_rules("us.anthropic.claude-opus-4-8").characters == 2.7


def test_what_is_kept_in_a_cache_for_an_hour_is_told_apart() -> None:
    told: dict[str, Any] = {
        "inputTokens": 10,
        "outputTokens": 5,
        "cacheReadInputTokens": 1_500,
        "cacheWriteInputTokens": 300,
    }
    assert read_usage(told) == Usage(1_810, 5, 1_500, 300)
    told["cacheDetails"] = [{"ttl": "5m", "inputTokens": 200}, {"ttl": "1h", "inputTokens": 100}]
    assert read_usage(told) == Usage(1_810, 5, 1_500, 300, cache_write_1h_tokens=100)
    told["cacheDetails"] = [None, {"ttl": "1h", "inputTokens": -1}]
    assert read_usage(told) == Usage(1_810, 5, 1_500, 300)

"""What is Together's alone: its switches, its words, its catalogue and its moving limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, MediaPart, ModelRef, Outcome, Reply, generate, user
from evalbench.engine.cost.listed_prices import store_listed
from evalbench.engine.cost.prices import PriceBook
from tests.contract.providers.conftest import KEY, Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask, few_shot

OSS = "together/openai/gpt-oss-120b"
HYBRID = "together/Qwen/Qwen3.5-9B"
ALWAYS = "together/MiniMaxAI/MiniMax-M3"
LLAMA = "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"
MIXTRAL = "mistralai/Mixtral-8x22B-Instruct-v0.1"
VIDEO = MediaPart("video/mp4", b"\0\0\0\x18ftypmp42" + bytes(500))


def asked(sim: Handle) -> list[dict[str, Any]]:
    return [entry for entry in sim.entries() if entry["method"] == "POST"]


def fate(reply: Reply, name: str) -> tuple[str, str]:
    [found] = [(note.fate, note.reason) for note in reply.params if note.name == name]
    return found


async def test_every_request_says_what_to_do_with_a_prompt_that_is_too_long(
    sim: Handle, make: Make
) -> None:
    await make("together").answer(ask(LLAMA, max_tokens=20))
    assert asked(sim)[-1]["body"]["context_length_exceeded_behavior"] == "error"
    assert asked(sim)[-1]["path"] == "/together/v1/chat/completions"


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_have_its_version_or_not(
    sim: Handle, make: Make, ending: str
) -> None:
    provider = make("together", base_url=sim.base_url("together") + ending)
    assert (await provider.answer(ask(LLAMA, max_tokens=20))).text


async def test_the_end_of_text_is_an_answer(sim: Handle, make: Make) -> None:
    provider = make("together")
    reply = await provider.answer(ask(LLAMA, max_tokens=2000))
    assert (reply.stop_reason, reply.outcome) == ("eos", Outcome.OK)
    sim.rule("letter", text="one two three")
    reply = await provider.answer(ask(LLAMA, max_tokens=2000, stop=("three",)))
    assert (reply.stop_reason, reply.outcome) == ("stop", Outcome.OK)


async def test_log_probabilities_are_a_number(sim: Handle, make: Make) -> None:
    reply = await make("together").answer(ask(LLAMA, logprobs=30))
    assert asked(sim)[-1]["body"]["logprobs"] == 20
    assert fate(reply, "logprobs") == ("sent", "20, the most that Together reports")
    told = reply.raw["choices"][0]["logprobs"]
    assert len(told["tokens"]) == len(told["token_logprobs"]) > 1


@pytest.mark.parametrize(
    ("model", "effort", "sent", "reason"),
    [
        (OSS, "low", {"reasoning_effort": "low"}, ""),
        (OSS, "minimal", {"reasoning_effort": "low"}, "as low; Together takes"),
        (OSS, "xhigh", {"reasoning_effort": "high"}, "as high; Together takes"),
        (HYBRID, "none", {"reasoning": {"enabled": False}}, "as reasoning off"),
        (HYBRID, "high", {"reasoning": {"enabled": True}}, "as reasoning on"),
        ("together/deepseek-ai/DeepSeek-V4-Pro-0813", "max", {"reasoning_effort": "high"}, "as hi"),
    ],
)
async def test_effort_in_the_models_own_way(
    sim: Handle, make: Make, model: str, effort: str, sent: dict[str, Any], reason: str
) -> None:
    reply = await make("together").answer(ask(model, max_tokens=4000, effort=effort))
    how, why = fate(reply, "effort")
    assert how == "sent"
    assert why.startswith(reason)
    assert bool(why) == bool(reason)
    body = asked(sim)[-1]["body"]
    assert {name: body[name] for name in ("reasoning", "reasoning_effort") if name in body} == sent
    assert bool(reply.reasoning) == (effort != "none")


@pytest.mark.parametrize(
    ("model", "effort", "reason"),
    [
        (OSS, "none", "always reasons"),
        (ALWAYS, "none", "always reasons"),
        (ALWAYS, "low", "no efforts"),
        (LLAMA, "low", "does not reason"),
        (OSS, "plenty", "low, medium and high"),
    ],
)
async def test_efforts_that_a_model_has_not_are_left_out(
    sim: Handle, make: Make, model: str, effort: str, reason: str
) -> None:
    reply = await make("together").answer(ask(model, max_tokens=4000, effort=effort))
    how, why = fate(reply, "effort")
    assert how == "dropped"
    assert reason in why
    assert not {"reasoning", "reasoning_effort"} & asked(sim)[-1]["body"].keys()


async def test_a_budget_of_nothing_turns_thinking_off(sim: Handle, make: Make) -> None:
    provider = make("together")
    reply = await provider.answer(ask(HYBRID, max_tokens=2000, thinking_budget=0))
    assert asked(sim)[-1]["body"]["reasoning"] == {"enabled": False}
    assert not reply.reasoning
    reply = await provider.answer(ask(HYBRID, max_tokens=2000, thinking_budget=900))
    assert fate(reply, "thinking_budget")[0] == "dropped"


async def test_thoughts_are_found_in_either_field_or_in_the_text(sim: Handle, make: Make) -> None:
    provider = make("together")
    for model, field in ((HYBRID, "reasoning"), ("together/deepseek-ai/DeepSeek-V4-Pro-0813",
                                                 "reasoning_content")):  # fmt: skip
        reply = await provider.answer(ask(model, max_tokens=4000))
        assert reply.reasoning == reply.raw["choices"][0]["message"][field]
        assert reply.usage.reasoning_tokens
    sim.rule("letter", text="<think>Hm, A.</think>\nA")
    reply = await provider.answer(ask(LLAMA, max_tokens=400))
    assert (reply.text, reply.reasoning) == ("A", "Hm, A.")


async def test_warnings_are_kept_and_stand_with_their_parameter(sim: Handle, make: Make) -> None:
    sim.model("together", "some/stranger", like="meta-llama/Llama-3.3-70B-Instruct-Turbo")
    call = ask("together/some/stranger", max_tokens=99, effort="low", seed=3)
    reply = await make("together").answer(call)
    [warning] = reply.raw["warnings"]
    assert "ignored" in warning["message"]
    assert fate(reply, "effort") == ("sent", warning["message"])
    assert fate(reply, "seed") == ("sent", "")


async def test_cached_tokens_are_told_flat(sim: Handle, make: Make) -> None:
    provider = make("together")
    first = await provider.answer(few_shot(ALWAYS, max_tokens=2000))
    again = await provider.answer(few_shot(ALWAYS, max_tokens=2001))
    assert not first.usage.cache_read_tokens
    assert again.usage.cache_read_tokens > 1000


async def test_a_video_goes_as_it_is_where_the_model_takes_one(sim: Handle, make: Make) -> None:
    provider = make("together")
    call = Call(ModelRef.parse(HYBRID), generate([user([VIDEO, "What happens?"])], max_tokens=3000))
    reply = await provider.answer(call)
    assert reply.outcome is Outcome.OK
    assert reply.usage.input_tokens > 4000
    assert provider.capabilities("Qwen/Qwen3.5-9B").video
    part = asked(sim)[-1]["body"]["messages"][0]["content"][0]
    assert part["type"] == "video_url"
    blind = Call(ModelRef.parse(LLAMA), generate([user([VIDEO, "What happens?"])], max_tokens=30))
    with pytest.raises(e.CallRejected, match="cannot be sent video/mp4"):
        await provider.answer(blind)
    assert len(asked(sim)) == 1


async def test_a_model_that_is_not_serverless_is_asked_once(sim: Handle, make: Make) -> None:
    provider = make("together")
    calls = [ask(f"together/{MIXTRAL}", seed=number) for number in range(20)]
    for _ in range(2):
        outcomes = await asyncio.gather(*map(provider.answer, calls), return_exceptions=True)
        for error in outcomes:
            assert isinstance(error, e.NoSuchModel)
            assert "not serverless" in error.what
            assert "dedicated endpoint" in error.hint
            assert "evalbench models together" in error.hint
    assert len(asked(sim)) == 1


async def test_an_endpoint_of_ones_own_under_the_models_name_answers(
    sim: Handle, make: Make
) -> None:
    provider = make("together")
    await provider.get_ready(ask(f"together/{MIXTRAL}"))
    sim.model("together", MIXTRAL, serverless=True)
    calls = [ask(f"together/{MIXTRAL}", max_tokens=64, seed=number) for number in range(10)]
    replies = await asyncio.gather(*map(provider.answer, calls))
    assert all(reply.text for reply in replies)


async def test_where_the_catalogue_is_away_the_api_says_it_once(sim: Handle, make: Make) -> None:
    sim.fault(status=404, path="supported-models")
    with pytest.raises(e.NoSuchModel) as caught:
        await make("together").answer(ask(f"together/{MIXTRAL}", temperature=0.5))
    assert "non-serverless" in caught.value.why
    assert "dedicated endpoint" in caught.value.hint
    assert len(asked(sim)) == 1


async def test_an_endpoint_that_sleeps(sim: Handle, make: Make) -> None:
    told = {"message": "The dedicated endpoint for a/b is not running.", "param": None,
            "type": "invalid_request_error", "code": "dedicated_endpoint_not_running"}  # fmt: skip
    sim.fault(status=400, body={"id": "x", "error": told}, path="chat")
    with pytest.raises(e.NoSuchModel, match="not running"):
        await make("together").answer(ask("together/a/b"))


FULL = "Input token count + max_tokens must be less than the context length of the model."


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (403, FULL, e.ContextTooLong),
        (403, "You have no access to this model.", e.AccessDenied),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4097.", e.ContextTooLong),
        (429, "Request was rejected due to request rate limiting. Your rate limits are 600 RPM "
         "(10 QPS). See https://docs.together.ai/docs/rate-limits", e.RateLimited),
        (429, "You have been rate limited. Your rate limit is 60 queries per minute. Please "
         "navigate to https://api.together.ai/settings/billing to upgrade.", e.RateLimited),
        (400, "Unable to access model a/b. Please visit https://api.together.ai", e.NoSuchModel),
    ],
)  # fmt: skip
async def test_its_own_words(
    sim: Handle, make: Make, status: int, message: str, kind: type[Exception]
) -> None:
    told = {"message": message, "type": "credit_limit" if status == 429 else "x", "code": None}
    sim.fault(status=status, body={"id": "oh-1", "error": told}, path="chat")
    with pytest.raises(kind) as caught:
        await make("together").answer(ask(LLAMA))
    assert not isinstance(caught.value, e.NoCredit)


async def test_above_the_moving_rate_and_below_it(sim: Handle, make: Make) -> None:
    sim.limits("together", requests=60)
    provider = make("together")
    await provider.answer(ask(LLAMA, max_tokens=1))
    with pytest.raises(e.RateLimited) as above:
        await provider.answer(ask(LLAMA, max_tokens=2))
    assert "dynamic rate" in above.value.why
    limits: Any = above.value.limits
    assert limits.requests_remaining == 0
    assert 0 < limits.requests_reset_s <= 1
    # A fraction of a second is no advice: everybody waits for it.
    assert above.value.retry_after is None
    sim.limits("together", requests=6000)
    sim.limits("together:platform", requests=1)
    await provider.answer(ask(LLAMA, max_tokens=3))
    with pytest.raises(e.Overloaded):
        await provider.answer(ask(LLAMA, max_tokens=4))


async def test_a_wait_worth_its_name_is_advised(sim: Handle, make: Make) -> None:
    sim.limits("together", requests=2)
    provider = make("together")
    await provider.answer(ask(LLAMA, max_tokens=1))
    with pytest.raises(e.RateLimited) as caught:
        await provider.answer(ask(LLAMA, max_tokens=2))
    assert 25 < (caught.value.retry_after or 0) <= 30


async def test_the_live_list_with_its_prices(sim: Handle, make: Make) -> None:
    provider = make("together")
    listed = {line.name: line for line in await provider.models()}
    assert MIXTRAL not in listed
    assert listed["meta-llama/Llama-4-Scout-17B-16E-Instruct"].notes == "deprecated"
    line = listed["Qwen/Qwen3.5-397B-A17B"]
    assert (line.context_tokens, line.notes) == (262_144, "reasons")
    assert line.rates == {"input": "0.6", "output": "3.6", "cache_read": "0.35"}
    ref = ModelRef("together", line.name)
    assert PriceBook().prices(ref) is None
    store_listed("together", list(listed.values()))
    prices = PriceBook().prices(ref)
    assert prices
    assert str(prices.rates.cache_read) == "0.35"


async def test_a_long_list_comes_page_by_page(sim: Handle, make: Make) -> None:
    page = {"object": "list", "next_cursor": "2", "data": [
        {"name": "a/first", "products": ["PRODUCT_SERVERLESS"], "capabilities": ["CAPABILITY_CHAT"]}
    ]}  # fmt: skip
    sim.fault(status=200, body=page, path="supported-models", times=1)
    names = [line.name for line in await make("together").models()]
    assert names[0] == "MiniMaxAI/MiniMax-M3"
    assert "a/first" in names
    assert len(names) == 6


async def test_whose_key_it_is(sim: Handle, make: Make) -> None:
    line = await make("together").check_key()
    assert line == "Together accepts the key; project Bench, organization Simulated"
    assert [entry["path"] for entry in sim.entries()] == ["/together/v3/whoami"]
    with pytest.raises(e.BadKey):
        await make("together", KEY + "-wrong").check_key()

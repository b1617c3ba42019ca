"""What providers learn: from refusals, from the API itself, once each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Reply
from evalbench.engine.config import registry
from evalbench.providers.wire import provider as wire_provider
from tests.contract.providers.conftest import KEY, Make, pair_of_aws
from tests.contract.providers.test_answers import ASKED, LANES, lane
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask, few_shot


def fates(reply: Reply) -> dict[str, str]:
    return {note.name: note.fate for note in reply.params}


def posts(sim: Handle) -> list[dict[str, Any]]:
    return [entry["body"] for entry in sim.entries() if entry["method"] == "POST"]


async def test_a_refused_parameter_is_learned_once(sim: Handle, make: Make) -> None:
    sim.model("openai", "gpt-4.1", sampling="never")
    provider = make("openai")
    call = ask("openai/gpt-4.1", temperature=0.0, seed=1)
    first = await provider.answer(call)
    assert fates(first) == {"max_tokens": "sent", "temperature": "refused", "seed": "sent"}
    (reason,) = (note.reason for note in first.params if note.name == "temperature")
    assert "temperature" in reason
    assert [("temperature" in body) for body in posts(sim)] == [True, False]
    await provider.answer(call)
    assert len(posts(sim)) == 3
    later = await make("openai").answer(call)
    assert fates(later)["temperature"] == "refused"
    assert len(posts(sim)) == 4


async def test_only_a_refused_value_is_left_out(sim: Handle, make: Make) -> None:
    provider = make("anthropic")
    call = ask("anthropic/claude-haiku-4-5", temperature=1.5)
    assert fates(await provider.answer(call))["temperature"] == "refused"
    milder = ask("anthropic/claude-haiku-4-5", temperature=0.5)
    assert fates(await provider.answer(milder))["temperature"] == "sent"


async def test_several_refusals_take_one_step_each(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "fireworks")
    for name in ("seed", "top_p"):
        sim.fault(
            status=400, match=f'"{name}"', body={
                "error": {"message": f"Extra inputs are not permitted, field: '{name}'"}
            },
        )  # fmt: skip
    reply = await provider.answer(ask(model, seed=1, top_p=0.5, temperature=0))
    assert fates(reply) == {
        "max_tokens": "sent", "seed": "refused", "top_p": "refused", "temperature": "sent",
    }  # fmt: skip
    assert len(posts(sim)) == 3


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "openai-responses", "compatible"])
async def test_a_server_that_always_blames_is_not_asked_forever(
    sim: Handle, make: Make, name: str
) -> None:
    message = "`stop` is not supported. `temperature` is not supported. `effort` is not supported"
    sim.fault(status=400, message=message, path=ASKED.get(name, ""))
    provider, model = lane(make, name)
    call = ask(model, temperature=0.0, stop=("X",), effort="low")
    with pytest.raises(e.CallRejected):
        await provider.answer(call)
    assert len(posts(sim)) <= 4
    with pytest.raises(e.CallRejected):
        await provider.answer(call)
    assert len(posts(sim)) <= 5


async def test_a_refusal_of_something_else_is_not_sent_again(sim: Handle, make: Make) -> None:
    sim.fault(status=400, message="messages: text content blocks must be non-empty")
    with pytest.raises(e.CallRejected):
        await make("compatible").answer(ask("compatible/any-model", temperature=0.0, stop=("X",)))
    assert len(posts(sim)) == 1


async def test_ollama_calls_the_effort_thinking(sim: Handle, make: Make) -> None:
    words = '"llama3.2:3b" does not support thinking'
    sim.fault(status=400, match="reasoning_effort", message=words)
    reply = await make("ollama").answer(ask("ollama/llama3.2:3b", effort="low"))
    assert fates(reply)["effort"] == "refused"
    assert len(posts(sim)) == 2


async def test_the_other_name_of_the_cap_is_learned(sim: Handle, make: Make) -> None:
    sim.fault(
        status=400, match='"max_tokens"', message="Unsupported parameter: 'max_tokens' is not "
        "supported with this model. Use 'max_completion_tokens' instead.",
    )  # fmt: skip
    provider = make("compatible")
    reply = await provider.answer(ask("compatible/any-model", max_tokens=9))
    assert fates(reply) == {"max_tokens": "sent"}
    assert [body.get("max_completion_tokens") for body in posts(sim)] == [None, 9]
    await provider.answer(ask("compatible/any-model", max_tokens=9))
    assert len(posts(sim)) == 3


async def test_an_older_gateway_gets_the_older_name(sim: Handle, make: Make) -> None:
    sim.fault(
        status=400, match='"max_completion_tokens"',
        message="Unrecognized request argument supplied: max_completion_tokens",
    )  # fmt: skip
    reply = await make("openai").answer(ask("openai/gpt-4.1", max_tokens=9))
    assert fates(reply) == {"max_tokens": "sent"}
    assert posts(sim)[-1]["max_tokens"] == 9


async def test_no_call_goes_out_without_a_cap(sim: Handle, make: Make) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        sim.fault(status=400, match=f'"{name}"', message=f"'{name}' is not supported")
    with pytest.raises(e.CallRejected, match="every way to cap"):
        await make("compatible").answer(ask("compatible/any-model", max_tokens=9))


async def test_many_calls_at_once_learn_together(sim: Handle, make: Make) -> None:
    sim.model("openai", "gpt-4.1", sampling="never")
    provider = make("openai")
    calls = [ask("openai/gpt-4.1", temperature=0.0, seed=n) for n in range(40)]
    replies = await asyncio.gather(*(provider.answer(call) for call in calls))
    assert {fates(reply)["temperature"] for reply in replies} == {"refused"}


async def test_the_api_is_asked_once_what_a_claude_takes(sim: Handle, make: Make) -> None:
    sim.model("anthropic", "claude-novella-9", like="claude-opus-4-6")
    provider = make("anthropic")
    calls = [ask("anthropic/claude-novella-9", effort="low", seed=n) for n in range(20)]
    await asyncio.gather(*(provider.answer(call) for call in calls))
    assert all(body["thinking"] == {"type": "adaptive"} for body in posts(sim))
    asked = [entry["path"] for entry in sim.entries() if entry["method"] == "GET"]
    assert asked == ["/anthropic/v1/models/claude-novella-9"]
    await make("anthropic").answer(ask("anthropic/claude-novella-9", effort="low"))
    assert len([entry for entry in sim.entries() if entry["method"] == "GET"]) == 1


@pytest.mark.parametrize("fault", ["status", "reset_before_headers", "malformed_json", "hang"])
async def test_an_api_that_says_nothing_of_its_models_stops_nothing(
    sim: Handle, make: Make, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_provider, "_ASIDE_S", 0.5)
    sim.fault(fault, path="/models/")
    reply = await make("anthropic").answer(ask("anthropic/claude-opus-5-5", max_tokens=3000))
    assert reply.text


@pytest.mark.share(2)
@pytest.mark.parametrize("name", LANES)
async def test_key_check(sim: Handle, make: Make, name: str) -> None:
    provider, _ = lane(make, name)
    line = await provider.check_key()
    assert provider.title in line
    assert "\n" not in line
    assert sim.summary()["billed_requests"] == 0


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "groq", "openrouter", "xai"])
async def test_key_check_of_a_wrong_key(sim: Handle, make: Make, name: str) -> None:
    provider_name, _, settings = LANES[name]
    with pytest.raises(e.BadKey):
        await make(provider_name, "sk-wrong-0123456789", **settings).check_key()


async def test_openrouter_says_what_the_key_may_still_spend(sim: Handle, make: Make) -> None:
    assert "$9.00" in await make("openrouter").check_key()


@pytest.mark.share(2)
@pytest.mark.parametrize("name", LANES)
async def test_model_lists(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    listed = {line.name: line for line in await provider.models()}
    line = listed[model.partition("/")[2]]
    if name in (*ASKED, "openai-chat", "groq", "openrouter", "vllm"):
        assert line.context_tokens


async def test_retirement_dates_are_shown(sim: Handle, make: Make) -> None:
    listed = {line.name: line for line in await make("anthropic").models()}
    assert listed["claude-sonnet-4-5"].retires == "2026-11-30"
    assert listed["claude-sonnet-4-5"].notes == "deprecated"
    listed = {line.name: line for line in await make("openai").models()}
    assert listed["gpt-5-mini"].retires == "2026-12-11"


async def test_a_fine_tuned_model_is_listed_whatever_it_is_called(sim: Handle, make: Make) -> None:
    mine = ("ft:gpt-4o-mini:my-org:image-tags:abc", "ft:gpt-4o-mini-tts:my-org::def")
    for name in mine:
        sim.model("openai", name, like="gpt-4o")
    listed = {line.name for line in await make("openai").models()}
    assert listed.intersection(mine) == {mine[0]}


async def test_a_list_from_before_when_nobody_answers(
    sim: Handle, make: Make, free_port: int
) -> None:
    provider = make("groq")
    live = await provider.models()
    sim.fault("reset_before_headers")
    copy = await make("groq").models()
    assert [line.name for line in copy] == [line.name for line in live]
    assert "could not be reached" in copy[0].notes
    with pytest.raises(e.ConnectionFailed):
        await make("groq", base_url=f"http://127.0.0.1:{free_port}").models()


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "openrouter", "compatible"])
async def test_a_silent_server_is_not_waited_for_long(
    sim: Handle, make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_provider, "_LISTED_S", 0.2)
    sim.latency(base=3600)
    provider, _ = lane(make, name)
    await provider.clients.get()
    for question in (provider.models, provider.check_key):
        with pytest.raises(e.DeadlineExceeded, match=r"said nothing about .* within 0\.2 s"):
            await question()


async def test_long_lists_come_page_by_page(sim: Handle, make: Make) -> None:
    page = {"data": [{"id": "a"}], "has_more": True, "last_id": "claude-fable-5-2"}
    sim.fault(status=200, body=page, path="/v1/models", times=1)
    names = [line.name for line in await make("anthropic").models()]
    assert names[0] == "a"
    assert "claude-haiku-5-5" in names
    assert "claude-fable-5-2" not in names


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "compatible"])
def test_a_provider_survives_a_change_of_event_loop(sim: Handle, name: str) -> None:
    provider_name, model, settings = LANES[name]
    api = "custom" if provider_name == "compatible" else provider_name
    made: Any = registry.provider_class(provider_name)
    key = pair_of_aws(KEY) if name == "bedrock" else KEY
    provider = made({"base_url": sim.base_url(api), **settings}, key)
    for _ in range(2):
        reply = asyncio.run(provider.answer(ask(f"{provider_name}/{model}", max_tokens=2000)))
        assert reply.text
    asyncio.run(provider.close())


@pytest.mark.share(3)
@pytest.mark.parametrize("name", [*ASKED, "openai-chat", "compatible"])
async def test_nothing_queues_inside_the_client(
    sim: Handle, make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire_provider, "_ASIDE_S", 0.1)
    sim.latency(base=3600)
    sim.fault(status=404, path="/models/")
    provider, model = lane(make, name)
    calls = [asyncio.create_task(provider.answer(ask(model, seed=n))) for n in range(300)]
    await asyncio.to_thread(sim.wait, 60.0, in_flight=300)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


async def test_a_cancelled_call_takes_nothing_from_the_others(sim: Handle, make: Make) -> None:
    provider = make("openai")
    first = asyncio.create_task(provider.answer(ask("openai/gpt-4.1", seed=1)))
    second = asyncio.create_task(provider.answer(ask("openai/gpt-4.1", seed=2)))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).text
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_gateway_that_knows_no_cache_key_is_asked_without(sim: Handle, make: Make) -> None:
    message = "Unrecognized request argument supplied: prompt_cache_key"
    sim.fault(status=400, match='"prompt_cache_key"', body={"error": {"message": message}})
    provider = make("openai")
    for _ in range(2):
        reply = await provider.answer(few_shot("openai/gpt-4.1", max_tokens=64))
        assert fates(reply) == {"max_tokens": "sent"}
    assert ["prompt_cache_key" in body for body in posts(sim)] == [True, False, False]

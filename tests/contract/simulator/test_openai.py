"""The OpenAI SDK, parsing strictly, against the simulator."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio

from tests.contract.simulator.clients import openai_client
from tests.contract.simulator.images import data_uri
from tests.simulator.handle import Handle

KEY = "sk-proj-planted"


@pytest_asyncio.fixture
async def client(sim: Handle) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai_client(sim, KEY) as made:
        yield made


async def chat(client: openai.AsyncOpenAI, **fields: Any) -> Any:
    body: dict[str, Any] = {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "What is asked?"}],
        **fields,
    }
    return await client.chat.completions.create(**body)


async def respond(client: openai.AsyncOpenAI, **fields: Any) -> Any:
    body: dict[str, Any] = {"model": "gpt-6-astra", "input": "What is asked?", **fields}
    return await client.responses.create(**body)


async def test_chat(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("What is asked", text="Forty-two.")
    completion = await chat(client)
    (choice,) = completion.choices
    assert choice.message.content == "Forty-two."
    assert choice.message.refusal is None
    assert choice.finish_reason == "stop"
    assert completion.model == "gpt-4.1-2025-04-14"
    assert completion.service_tier == "default"
    # 14 and 10 characters at 4 a token, and 3 for the turn.
    assert completion.usage.prompt_tokens == 7
    assert completion.usage.completion_tokens == 3
    assert completion.usage.total_tokens == 10
    # gpt-4.1 costs 2 and 8 dollars a million.
    assert sim.entries()[0]["bill"]["nanodollars"] == 7 * 2000 + 3 * 8000


async def test_headers(client: openai.AsyncOpenAI) -> None:
    raw = await client.chat.completions.with_raw_response.create(
        model="gpt-4o", messages=[{"role": "user", "content": "Hi"}]
    )
    assert raw.headers["x-request-id"].startswith("req_")
    assert raw.headers["openai-processing-ms"].isdigit()
    for kind in ("requests", "tokens"):
        assert int(raw.headers[f"x-ratelimit-remaining-{kind}"]) > 0
        assert raw.headers[f"x-ratelimit-reset-{kind}"] == "0ms"


async def test_several_choices_differ(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.brain(verbosity=8)
    completion = await chat(client, n=5)
    assert [choice.index for choice in completion.choices] == list(range(5))
    assert len({choice.message.content for choice in completion.choices}) > 1
    assert completion.usage.completion_tokens > 20


async def test_truncation_and_stop(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("asked", text="one END two three four")
    completion = await chat(client, max_tokens=2)
    assert completion.choices[0].finish_reason == "length"
    assert completion.choices[0].message.content == "one END "
    completion = await chat(client, stop=["END"])
    assert completion.choices[0].finish_reason == "stop"
    assert completion.choices[0].message.content == "one "


async def test_refusal_and_filter(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    sim.rule("gore", kind="filtered")
    message = (await chat(client, messages=[{"role": "user", "content": "bomb"}])).choices[0]
    assert message.message.refusal == "No."
    assert message.message.content is None
    choice = (await chat(client, messages=[{"role": "user", "content": "gore"}])).choices[0]
    assert choice.finish_reason == "content_filter"


async def test_logprobs(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("asked", text="B")
    completion = await chat(client, logprobs=True, top_logprobs=5)
    (token,) = completion.choices[0].logprobs.content
    assert token.token == "B"
    assert token.top_logprobs[0].token == "B"
    assert {alternative.token for alternative in token.top_logprobs} > {"A", "C", "D"}
    values = [alternative.logprob for alternative in token.top_logprobs]
    assert values == sorted(values, reverse=True)
    assert sum(math.exp(value) for value in values) < 1.5
    assert len(values) == 5


async def test_reasoning_on_chat(client: openai.AsyncOpenAI) -> None:
    completion = await chat(client, model="gpt-5", max_completion_tokens=2000)
    details = completion.usage.completion_tokens_details
    assert 0 < details.reasoning_tokens < completion.usage.completion_tokens
    spent = await chat(client, model="gpt-5", max_completion_tokens=10)
    assert spent.choices[0].finish_reason == "length"
    assert spent.choices[0].message.content == ""
    assert spent.usage.completion_tokens == 10


async def test_structured_output(client: openai.AsyncOpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"enum": ["yes", "no"]}, "why": {"type": "string"}},
    }
    named = {"name": "verdict", "schema": schema}
    wanted = {"type": "json_schema", "json_schema": named}
    text = (await chat(client, response_format=wanted)).choices[0].message.content
    assert json.loads(text)["verdict"] in ("yes", "no")
    text = (await respond(client, text={"format": {"type": "json_schema", **named}})).output_text
    assert json.loads(text)["verdict"] in ("yes", "no")


async def test_implicit_cache(sim: Handle, client: openai.AsyncOpenAI) -> None:
    rules = {"role": "system", "content": "rules " * 1000}

    async def usage(question: str, **fields: Any) -> Any:
        turns = [rules, {"role": "user", "content": question}]
        return (await chat(client, messages=turns, **fields)).usage

    assert (await usage("one?")).prompt_tokens_details.cached_tokens == 0
    second = await usage("another?")
    # 6,000 characters are 1,500 tokens: the prefixes are 1,024, 1,152, 1,280, 1,408.
    assert second.prompt_tokens_details.cached_tokens == 1408
    entry = sim.entries()[1]["bill"]
    fresh = entry["input_tokens"] - 1408
    assert entry["nanodollars"] == fresh * 2000 + 1408 * 500 + entry["output_tokens"] * 8000
    assert (await usage("one?", prompt_cache_key="k")).prompt_tokens_details.cached_tokens == 0
    newer = await usage("one?", model="gpt-6.1-terra")
    assert newer.prompt_tokens_details.cache_write_tokens == 1408


async def test_calls_side_by_side_do_not_share_a_cache(
    sim: Handle, client: openai.AsyncOpenAI
) -> None:
    sim.latency(0.2)
    rules = {"role": "system", "content": "rules " * 1000}
    both = await asyncio.gather(
        *(chat(client, messages=[rules, {"role": "user", "content": q}]) for q in ("a", "b"))
    )
    assert [reply.usage.prompt_tokens_details.cached_tokens for reply in both] == [0, 0]


async def test_flex_costs_half(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("asked", text="ok")
    plain = await chat(client, model="gpt-5.4")
    flex = await chat(client, model="gpt-5.4", service_tier="flex")
    assert (plain.service_tier, flex.service_tier) == ("default", "flex")
    whole, half = (entry["bill"]["nanodollars"] for entry in sim.entries())
    assert half * 2 == whole


BAD_CHAT: dict[str, tuple[dict[str, Any], str | None, str | None]] = {
    "unknown field": ({"extra_body": {"top_k": 5}}, None, None),
    "no messages": ({"messages": []}, "messages", "empty_array"),
    "bad role": (
        {"messages": [{"role": "bot", "content": "x"}]},
        "messages[0].role",
        "invalid_value",
    ),
    "null content": (
        {"messages": [{"role": "user", "content": None}]},
        "messages[0].content",
        None,
    ),
    "max_tokens on a reasoning model": (
        {"model": "gpt-5-mini", "max_tokens": 5},
        "max_tokens",
        "unsupported_parameter",
    ),
    "max_tokens on an o model": (
        {"model": "o3", "max_tokens": 5},
        "max_tokens",
        "unsupported_parameter",
    ),
    "both caps": (
        {"max_tokens": 5, "max_completion_tokens": 5},
        None,
        "invalid_parameter_combination",
    ),
    "cap of zero": ({"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
    "cap too high": ({"max_tokens": 99_999}, "max_tokens", "invalid_value"),
    "temperature on gpt-5": (
        {"model": "gpt-5", "temperature": 0},
        "temperature",
        "unsupported_value",
    ),
    "temperature on o3": (
        {"model": "o3", "temperature": 0},
        "temperature",
        "unsupported_parameter",
    ),
    "temperature while reasoning": (
        {"model": "gpt-6-luna", "temperature": 0},
        "temperature",
        "unsupported_parameter",
    ),
    "temperature too high": (
        {"temperature": 3},
        "temperature",
        "decimal_above_max_value",
    ),
    "effort on a plain model": ({"reasoning_effort": "low"}, None, None),
    "effort none on astra": (
        {"model": "gpt-6-astra", "reasoning_effort": "none"},
        "reasoning_effort",
        "unsupported_value",
    ),
    "effort max on gpt-5": (
        {"model": "gpt-5", "reasoning_effort": "max"},
        "reasoning_effort",
        "unsupported_value",
    ),
    "effort unheard of": (
        {"model": "gpt-5", "reasoning_effort": "huge"},
        "reasoning_effort",
        "invalid_value",
    ),
    "stop on a reasoning model": (
        {"model": "gpt-5", "stop": ["x"]},
        "stop",
        "unsupported_parameter",
    ),
    "five stops": ({"stop": list("abcde")}, "stop", "array_above_max_length"),
    "logprobs on a reasoning model": (
        {"model": "gpt-5", "logprobs": True},
        "logprobs",
        "unsupported_parameter",
    ),
    "logprobs as a number": ({"logprobs": 5}, "logprobs", "invalid_type"),
    "top_logprobs alone": ({"top_logprobs": 5}, "top_logprobs", None),
    "too many top_logprobs": (
        {"logprobs": True, "top_logprobs": 21},
        "top_logprobs",
        "integer_above_max_value",
    ),
    "tier": ({"service_tier": "turbo"}, "service_tier", "invalid_value"),
}


@pytest.mark.parametrize("name", BAD_CHAT)
async def test_bad_chat(client: openai.AsyncOpenAI, name: str) -> None:
    fields, param, code = BAD_CHAT[name]
    with pytest.raises(openai.BadRequestError) as caught:
        await chat(client, **fields)
    assert (caught.value.param, caught.value.code) == (param, code)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id


async def test_sampling_without_effort(client: openai.AsyncOpenAI) -> None:
    for model in ("gpt-5.1", "gpt-5.4"):
        await chat(client, model=model, temperature=0)
    await chat(client, model="gpt-6-luna", reasoning_effort="none", temperature=0, logprobs=True)
    await chat(client, model="gpt-5", temperature=1)


IMAGES: dict[str, tuple[str, str]] = {
    "bmp": (data_uri(8, 8, "image/bmp"), "invalid_image_format"),
    "text": ("data:image/png;base64,aGVsbG8=", "invalid_image_format"),
    "no base64": ("data:image/png;base64,???", "invalid_base64_image"),
    "no address": ("picture.png", "invalid_value"),
}


@pytest.mark.parametrize("name", IMAGES)
async def test_bad_images(client: openai.AsyncOpenAI, name: str) -> None:
    url, code = IMAGES[name]
    content = [{"type": "image_url", "image_url": {"url": url}}]
    with pytest.raises(openai.BadRequestError) as caught:
        await chat(client, messages=[{"role": "user", "content": content}])
    assert caught.value.code == code
    part = {"type": "input_image", "image_url": url, "detail": "auto"}
    with pytest.raises(openai.BadRequestError) as caught:
        await respond(client, input=[{"role": "user", "content": [part]}])
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("model", "size", "detail", "expected"),
    [
        ("gpt-4o", (1024, 1024), "high", 85 + 4 * 170),
        ("gpt-4o", (1024, 1024), "low", 85),
        ("gpt-4o", (2048, 4096), "high", 85 + 6 * 170),
        ("gpt-5", (512, 512), "auto", 70 + 140),
        ("gpt-4.1-mini", (1024, 1024), "auto", int(1024 * 1.62)),
        ("gpt-5.4", (4000, 4000), "auto", 1536),
        ("gpt-5.4", (3200, 3200), "original", 10_000),
    ],
)
async def test_image_tokens(
    client: openai.AsyncOpenAI, model: str, size: tuple[int, int], detail: str, expected: int
) -> None:
    content = [{"type": "image_url", "image_url": {"url": data_uri(*size), "detail": detail}}]
    completion = await chat(client, model=model, messages=[{"role": "user", "content": content}])
    assert completion.usage.prompt_tokens_details.image_tokens == expected


async def test_responses(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("asked", text="Forty-two.")
    response = await respond(
        client, reasoning={"effort": "low", "summary": "auto"}, max_output_tokens=900, store=False
    )
    reasoning, message = response.output
    assert reasoning.type == "reasoning"
    assert reasoning.summary[0].text
    assert message.content[0].text == response.output_text == "Forty-two."
    assert response.status == "completed"
    assert response.usage.output_tokens_details.reasoning_tokens == (
        response.usage.output_tokens - 3
    )
    assert response.reasoning.effort == "low"
    # gpt-6-astra costs 10 and 50 dollars a million.
    usage = response.usage
    assert sim.entries()[0]["bill"]["nanodollars"] == (
        usage.input_tokens * 10_000 + usage.output_tokens * 50_000
    )


async def test_responses_with_items(client: openai.AsyncOpenAI) -> None:
    parts = [
        {"type": "input_text", "text": "A. cat\nB. dog\nAnswer:"},
        {"type": "input_image", "image_url": data_uri(64, 64), "detail": "auto"},
    ]
    turns = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": parts},
    ]
    response = await respond(client, input=turns, instructions="One letter.")
    assert response.output_text in ("A", "B")
    assert response.instructions == "One letter."


async def test_incomplete_response(client: openai.AsyncOpenAI) -> None:
    response = await respond(client, max_output_tokens=16)
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.output_text == ""
    assert response.usage.output_tokens == 16


async def test_refused_and_filtered_responses(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    sim.rule("gore", kind="filtered")
    refused = await respond(client, input="bomb")
    assert refused.output[-1].content[0].refusal == "No."
    filtered = await respond(client, input="gore")
    assert filtered.status == "incomplete"
    assert filtered.incomplete_details.reason == "content_filter"


async def test_failed_response_inside_200(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.rule("doomed", kind="failed", text="It broke.")
    failed = await respond(client, input="doomed")
    assert failed.status == "failed"
    assert failed.error.code == "server_error"
    assert failed.error.message == "It broke."
    sim.fault("error_in_200", code="rate_limit_exceeded", path="/responses")
    scripted = await respond(client)
    assert scripted.error.code == "rate_limit_exceeded"
    assert sim.summary()["statuses"] == {"200": 2}
    assert sim.summary()["dollars"] == 0


async def test_response_logprobs(client: openai.AsyncOpenAI) -> None:
    response = await respond(
        client,
        model="gpt-4.1",
        include=["message.output_text.logprobs"],
        top_logprobs=3,
    )
    tokens = response.output[0].content[0].logprobs
    assert "".join(token.token for token in tokens) == response.output_text
    assert all(len(token.top_logprobs) == 3 for token in tokens)


BAD_RESPONSES: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "seed": ({"extra_body": {"seed": 1}}, "seed", "unknown_parameter"),
    "chat's cap": ({"extra_body": {"max_tokens": 9}}, "max_tokens", "unknown_parameter"),
    "cap too low": ({"max_output_tokens": 5}, "max_output_tokens", "integer_below_min_value"),
    "temperature": ({"temperature": 0}, "temperature", "unsupported_parameter"),
    "effort": ({"reasoning": {"effort": "none"}}, "reasoning.effort", "unsupported_value"),
    "effort on a plain model": (
        {"model": "gpt-4.1", "reasoning": {"effort": "low"}},
        "reasoning.effort",
        "unsupported_parameter",
    ),
    "no input": ({"input": []}, "input", "missing_required_parameter"),
    "role": (
        {"input": [{"role": "tool", "content": "x"}]},
        "input[0].role",
        "invalid_value",
    ),
    "part": (
        {"input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        "input[0].content[0]",
        "invalid_value",
    ),
    "image without detail": (
        {
            "input": [
                {
                    "role": "user",
                    "content": [{"type": "input_image", "image_url": data_uri(8, 8)}],
                }
            ]
        },
        "input[0].content[0].detail",
        "missing_required_parameter",
    ),
    "logprobs": ({"top_logprobs": 3}, "top_logprobs", "unsupported_parameter"),
    "unknown model": ({"model": "gpt-unheard"}, "model", "model_not_found"),
}


@pytest.mark.parametrize("name", BAD_RESPONSES)
async def test_bad_responses(client: openai.AsyncOpenAI, name: str) -> None:
    fields, param, code = BAD_RESPONSES[name]
    with pytest.raises(openai.BadRequestError) as caught:
        await respond(client, **fields)
    assert (caught.value.param, caught.value.code) == (param, code)


async def test_context_too_long(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.model("openai", "tiny", like="gpt-4.1", context=50)
    long_text = "x" * 1000
    with pytest.raises(openai.BadRequestError) as caught:
        await chat(client, model="tiny", messages=[{"role": "user", "content": long_text}])
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 50 tokens" in caught.value.message
    with pytest.raises(openai.BadRequestError) as caught:
        await respond(client, model="tiny", input=long_text)
    assert caught.value.code == "context_length_exceeded"


async def test_dated_names_are_the_same_model(client: openai.AsyncOpenAI) -> None:
    assert (await chat(client, model="gpt-4o-2024-08-06")).model.startswith("gpt-4o-")


async def test_model_list(client: openai.AsyncOpenAI) -> None:
    models = {model.id: model for model in (await client.models.list()).data}
    assert models["gpt-5-mini"].shutdown_date == "2026-12-11"
    assert models["gpt-6-astra"].shutdown_date is None
    assert "o1-preview" not in models
    assert (await client.models.retrieve("gpt-4.1")).id == "gpt-4.1"
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-unheard-of")

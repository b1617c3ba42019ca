"""The Together SDK, parsing strictly, against the simulator; and the simulator's moving rate."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import together

from tests.contract.simulator.clients import together_client
from tests.contract.simulator.images import data_uri
from tests.simulator.handle import Handle
from tests.simulator.model_tables import TOGETHER

KEY = "tgp_v1_planted"
MODEL = "meta-llama/Llama-3.3-70B-Instruct-Turbo"
OSS = "openai/gpt-oss-120b"
SEES = "Qwen/Qwen3.5-9B"
USABLE = [model for model in TOGETHER if model.serverless]


@pytest_asyncio.fixture
async def client(sim: Handle) -> AsyncIterator[together.AsyncTogether]:
    async with together_client(sim, KEY) as made:
        yield made


async def chat(client: together.AsyncTogether, **fields: Any) -> Any:
    body: dict[str, Any] = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "What is asked?"}],
        **fields,
    }
    return await client.chat.completions.create(**body)


@pytest.mark.parametrize("model", [model.id for model in USABLE])
async def test_every_model_answers(client: together.AsyncTogether, model: str) -> None:
    completion = await chat(client, model=model, max_tokens=4000)
    (choice,) = completion.choices
    assert choice.message.content
    assert choice.finish_reason == "eos"
    assert completion.model == model
    assert completion.usage.total_tokens == (
        completion.usage.prompt_tokens + completion.usage.completion_tokens
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"logprobs": 0},
        {"logprobs": 5, "max_tokens": 30},
        {"max_tokens": 1},
        {"model": OSS, "reasoning_effort": "high", "max_tokens": 20},
        {"model": SEES, "reasoning": {"enabled": False}},
        {"reasoning_effort": "low"},
        {"stop": ["a"], "seed": 4, "temperature": 0, "top_p": 0.5, "n": 3},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema", "json_schema": {
            "name": "x", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}},
        {"context_length_exceeded_behavior": "truncate", "max_tokens": 10_000_000},
        {"model": SEES, "messages": [{"role": "user", "content": [
            {"type": "text", "text": "See?"},
            {"type": "image_url", "image_url": {"url": data_uri(8, 8)}},
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]}]},
    ],
)  # fmt: skip
async def test_every_kind_of_reply_is_parsed_strictly(
    client: together.AsyncTogether, fields: dict[str, Any]
) -> None:
    completion = await chat(client, **fields)
    assert len(completion.choices) == fields.get("n", 1)
    assert completion.usage.prompt_tokens > 0


async def test_counts_that_the_sdk_does_not_know(client: together.AsyncTogether) -> None:
    completion = await chat(client, model=OSS, max_tokens=4000)
    assert completion.usage.model_extra["reasoning_tokens"] > 0
    assert completion.usage.model_extra["cached_tokens"] == 0
    assert completion.choices[0].message.reasoning


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logprobs": True}, "logprobs"),
        ({"logprobs": 21}, "logprobs"),
        ({"model": OSS, "reasoning_effort": "xhigh"}, "reasoning_effort"),
        ({"model": SEES, "reasoning": {"effort": "low"}}, "reasoning"),
        ({"model": SEES, "reasoning": {"enabled": "no"}}, "reasoning"),
        ({"model": OSS, "reasoning": {"enabled": False}}, "reasoning"),
        ({"context_length_exceeded_behavior": "cut"}, "context_length_exceeded_behavior"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1_000_000}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"seed": "1"}, "seed"),
        ({"stop": "a"}, "stop"),
        ({"response_format": {"type": "yaml"}}, "response_format"),
        ({"extra_body": {"top_logprobs": 3}}, "top_logprobs"),
        ({"extra_body": {"max_completion_tokens": 3}}, "max_completion_tokens"),
        ({"extra_body": {"stream_options": {}}}, "stream_options"),
        ({"messages": [{"role": "developer", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]}]},
         "messages[0].content"),
        ({"model": SEES, "messages": [{"role": "user", "content": [
            {"type": "video_url", "video_url": {"url": "data:image/png;base64,AAAA"}}]}]},
         "messages[0].content"),
    ],
)  # fmt: skip
async def test_mistakes_are_refused(
    client: together.AsyncTogether, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(together.BadRequestError) as caught:
        await chat(client, **fields)
    body: Any = caught.value.body
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["param"] == param
    assert body["id"]


async def test_a_version_in_the_base_url_leads_nowhere(sim: Handle) -> None:
    async with together.AsyncTogether(
        api_key=KEY, base_url=sim.base_url("together") + "/v1", max_retries=0
    ) as wrong:
        with pytest.raises(together.NotFoundError):
            await chat(wrong)


async def test_models_that_cannot_be_called(client: together.AsyncTogether) -> None:
    with pytest.raises(together.BadRequestError, match="non-serverless"):
        await chat(client, model="mistralai/Mixtral-8x22B-Instruct-v0.1")
    with pytest.raises(together.NotFoundError, match="Unable to access model"):
        await chat(client, model="nobody/nothing")


async def test_the_catalogue(client: together.AsyncTogether) -> None:
    everything = [model async for model in client.models.list_supported(limit=3)]
    assert {model.id for model in everything} == {model.id for model in TOGETHER}
    serverless = [m async for m in client.models.list_supported(product="PRODUCT_SERVERLESS")]
    assert {model.serverless_endpoint for model in serverless} == {m.id for m in USABLE}
    seeing = [m async for m in client.models.list_supported(modality="MODALITY_VIDEO")]
    assert [model.id for model in seeing] == [SEES]
    [found] = [m async for m in client.models.list_supported(search="llama-3.3")]
    assert found.name == "meta-llama/Llama-3.3-70B-Instruct"
    assert found.serverless_endpoint == MODEL
    assert found.pricing
    assert found.pricing.input == 0.88
    assert found.context_length == "131072"


async def test_headers(client: together.AsyncTogether) -> None:
    raw = await client.chat.completions.with_raw_response.create(
        model=MODEL, messages=[{"role": "user", "content": "Hi"}]
    )
    for name in ("x-ratelimit-limit", "x-ratelimit-remaining", "x-tokenlimit-remaining"):
        assert int(raw.headers[name]) > 0
    assert float(raw.headers["x-ratelimit-reset"]) < 1
    assert "retry-after" not in raw.headers


# -- the moving rate ---------------------------------------------------------------------


def post(sim: Handle, number: int) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers and body of one question."""
    body = {
        "model": MODEL,
        "max_tokens": 5,
        "messages": [{"role": "user", "content": f"Hi {number}"}],
    }
    request = urllib.request.Request(
        sim.base_url("together") + "/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"authorization": f"Bearer {KEY}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, dict(reply.headers), json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        return problem.code, dict(problem.headers), json.loads(problem.read())


def test_a_burst_above_the_rate_is_refused_and_raises_nothing(still: Handle) -> None:
    still.limits("together", requests=240)
    for second in range(25):
        answers = [post(still, 100 * second + n) for n in range(10)]
        assert [status for status, _, _ in answers] == [200] * 4 + [429] * 6
        still.advance(1)
    _, headers, body = answers[-1]
    assert body["error"]["type"] == body["error_type"] == "dynamic_request_limited"
    assert headers["x-ratelimit-limit-dynamic"] == headers["x-ratelimit-limit"] == "4"
    assert headers["x-ratelimit-remaining-dynamic"] == "0"
    assert headers["x-ratelimit-reset"] == "0.2500"
    assert "retry-after" not in headers


def test_a_steady_load_raises_the_rate(still: Handle) -> None:
    still.limits("together", requests=240)
    for second in range(31):
        for n in range(3):
            status, headers, _ = post(still, 10 * second + n)
            assert status == 200
        still.advance(1)
    assert headers["x-ratelimit-limit"] == "4"
    assert int(headers["x-ratelimit-limit-dynamic"]) >= 6


def test_tokens_have_a_rate_too(still: Handle) -> None:
    still.limits("together", tokens=600)
    answers = [post(still, n) for n in range(3)]
    assert [status for status, _, _ in answers] == [200, 429, 429]
    assert answers[1][2]["error_type"] == "dynamic_token_limited"


def test_a_busy_platform_is_another_matter(still: Handle) -> None:
    still.limits("together", requests=240)
    still.limits("together:platform", requests=2)
    answers = [post(still, n) for n in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 503]
    assert answers[2][2]["error"]["type"] == "service_unavailable"

"""OpenAI-compatible servers, each with its quirks: by the OpenAI SDK where it can read them."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from typing import Any

import openai
import pytest

from tests.contract.simulator.clients import openai_client
from tests.contract.simulator.images import data_uri
from tests.simulator.handle import Handle
from tests.simulator.model_tables import COMPATIBLE

PLAIN = {
    "groq": "llama-3.3-70b-versatile",
    "openrouter": "openai/gpt-4o-mini",
    "vllm": "Qwen/Qwen2.5-7B-Instruct",
    "ollama": "llama3.2:3b",
    "lmstudio": "qwen2.5-7b-instruct",
    "llamacpp": "gemma-3-4b-it-Q4_K_M.gguf",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-large-latest",
    "xai": "grok-4.20",
    "fireworks": "accounts/fireworks/models/llama-v3p1-8b-instruct",
    "custom": "any-model",
}
HOSTED = ("groq", "openrouter", "deepseek", "mistral", "xai", "fireworks")
KEY = "sk-planted-0123"


async def ask(sim: Handle, api: str, model: str = "", key: str = "sk-planted", **more: Any) -> Any:
    body: dict[str, Any] = {
        "model": model or PLAIN[api],
        "messages": [{"role": "user", "content": "What is asked?"}],
        **more,
    }
    async with openai_client(sim, key, api) as client:
        return await client.chat.completions.create(**body)


def call(
    sim: Handle, path: str, body: Any = None, key: str | None = "sk-planted"
) -> tuple[int, Any]:
    """Status and body of one request, without any SDK."""
    request = urllib.request.Request(
        sim.url + path,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"authorization": f"Bearer {key}"} if key else {},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as problem:
        return problem.code, json.loads(problem.read())


def chat_path(sim: Handle, api: str) -> str:
    return sim.base_url(api).removeprefix(sim.url) + "/chat/completions"


def turns(text: str = "What is asked?", role: str = "user") -> list[dict[str, str]]:
    return [{"role": role, "content": text}]


@pytest.mark.parametrize("api", PLAIN)
async def test_plain_answer(sim: Handle, api: str) -> None:
    sim.rule("What is asked", text="Forty-two.")
    completion = await ask(sim, api, max_tokens=50, temperature=0)
    assert completion.choices[0].message.content == "Forty-two."
    assert completion.choices[0].finish_reason == "stop"
    assert completion.model == PLAIN[api]
    assert completion.usage.prompt_tokens == 7
    assert completion.usage.completion_tokens == 3
    (entry,) = sim.entries()
    assert entry["notes"] == {}


@pytest.mark.parametrize("api", PLAIN)
async def test_truncation(sim: Handle, api: str) -> None:
    sim.rule("asked", text="a" * 100)
    completion = await ask(sim, api, max_tokens=5)
    assert completion.choices[0].finish_reason == "length"
    assert completion.choices[0].message.content == "a" * 20


REASONING = {
    "groq": ("openai/gpt-oss-120b", "reasoning"),
    "openrouter": ("qwen/qwen3-32b", "reasoning"),
    "ollama": ("qwen3:8b", "reasoning"),
    "lmstudio": ("openai/gpt-oss-20b", "reasoning"),
    "deepseek": ("deepseek-reasoner", "reasoning_content"),
    "xai": ("grok-4.6", "reasoning_content"),
    "fireworks": ("accounts/fireworks/models/gpt-oss-120b", "reasoning_content"),
}


@pytest.mark.parametrize("api", REASONING)
async def test_reasoning(sim: Handle, api: str) -> None:
    model, place = REASONING[api]
    completion = await ask(sim, api, model, max_tokens=2000)
    message = completion.choices[0].message
    assert message.model_extra[place]
    assert message.content
    usage = completion.usage
    billed = sim.entries()[0]["bill"]
    # xAI alone leaves reasoning out of the completion's count, but not out of the total.
    apart = billed["reasoning_tokens"] if api == "xai" else 0
    assert usage.completion_tokens == billed["output_tokens"] - apart
    assert usage.total_tokens == billed["input_tokens"] + billed["output_tokens"]


async def test_mistral_reasons_in_pieces(sim: Handle) -> None:
    body = {"model": "magistral-medium-latest", "messages": turns()}
    _, answer = call(sim, chat_path(sim, "mistral"), body)
    thinking, text = answer["choices"][0]["message"]["content"]
    assert thinking["thinking"][0]["text"]
    assert text["type"] == "text"


async def test_effort_is_asked_in_two_ways(sim: Handle) -> None:
    low = await ask(sim, "groq", "openai/gpt-oss-20b", reasoning_effort="low")
    high = await ask(sim, "groq", "openai/gpt-oss-20b", reasoning_effort="high")
    assert low.usage.completion_tokens < high.usage.completion_tokens
    with pytest.raises(openai.BadRequestError):
        await ask(sim, "groq", "openai/gpt-oss-20b", reasoning_effort="max")
    low, high = [
        await ask(sim, "openrouter", "qwen/qwen3-32b", extra_body={"reasoning": {"effort": level}})
        for level in ("low", "high")
    ]
    assert low.usage.completion_tokens < high.usage.completion_tokens


@pytest.mark.parametrize("api", ["vllm", "llamacpp", "openrouter", "deepseek", "fireworks"])
async def test_logprobs(sim: Handle, api: str) -> None:
    completion = await ask(sim, api, logprobs=True, top_logprobs=3)
    tokens = completion.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == completion.choices[0].message.content
    assert {len(token.top_logprobs) for token in tokens} == {3}


async def test_logprobs_refused_or_ignored(sim: Handle) -> None:
    with pytest.raises(openai.BadRequestError, match="`logprobs` is not supported"):
        await ask(sim, "groq", logprobs=True)
    with pytest.raises(openai.UnprocessableEntityError):
        await ask(sim, "mistral", logprobs=True)
    with pytest.raises(openai.BadRequestError, match="does not support the parameter"):
        await ask(sim, "deepseek", "deepseek-reasoner", logprobs=True)
    for api in ("ollama", "lmstudio"):
        assert (await ask(sim, api, logprobs=True)).choices[0].logprobs is None


@pytest.mark.parametrize("api", ["ollama", "lmstudio", "deepseek"])
async def test_newer_cap_is_ignored(sim: Handle, api: str) -> None:
    sim.rule("asked", text="a" * 400)
    completion = await ask(sim, api, max_completion_tokens=5)
    assert completion.usage.completion_tokens == 100
    assert sim.entries()[0]["notes"] == {"ignored": ["max_completion_tokens"]}


async def test_newer_cap_is_refused_or_taken(sim: Handle) -> None:
    sim.rule("asked", text="a" * 400)
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        await ask(sim, "mistral", max_completion_tokens=5)
    detail = caught.value.body["message"]["detail"][0]  # type: ignore[index]
    assert (detail["type"], detail["loc"]) == (
        "extra_forbidden",
        ["body", "max_completion_tokens"],
    )
    for api in ("groq", "xai", "vllm", "llamacpp", "fireworks", "openrouter"):
        completion = await ask(sim, api, max_completion_tokens=5)
        assert completion.usage.completion_tokens == 5


async def test_seed(sim: Handle) -> None:
    with pytest.raises(openai.UnprocessableEntityError):
        await ask(sim, "mistral", seed=1)
    await ask(sim, "mistral", extra_body={"random_seed": 1})
    await ask(sim, "deepseek", seed=1)
    assert sim.entries()[-1]["notes"] == {"ignored": ["seed"]}


async def test_unknown_fields(sim: Handle) -> None:
    odd = {"flavour": "vanilla"}
    with pytest.raises(openai.BadRequestError, match="property 'flavour' is unsupported"):
        await ask(sim, "groq", extra_body=odd)
    with pytest.raises(openai.BadRequestError, match="Extra inputs are not permitted"):
        await ask(sim, "fireworks", extra_body=odd)
    await ask(sim, "vllm", extra_body=odd)
    assert sim.entries()[-1]["notes"] == {"ignored": ["flavour"]}


async def test_developer_role(sim: Handle) -> None:
    developer = [*turns("Be brief.", "developer"), *turns()]
    for api in ("groq", "openrouter", "vllm", "xai"):
        await ask(sim, api, messages=developer)
    with pytest.raises(openai.UnprocessableEntityError, match="unknown variant `developer`"):
        await ask(sim, "deepseek", messages=developer)
    for api in ("mistral", "lmstudio"):
        with pytest.raises(openai.BadRequestError):
            await ask(sim, api, messages=developer)


async def test_stop_on_a_grok_that_reasons(sim: Handle) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(sim, "xai", "grok-4.6", stop=["x"])
    # Its errors are plain text where the SDK expects an object, so the SDK drops the reason.
    assert "does not support parameter stop" in caught.value.response.text
    assert "stop" not in str(caught.value)
    await ask(sim, "xai", stop=["x"])


@pytest.mark.parametrize("api", PLAIN)
async def test_images(sim: Handle, api: str) -> None:
    seeing = next((model for model in COMPATIBLE[api] if model.images), None)
    blind = next((model for model in COMPATIBLE[api] if not model.images), None)
    part = {"type": "image_url", "image_url": {"url": data_uri(64, 64)}}
    message = [{"role": "user", "content": [part, {"type": "text", "text": "What?"}]}]
    if seeing is not None:
        completion = await ask(sim, api, seeing.id, messages=message, max_tokens=2000)
        assert completion.usage.prompt_tokens > 576
    if blind is not None:
        with pytest.raises(openai.APIStatusError):
            await ask(sim, api, blind.id, messages=message)


async def test_groq_takes_five_images(sim: Handle) -> None:
    part = {"type": "image_url", "image_url": {"url": data_uri(64, 64)}}
    model = "meta-llama/llama-4-scout-17b-16e-instruct"
    await ask(sim, "groq", model, messages=[{"role": "user", "content": [part] * 5}])
    with pytest.raises(openai.BadRequestError, match="Too many images"):
        await ask(sim, "groq", model, messages=[{"role": "user", "content": [part] * 6}])


@pytest.mark.parametrize("api", ["lmstudio", "llamacpp", "custom"])
async def test_any_model_name_will_do(sim: Handle, api: str) -> None:
    completion = await ask(sim, api, "unheard-of")
    assert completion.model == sim_first(api)


def sim_first(api: str) -> str:
    newest = max(COMPATIBLE[api], key=lambda model: model.released)
    return newest.id


@pytest.mark.parametrize("api", ["groq", "openrouter", "vllm", "llamacpp", "mistral", "xai"])
async def test_context_too_long(sim: Handle, api: str) -> None:
    sim.model(api, PLAIN[api], context=50)
    with pytest.raises(openai.BadRequestError) as caught:
        await ask(sim, api, messages=turns("x" * 1000))
    assert any(word in caught.value.response.text for word in ("context", "length", "large"))


async def test_vllm_counts_the_cap(sim: Handle) -> None:
    sim.model("vllm", PLAIN["vllm"], context=100)
    with pytest.raises(openai.BadRequestError, match="107 tokens"):
        await ask(sim, "vllm", max_tokens=100)
    await ask(sim, "vllm", max_tokens=93)


async def test_ollama_cuts_the_prompt_silently(sim: Handle) -> None:
    completion = await ask(sim, "ollama", messages=turns("x" * 40_000))
    assert completion.usage.prompt_tokens == 2050
    assert sim.entries()[0]["notes"] == {"context_truncated_from": 10_003}
    _, loaded = call(sim, "/ollama/api/ps", key=None)
    assert {model["context_length"] for model in loaded["models"]} == {4096}


def test_lm_studio_reports_an_overflow_as_success(sim: Handle) -> None:
    sim.model("lmstudio", PLAIN["lmstudio"], context=50)
    body = {"model": PLAIN["lmstudio"], "messages": turns("x" * 1000)}
    status, answer = call(sim, chat_path(sim, "lmstudio"), body)
    assert status == 200
    assert answer["error"].startswith("Trying to keep the first 253 tokens")


async def test_openrouter_routes_by_parameters(sim: Handle) -> None:
    strict = {"provider": {"require_parameters": True}}
    await ask(sim, "openrouter", temperature=0, extra_body=strict)
    effort = {"reasoning": {"effort": "low"}}
    await ask(sim, "openrouter", extra_body=effort)
    with pytest.raises(openai.NotFoundError, match="No endpoints found"):
        await ask(sim, "openrouter", extra_body=strict | effort)
    await ask(sim, "openrouter", "qwen/qwen3-32b", extra_body=strict | effort)


async def test_openrouter_tells_the_cost(sim: Handle) -> None:
    completion = await ask(sim, "openrouter")
    cost = completion.usage.model_extra["cost"]
    assert cost == pytest.approx(sim.summary()["dollars"])
    assert cost > 0
    assert completion.id.startswith("gen-")


async def test_deepseek_cache_fields(sim: Handle) -> None:
    long_turns = turns("rules " * 1000)
    await ask(sim, "deepseek", messages=long_turns, max_tokens=5)
    usage = (await ask(sim, "deepseek", messages=long_turns, max_tokens=6)).usage
    assert usage.model_extra["prompt_cache_hit_tokens"] == 1408
    assert usage.model_extra["prompt_cache_miss_tokens"] == usage.prompt_tokens - 1408


@pytest.mark.parametrize("api", [api for api in PLAIN if api not in ("openrouter", "mistral")])
async def test_model_list(sim: Handle, api: str) -> None:
    async with openai_client(sim, KEY, api) as client:
        if api in ("lmstudio", "deepseek"):
            # These two leave out the date that OpenAI's own list always has.
            with pytest.raises(openai.APIResponseValidationError):
                await client.models.list()
            return
        listed = (await client.models.list()).data
        assert {model.id for model in listed} == {model.id for model in COMPATIBLE[api]}


LIST_FIELDS = {
    "groq": ("context_window", 131_072),
    "openrouter": ("context_length", 128_000),
    "vllm": ("max_model_len", 32_768),
    "mistral": ("max_context_length", 262_144),
    "fireworks": ("context_length", 131_072),
}


@pytest.mark.parametrize("api", LIST_FIELDS)
def test_model_list_tells_the_context(sim: Handle, api: str) -> None:
    path = sim.base_url(api).removeprefix(sim.url)
    _, answer = call(sim, f"{path}/models")
    name, size = LIST_FIELDS[api]
    entry = next(model for model in answer["data"] if model["id"] == PLAIN[api])
    assert entry[name] == size


def test_openrouter_list_is_public_but_the_key_is_not(sim: Handle) -> None:
    status, answer = call(sim, "/openrouter/api/v1/models", key=None)
    assert status == 200
    mini = next(model for model in answer["data"] if model["id"] == "openai/gpt-4o-mini")
    assert mini["pricing"]["prompt"] == "0.00000015"
    assert "logprobs" in mini["supported_parameters"]
    assert call(sim, "/openrouter/api/v1/key", key=None)[0] == 401
    assert call(sim, "/openrouter/api/v1/key", key="wrong")[0] == 401
    _, answer = call(sim, "/openrouter/api/v1/key")
    assert answer["data"]["limit_remaining"] == 9.0


def test_own_endpoints(sim: Handle) -> None:
    _, tags = call(sim, "/ollama/api/tags", key=None)
    assert "llama3.2:3b" in {model["name"] for model in tags["models"]}
    assert call(sim, "/ollama/api/version", key=None)[1]["version"]
    assert call(sim, "/llamacpp/health", key=None) == (200, {"status": "ok"})
    _, props = call(sim, "/llamacpp/props", key=None)
    assert props["default_generation_settings"]["n_ctx"] == 8192
    body = {"model": "deepseek-chat", "messages": turns()}
    assert call(sim, "/deepseek/v1/chat/completions", body)[0] == 200


@pytest.mark.parametrize("api", ["vllm", "ollama", "lmstudio", "llamacpp"])
async def test_raw_text(sim: Handle, api: str) -> None:
    sim.rule("capital of", text=" Paris")
    async with openai_client(sim, KEY, api) as client:
        completion = await client.completions.create(
            model=PLAIN[api], prompt="The capital of France is", max_tokens=5
        )
    assert completion.choices[0].text == " Paris"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 5


def test_hosted_servers_continue_no_raw_text(sim: Handle) -> None:
    for api in HOSTED:
        path = sim.base_url(api).removeprefix(sim.url) + "/completions"
        assert call(sim, path, {"model": PLAIN[api], "prompt": "x"})[0] == 404


def test_vllm_scores_given_texts(sim: Handle) -> None:
    context = "Q: Which?\nA. cat\nB. dog\nC. cow\nD. elk\nAnswer:"
    sim.brain(gold={"Q: Which?": "C"})

    def tokenize(text: str) -> list[int]:
        body = {"model": PLAIN["vllm"], "prompt": text}
        ids: list[int] = call(sim, "/vllm/tokenize", body)[1]["tokens"]
        return ids

    start = tokenize(context)
    wholes = [tokenize(f"{context} {letter}") for letter in "ABCD"]
    assert all(whole[: len(start)] == start for whole in wholes)
    assert {len(whole) for whole in wholes} == {len(start) + 1}
    # The first token has no log-probability: null, which the SDK's strict parser would refuse.
    body = {"model": PLAIN["vllm"], "prompt": wholes, "max_tokens": 1, "echo": True, "logprobs": 1}
    _, scored = call(sim, "/vllm/v1/completions", body)
    sums = []
    for choice, whole in zip(scored["choices"], wholes, strict=True):
        values = choice["logprobs"]["token_logprobs"]
        assert values[0] is None
        assert len(values) > len(whole)
        sums.append(math.fsum(values[len(start) : len(whole)]))
    assert max(range(4), key=sums.__getitem__) == 2
    status, answer = call(
        sim,
        "/vllm/v1/completions",
        {"model": PLAIN["vllm"], "prompt": [[1, 999_999]], "max_tokens": 1},
    )
    assert status == 400
    assert "vocabulary" in answer["error"]["message"]

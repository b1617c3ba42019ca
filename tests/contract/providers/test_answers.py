"""Every provider answers every kind of call, and says what it did."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.calls import (
    Call,
    MediaPart,
    Message,
    ModelRef,
    Outcome,
    TextPart,
    generate,
    user,
)
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.providers.calls import IMAGE, PNG, ask, few_shot, look, talk

LANES = {
    "anthropic": ("anthropic", "claude-sonnet-5-5", {}),
    "openai-chat": ("openai", "gpt-4.1", {}),
    "openai-responses": ("openai", "gpt-6-luna", {"api": "responses"}),
    "bedrock": ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}),
    "together": ("together", "openai/gpt-oss-120b", {}),
    "google": ("google", "gemini-2.5-flash", {}),
    "groq": ("groq", "llama-3.3-70b-versatile", {}),
    "openrouter": ("openrouter", "meta-llama/llama-3.3-70b-instruct", {}),
    "vllm": ("vllm", "Qwen/Qwen2.5-7B-Instruct", {}),
    "ollama": ("ollama", "llama3.2:3b", {}),
    "lmstudio": ("lmstudio", "qwen2.5-7b-instruct", {}),
    "llamacpp": ("llamacpp", "gemma-3-4b-it-Q4_K_M.gguf", {}),
    "deepseek": ("deepseek", "deepseek-chat", {}),
    "mistral": ("mistral", "mistral-large-latest", {}),
    "xai": ("xai", "grok-4.20", {}),
    "fireworks": ("fireworks", "accounts/fireworks/models/llama-v3p1-8b-instruct", {}),
    "compatible": ("compatible", "any-model", {}),
}
SEEING = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-6-luna",
    "bedrock": "global.anthropic.claude-sonnet-5-5",
    "together": "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "google": "gemini-2.5-flash",
    "groq": "meta-llama/llama-4-scout-17b-16e-instruct",
    "openrouter": "openai/gpt-4o-mini",
    "vllm": "Qwen/Qwen2.5-7B-Instruct",
    "ollama": "llava:7b",
    "llamacpp": "gemma-3-4b-it-Q4_K_M.gguf",
    "mistral": "mistral-large-latest",
    "xai": "grok-4.20",
    "fireworks": "accounts/fireworks/models/qwen2p5-vl-72b-instruct",
    "compatible": "any-model",
}
THINKING = {
    "anthropic": "claude-opus-4-8",
    "openai-chat": "gpt-5-mini",
    "openai-responses": "gpt-6-astra",
    "bedrock": "us.anthropic.claude-opus-4-8",
    "together": "openai/gpt-oss-120b",
    "google": "gemini-3.8-flash",
    "groq": "openai/gpt-oss-120b",
    "openrouter": "qwen/qwen3-32b",
    "ollama": "qwen3:8b",
    "lmstudio": "openai/gpt-oss-20b",
    "deepseek": "deepseek-v4-flash",
    "xai": "grok-4.6",
    "fireworks": "accounts/fireworks/models/gpt-oss-120b",
}
LIMITED = (
    *("anthropic", "openai-chat", "openai-responses", "together"),
    *("groq", "openrouter", "mistral", "xai"),
)
ASKED = {"anthropic": "messages", "together": "chat", "google": "generateContent",
         "bedrock": "converse"}  # fmt: skip
"""Part of the path of a question, where other paths are asked besides."""


def lane(make: Make, name: str, model: str = "") -> tuple[Any, str]:
    provider, own, settings = LANES[name]
    return make(provider, **settings), f"{provider}/{model or own}"


@pytest.mark.parametrize("name", LANES)
async def test_text(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model, max_tokens=2000))
    assert reply.outcome is Outcome.OK
    assert reply.text
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens
    assert reply.provider_model
    assert reply.request_id
    assert reply.latency_s > 0
    named = "modelVersion" if name == "google" else "model"
    # Bedrock tells the model only where a router chose it.
    assert reply.raw.get(named) == (None if name == "bedrock" else reply.provider_model)
    assert [(note.name, note.fate) for note in reply.params] == [("max_tokens", "sent")]
    assert (reply.limits is not None) == (name in LIMITED or name == "fireworks")
    if reply.limits is not None:
        assert reply.limits.requests_remaining is not None


@pytest.mark.parametrize("name", LANES)
async def test_turns_and_system(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    assert (await provider.answer(talk(model, max_tokens=2000))).outcome is Outcome.OK
    body = sim.entries()[-1]["body"]
    turns = body.get("messages") or body.get("contents") or body["input"]
    roles = [turn["role"].replace("model", "assistant") for turn in turns]
    assert roles[-3:] == ["user", "assistant", "user"]
    head = body.get("system") or body.get("systemInstruction")
    assert "Be brief." in str(head or turns[0]["content"])


@pytest.mark.parametrize("name", SEEING)
async def test_image(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name, SEEING[name])
    blind = (await provider.answer(ask(model, max_tokens=2000))).usage.input_tokens
    reply = await provider.answer(look(model, max_tokens=2000))
    assert reply.outcome is Outcome.OK
    assert reply.usage.input_tokens > blind


@pytest.mark.parametrize("name", SEEING)
async def test_white_space_beside_images(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name, SEEING[name])
    turns = [user(["Compare", "\n", IMAGE, "\n", IMAGE, " "])]
    call = Call(ModelRef.parse(model), generate(turns, max_tokens=2000))
    assert (await provider.answer(call)).outcome is Outcome.OK


@pytest.mark.parametrize("name", THINKING)
async def test_reasoning(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name, THINKING[name])
    reply = await provider.answer(ask(model, max_tokens=3000, effort="low"))
    assert reply.outcome is Outcome.OK
    assert reply.text
    assert {note.name: note.fate for note in reply.params}["effort"] == "sent"
    body = sim.entries()[-1]["body"]
    if name not in ("openai-chat", "openai-responses"):
        assert reply.reasoning
    if name not in ("ollama", "lmstudio", "bedrock"):
        assert reply.usage.reasoning_tokens
        assert reply.usage.output_tokens > reply.usage.reasoning_tokens
    assert "low" in str(body).lower()


@pytest.mark.parametrize(
    "name",
    [*ASKED, "openai-chat", "openai-responses", "groq"],
)
async def test_tokens_spent_on_thinking_alone_are_no_answer(
    sim: Handle, make: Make, name: str
) -> None:
    provider, model = lane(make, name, THINKING[name])
    reply = await provider.answer(ask(model, max_tokens=16, effort="high"))
    assert (reply.outcome, reply.text) == (Outcome.TRUNCATED, "")
    assert reply.usage.output_tokens == 16


async def test_thinking_budget(sim: Handle, make: Make) -> None:
    provider = make("anthropic")
    call = ask("anthropic/claude-haiku-4-5", max_tokens=4000, thinking_budget=1024, temperature=0)
    reply = await provider.answer(call)
    assert 0 < reply.usage.reasoning_tokens <= 1024
    fates = {note.name: note.fate for note in reply.params}
    assert fates == {"max_tokens": "sent", "thinking_budget": "sent", "temperature": "dropped"}


async def test_temperature_of_an_old_claude(sim: Handle, make: Make) -> None:
    provider = make("anthropic")
    reply = await provider.answer(ask("anthropic/claude-haiku-4-5", temperature=0.0))
    assert reply.outcome is Outcome.OK
    entry = sim.entries()[-1]
    assert entry["headers"]["anthropic-version"] == "2023-06-01"
    assert entry["body"]["temperature"] == 0.0
    await provider.answer(ask("anthropic/claude-haiku-4-5"))
    assert sim.entries()[-1]["headers"]["anthropic-version"] == "2026-10-21"


@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "openai-responses"])
async def test_refusal(sim: Handle, make: Make, name: str) -> None:
    sim.rule("letter", kind="refusal", text="I would rather not.")
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model, max_tokens=2000))
    assert reply.outcome is Outcome.REFUSED
    assert reply.text == "I would rather not."
    assert reply.usage.input_tokens


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "groq", "compatible"])
async def test_filtered(sim: Handle, make: Make, name: str) -> None:
    sim.rule("letter", kind="filtered")
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model, max_tokens=2000))
    assert (reply.outcome, reply.stop_reason) == (Outcome.FILTERED, "content_filter")


@pytest.mark.parametrize("name", LANES)
async def test_truncation(sim: Handle, make: Make, name: str) -> None:
    sim.rule("letter", text="word " * 200, reasoning_tokens=0)
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model, max_tokens=20))
    assert reply.outcome is Outcome.TRUNCATED
    assert reply.text.startswith("word")
    assert reply.usage.output_tokens == 20


@pytest.mark.parametrize("name", ["openai-chat", "vllm", "llamacpp", "compatible", "deepseek"])
async def test_logprobs_in_chat(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    reply = await provider.answer(ask(model, logprobs=3))
    content = reply.raw["choices"][0]["logprobs"]["content"]
    assert len(content[0]["top_logprobs"]) == 3


async def test_logprobs_in_responses(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "openai-responses")
    reply = await provider.answer(ask(model, logprobs=3, effort="none"))
    (message,) = (item for item in reply.raw["output"] if item["type"] == "message")
    assert len(message["content"][0]["logprobs"][0]["top_logprobs"]) == 3


@pytest.mark.parametrize(
    "name", ["openai-chat", "mistral", "compatible", "xai", "groq", "together"]
)
async def test_sampling_parameters(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    call = ask(model, max_tokens=50, temperature=0.0, top_p=0.9, seed=7, stop=("zzz",))
    reply = await provider.answer(call)
    assert {note.fate for note in reply.params} == {"sent"}
    body = sim.entries()[-1]["body"]
    assert (body["temperature"], body["top_p"], body["stop"]) == (0.0, 0.9, ["zzz"])
    assert body.get("seed", body.get("random_seed")) == 7


@pytest.mark.parametrize(
    "name", ["anthropic", "openai-chat", "google", "groq", "deepseek", "bedrock"]
)
async def test_a_shared_prefix_is_cached(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    first = await provider.answer(few_shot(model, max_tokens=2000))
    again = await provider.answer(few_shot(model, max_tokens=2001))
    assert not first.usage.cache_read_tokens
    assert again.usage.cache_read_tokens > 1000
    assert again.usage.input_tokens == first.usage.input_tokens
    if name in ("anthropic", "bedrock"):
        assert first.usage.cache_write_tokens > 1000
        assert again.usage.cache_write_tokens == 0


async def test_openrouter_keeps_what_a_call_cost(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "openrouter")
    reply = await provider.answer(ask(model))
    assert reply.raw["usage"]["cost"] > 0
    assert sim.entries()[-1]["body"]["provider"] == {"require_parameters": True}


async def test_a_server_without_keys(sim: Handle, make: Make) -> None:
    provider = make("vllm", "")
    reply = await provider.answer(ask("vllm/Qwen/Qwen2.5-7B-Instruct"))
    assert reply.outcome is Outcome.OK
    assert "authorization" not in sim.entries()[-1]["headers"]


@pytest.mark.parametrize("name", ["vllm", "ollama", "lmstudio", "llamacpp"])
async def test_raw_text_is_continued(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    story = Message("context", (TextPart("Once upon a time"),))
    reply = await provider.answer(Call(ModelRef.parse(model), generate([story], max_tokens=9)))
    assert reply.text
    assert sim.entries()[-1]["body"]["prompt"] == "Once upon a time"


async def test_a_large_image_goes_through(sim: Handle, make: Make) -> None:
    image = MediaPart("image/png", PNG + bytes(2_000_000))
    provider = make("compatible")
    call = Call(ModelRef("compatible", "any-model"), generate([user([image, "What is it?"])]))
    assert (await provider.answer(call)).outcome is Outcome.OK

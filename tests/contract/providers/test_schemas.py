"""Answers that follow a JSON schema: in every API's own form, and what becomes of it elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalbench.engine.calls import Call, Message, ModelRef, Outcome, Reply, TextPart, generate
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_answers import LANES, lane
from tests.simulator.handle import Handle

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["yes", "no"]},
        "points": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["verdict", "points"],
    "additionalProperties": False,
}
OPEN: dict[str, Any] = {"type": "object", "properties": {"word": {"type": "string"}}}
TAKING = [name for name in LANES if name != "deepseek"]


def fate(reply: Reply) -> tuple[str, str]:
    [found] = [(note.fate, note.reason) for note in reply.params if note.name == "schema"]
    return found


def asked(model: str, schema: dict[str, Any]) -> Call:
    prompt = generate("Is it so?", max_tokens=2000, schema=schema)
    return Call(ModelRef.parse(model), prompt)


@pytest.mark.parametrize("name", TAKING)
async def test_the_answer_follows_the_schema_and_stays_text(
    sim: Handle, make: Make, name: str
) -> None:
    provider, model = lane(make, name)
    assert provider.capabilities(model.partition("/")[2]).schema
    reply = await provider.answer(asked(model, CLOSED))
    assert reply.outcome is Outcome.OK
    value = json.loads(reply.text)
    assert list(value) == ["verdict", "points"]
    assert value["verdict"] in ("yes", "no")
    assert fate(reply) == ("sent", "")


async def test_each_api_gets_its_own_form(sim: Handle, make: Make) -> None:
    bodies = {}
    for name in ("anthropic", "openai-chat", "openai-responses", "vllm"):
        provider, model = lane(make, name)
        await provider.answer(asked(model, CLOSED))
        bodies[name] = sim.entries()[-1]["body"]
    named = {"name": "answer", "schema": CLOSED, "strict": True}
    chat = {"type": "json_schema", "json_schema": named}
    assert bodies["anthropic"]["output_config"] == {
        "format": {"type": "json_schema", "schema": CLOSED}
    }
    assert bodies["openai-chat"]["response_format"] == chat
    assert bodies["openai-responses"]["text"] == {"format": {"type": "json_schema", **named}}
    assert bodies["vllm"]["response_format"] == chat


async def test_effort_and_schema_share_an_object(sim: Handle, make: Make) -> None:
    prompt = generate("Is it so?", max_tokens=2000, schema=CLOSED, effort="low")
    await make("anthropic").answer(Call(ModelRef.parse("anthropic/claude-opus-4-8"), prompt))
    assert sim.entries()[-1]["body"]["output_config"].keys() == {"effort", "format"}


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "groq", "together"])
async def test_an_open_schema_is_sent_but_not_as_strict(sim: Handle, make: Make, name: str) -> None:
    provider, model = lane(make, name)
    how, reason = fate(await provider.answer(asked(model, OPEN)))
    assert how == "sent"
    assert "not strict" in reason
    assert set(sim.summary()["statuses"]) == {"200"}


async def test_a_schema_that_an_api_refuses_is_learned_once(sim: Handle, make: Make) -> None:
    provider = make("anthropic")
    for _ in range(2):
        how, reason = fate(await provider.answer(asked("anthropic/claude-sonnet-5-5", OPEN)))
        assert how == "refused"
        assert "additionalProperties" in reason
    posts = [entry["status"] for entry in sim.entries() if entry["method"] == "POST"]
    assert posts == [400, 200, 200]
    reply = await provider.answer(asked("anthropic/claude-sonnet-5-5", CLOSED))
    assert fate(reply) == ("sent", "")


async def test_what_takes_no_schema_is_asked_without(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "deepseek")
    assert not provider.capabilities("deepseek-chat").schema
    assert fate(await provider.answer(asked(model, CLOSED))) == (
        "dropped",
        "DeepSeek takes no schema",
    )
    assert "response_format" not in sim.entries()[-1]["body"]
    old = make("openai")
    assert not old.capabilities("gpt-3.5-turbo").schema
    assert old.capabilities("gpt-4o-mini").schema


async def test_raw_text_is_continued_freely(sim: Handle, make: Make) -> None:
    provider, model = lane(make, "vllm")
    raw = (Message("context", (TextPart("Once"),)),)
    prompt = generate(raw, max_tokens=8, schema=CLOSED)
    reply = await provider.answer(Call(ModelRef.parse(model), prompt))
    assert fate(reply)[0] == "dropped"

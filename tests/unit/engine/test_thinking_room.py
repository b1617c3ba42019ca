"""Benchmarks cap answers; models that think first get room for it."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.calls import ModelRef, choose, generate
from evalbench.engine.config.roles import THINKING_ROOM
from evalbench.engine.config.spec import make_spec
from evalbench.engine.execution.ask import bind

MODEL = ModelRef("anthropic", "claude-sonnet-5")


def room(model: str = "anthropic/claude-sonnet-5", **common: Any) -> object:
    spec = make_spec("mmlu", model, options={"family": "chat"}, **common)
    return spec.roles()["candidate"].overrides().get("thinking_room", 0)


def test_a_model_that_thinks_unasked_gets_room() -> None:
    assert room() == THINKING_ROOM
    assert room("openai/gpt-5-mini") == THINKING_ROOM


@pytest.mark.parametrize("model", ["openai/gpt-4.1", "anthropic/claude-haiku-4-5", "ollama/x"])
def test_a_model_that_does_not_gets_none(model: str) -> None:
    assert room(model) == 0


def test_asking_a_model_to_think_gives_room() -> None:
    assert room("anthropic/claude-haiku-4-5", thinking_budget=2000) == 2000
    assert room("anthropic/claude-opus-4-6", effort="low") == THINKING_ROOM


def test_turning_thinking_off_or_saying_so_decides() -> None:
    assert room(effort="none") == 0
    assert room(thinking_budget=0) == 0
    assert room(thinking_room=500) == 500
    assert room(thinking_room=0) == 0


def test_room_is_added_to_the_benchmarks_cap() -> None:
    call = bind(generate("?", max_tokens=16), MODEL, {"thinking_room": 100})
    assert call.prompt.params.max_tokens == 116


def test_a_cap_of_the_user_is_the_cap() -> None:
    overrides = {"thinking_room": 100, "max_tokens": 50}
    assert bind(generate("?", max_tokens=16), MODEL, overrides).prompt.params.max_tokens == 50


def test_choices_have_no_cap_to_widen() -> None:
    prompt = choose("2+2=", ["4"])
    assert bind(prompt, MODEL, {"thinking_room": 100}).prompt == prompt

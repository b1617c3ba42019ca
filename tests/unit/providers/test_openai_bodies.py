"""The exact bodies that go to OpenAI, and to which endpoint."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from evalbench.engine.calls import Call, ModelRef, choose, generate
from evalbench.engine.errors import CallRejected
from evalbench.providers.openai import OpenAI
from evalbench.providers.wire.exchange import Prepared
from tests.unit.providers.calls import PNG, ask, few_shot, look, talk

URI = "data:image/png;base64," + b64encode(PNG).decode()


def prepared(call: Call, **settings: Any) -> Prepared:
    return OpenAI(settings, "sk-secret").prepare(call)


def fates(request: Prepared) -> dict[str, str]:
    return {note.name: note.fate for note in request.notes}


def test_chat() -> None:
    request = prepared(ask("openai/gpt-4.1", max_tokens=8, temperature=0.0, seed=3, stop=("X",)))
    assert request.path == "/chat/completions"
    assert request.body == {
        "model": "gpt-4.1",
        "messages": [{"role": "user", "content": "Which letter comes first?"}],
        "max_completion_tokens": 8,
        "temperature": 0.0,
        "seed": 3,
        "stop": ["X"],
    }
    assert set(fates(request).values()) == {"sent"}


def test_responses() -> None:
    request = prepared(talk("openai/gpt-6-astra", max_tokens=64, effort="high"))
    assert request.path == "/responses"
    assert request.body == {
        "model": "gpt-6-astra",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "Name a colour."},
            {"role": "assistant", "content": "Blue."},
            {"role": "user", "content": "Another one."},
        ],
        "store": False,
        "truncation": "disabled",
        "max_output_tokens": 64,
        "reasoning": {"effort": "high"},
    }


def test_images() -> None:
    chat = prepared(look("openai/gpt-4.1"), image_detail="high").body
    assert chat["messages"][0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": URI, "detail": "high"},
    }
    responses = prepared(look("openai/gpt-6-astra")).body
    assert responses["input"][0]["content"] == [
        {"type": "input_text", "text": "What is in "},
        {"type": "input_image", "image_url": URI, "detail": "auto"},
        {"type": "input_text", "text": " this picture?"},
    ]


@pytest.mark.parametrize(
    ("model", "settings", "params", "path"),
    [
        ("gpt-4.1", {}, {}, "/chat/completions"),
        ("gpt-5-mini", {}, {}, "/responses"),
        ("gpt-6.2-sol", {}, {}, "/responses"),
        ("gpt-5-mini", {}, {"seed": 1}, "/responses"),
        ("gpt-5-mini", {"api": "chat"}, {}, "/chat/completions"),
        ("gpt-4.1", {"api": "responses"}, {}, "/responses"),
        ("gpt-5-mini", {"base_url": "http://127.0.0.1:9/v1"}, {}, "/chat/completions"),
        ("o3-pro", {"base_url": "http://127.0.0.1:9/v1"}, {}, "/responses"),
        ("somebodys-model", {}, {}, "/chat/completions"),
    ],
)
def test_endpoint(model: str, settings: Any, params: Any, path: str) -> None:
    assert prepared(ask(f"openai/{model}", **params), **settings).path == path


def test_system_is_developer_for_reasoning_models_in_chat() -> None:
    body = prepared(talk("openai/gpt-5-mini"), api="chat").body
    assert body["messages"][0] == {"role": "developer", "content": "Be brief."}
    body = prepared(talk("openai/gpt-4.1")).body
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("model", "effort", "fate"),
    [
        ("gpt-4.1", None, "sent"),
        ("o3", None, "dropped"),
        ("gpt-5", None, "dropped"),
        ("gpt-5.1", None, "sent"),
        ("gpt-5.1", "low", "dropped"),
        ("gpt-6-luna", None, "dropped"),
        ("gpt-6-luna", "none", "sent"),
        ("gpt-6-astra", "none", "dropped"),
        ("gpt-6.2-sol", None, "dropped"),
        ("somebodys-model", None, "sent"),
    ],
)
def test_temperature_goes_only_where_the_model_does_not_reason(
    model: str, effort: str | None, fate: str
) -> None:
    request = prepared(ask(f"openai/{model}", temperature=0.0, effort=effort))
    assert fates(request)["temperature"] == fate
    assert ("temperature" in request.body) == (fate == "sent")


def test_efforts_a_model_has_not_are_dropped() -> None:
    request = prepared(ask("openai/gpt-5-mini", effort="max"))
    assert fates(request)["effort"] == "dropped"
    assert "reasoning" not in request.body
    assert fates(prepared(ask("openai/gpt-4.1", effort="low")))["effort"] == "dropped"


def test_no_more_logprobs_are_asked_for_than_the_api_reports() -> None:
    request = prepared(ask("openai/gpt-4.1", logprobs=50))
    assert request.body["top_logprobs"] == 20
    (note,) = (note for note in request.notes if note.name == "logprobs")
    assert (note.fate, note.reason) == ("sent", "20, the most that OpenAI's API reports")


def test_logprobs_in_both_endpoints() -> None:
    chat = prepared(ask("openai/gpt-4.1", logprobs=5)).body
    assert (chat["logprobs"], chat["top_logprobs"]) == (True, 5)
    responses = prepared(ask("openai/gpt-5.1", logprobs=5, effort="none"))
    assert responses.body["top_logprobs"] == 5
    assert responses.body["include"] == ["message.output_text.logprobs"]
    for model, effort in (("gpt-5.1", "low"), ("o3", None)):
        request = prepared(ask(f"openai/{model}", logprobs=5, effort=effort))
        assert fates(request)["logprobs"] == "dropped"


def test_a_tiny_cap_is_raised_where_the_endpoint_takes_none_so_small() -> None:
    request = prepared(ask("openai/gpt-6-astra", max_tokens=4))
    assert request.body["max_output_tokens"] == 16
    (note,) = request.notes
    assert note.fate == "sent"
    assert "raised to 16" in note.reason
    assert prepared(ask("openai/gpt-4.1", max_tokens=4)).body["max_completion_tokens"] == 4


def test_what_reasoning_models_have_not_is_dropped() -> None:
    request = prepared(ask("openai/gpt-6-astra", stop=("X",), thinking_budget=1000))
    assert fates(request) == {"max_tokens": "sent", "stop": "dropped", "thinking_budget": "dropped"}
    request = prepared(ask("openai/gpt-5-mini", stop=("X",)), api="chat")
    assert fates(request)["stop"] == "dropped"


def test_only_four_stops() -> None:
    request = prepared(ask("openai/gpt-4.1", stop=tuple("abcdef")))
    assert request.body["stop"] == ["a", "b", "c", "d"]
    assert "first 4" in request.notes[-1].reason


def test_service_tier() -> None:
    assert prepared(ask("openai/gpt-4.1"), service_tier="flex").body["service_tier"] == "flex"


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-6-astra"])
def test_raw_text_and_choices_are_refused(model: str) -> None:
    prompt = choose("raw", [" a"])
    for bad in (prompt, generate(prompt.messages)):
        with pytest.raises(CallRejected):
            prepared(Call(ModelRef("openai", model), bad))


@pytest.mark.parametrize(
    ("model", "settings"), [("openai/gpt-4.1", {}), ("openai/gpt-6-astra", {"api": "responses"})]
)
def test_calls_with_the_same_long_prefix_name_it(model: str, settings: dict[str, str]) -> None:
    one = prepared(few_shot(model, max_tokens=64), **settings)
    two = prepared(few_shot(model, max_tokens=99), **settings)
    assert one.body["prompt_cache_key"] == two.body["prompt_cache_key"]
    assert len(one.body["prompt_cache_key"]) == 32
    assert "prompt_cache_key" not in prepared(ask(model, max_tokens=64), **settings).body

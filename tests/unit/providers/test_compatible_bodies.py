"""The exact bodies that go to compatible servers, with each one's quirks."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from evalbench.engine.calls import Call, Message, ModelRef, TextPart, generate
from evalbench.engine.config import registry
from evalbench.engine.errors import CallRejected, SpecError
from evalbench.providers.compatible import Compatible
from evalbench.providers.wire.exchange import Prepared
from tests.unit.providers.calls import IMAGE, PNG, ask, look, pick, talk

BASE = {"base_url": "http://127.0.0.1:8000/v1"}


def prepared(call: Call, **settings: Any) -> Prepared:
    if call.model.provider == "compatible":
        settings = {**BASE, **settings}
    provider: Any = registry.provider_class(call.model.provider)(settings)
    request: Prepared = provider.prepare(call)
    return request


def fates(request: Prepared) -> dict[str, str]:
    return {note.name: note.fate for note in request.notes}


def test_everything_goes_out_when_nothing_is_known() -> None:
    call = ask(
        "compatible/some/model", max_tokens=8, temperature=0.0, top_p=0.9, seed=3, stop=("X",),
        effort="low", logprobs=2,
    )  # fmt: skip
    request = prepared(call)
    assert request.path == "/chat/completions"
    assert request.body == {
        "model": "some/model",
        "messages": [{"role": "user", "content": "Which letter comes first?"}],
        "max_tokens": 8,
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 3,
        "stop": ["X"],
        "reasoning_effort": "low",
        "top_logprobs": 2,
        "logprobs": True,
    }
    assert set(fates(request).values()) == {"sent"}


def test_turns_and_images() -> None:
    body = prepared(talk("compatible/m")).body
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant", "user"]
    body = prepared(look("compatible/m")).body
    assert body["messages"][0]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + b64encode(PNG).decode()},
    }


@pytest.mark.parametrize(
    ("provider", "name", "field"),
    [
        ("groq", "max_tokens", "max_completion_tokens"),
        ("xai", "max_tokens", "max_completion_tokens"),
        ("deepseek", "max_tokens", "max_tokens"),
        ("mistral", "seed", "random_seed"),
        ("vllm", "seed", "seed"),
    ],
)
def test_fields_have_other_names_elsewhere(provider: str, name: str, field: str) -> None:
    body = prepared(ask(f"{provider}/m", **{name: 7})).body
    assert body[field] == 7


@pytest.mark.parametrize(
    ("provider", "name"),
    [("groq", "logprobs"), ("mistral", "logprobs"), ("deepseek", "seed"),
     ("vllm", "thinking_budget")],
)  # fmt: skip
def test_what_a_server_has_not_is_dropped(provider: str, name: str) -> None:
    assert fates(prepared(ask(f"{provider}/m", **{name: 5})))[name] == "dropped"


@pytest.mark.parametrize(
    ("provider", "field", "value"),
    [("dashscope", "enable_thinking", False), ("zai", "thinking", {"type": "disabled"})],
)
def test_thinking_is_turned_off_by_a_field_of_its_own(
    provider: str, field: str, value: Any
) -> None:
    settings = {"workspace": "mine", "region": "r"}
    request = prepared(ask(f"{provider}/m", effort="none"), **settings)
    assert request.body[field] == value
    assert "reasoning_effort" not in request.body
    assert fates(request)["effort"] == "sent"
    assert field not in prepared(ask(f"{provider}/m", effort="high"), **settings).body


def test_openrouter_says_reasoning_its_own_way() -> None:
    body = prepared(ask("openrouter/a/b", effort="high")).body
    assert body["reasoning"] == {"effort": "high"}
    assert body["provider"] == {"require_parameters": True}
    body = prepared(ask("openrouter/a/b", thinking_budget=900), require_parameters=False).body
    assert body["reasoning"] == {"max_tokens": 900}
    assert "provider" not in body


def test_logprobs_are_capped_where_a_server_caps_them() -> None:
    request = prepared(ask("fireworks/m", logprobs=20))
    assert request.body["top_logprobs"] == 5
    assert "5, the most" in request.notes[-1].reason


def test_raw_text_is_continued_where_a_server_does_that() -> None:
    turns = [Message("context", (TextPart("Once upon"), TextPart(" a")))]
    request = prepared(Call(ModelRef("vllm", "m"), generate(turns, max_tokens=5, logprobs=2)))
    assert request.path == "/completions"
    assert request.body == {
        "model": "m", "prompt": "Once upon a", "max_tokens": 5, "logprobs": 2,
    }  # fmt: skip
    with pytest.raises(CallRejected, match="raw text"):
        prepared(Call(ModelRef("groq", "m"), generate(turns)))
    seen = Call(ModelRef("vllm", "m"), generate([Message("context", (IMAGE,))]))
    with pytest.raises(CallRejected, match="images"):
        prepared(seen)


def test_choices_need_a_server_that_scores() -> None:
    with pytest.raises(CallRejected, match="likelihoods"):
        prepared(pick("compatible/m"))
    for name, able in (("vllm", True), ("groq", False), ("ollama", False)):
        provider: Any = registry.provider_class(name)({})
        assert provider.capabilities("m").choose is able
        assert able or provider.capabilities("m").reason


def test_the_general_provider_needs_an_address() -> None:
    with pytest.raises(SpecError, match="address"):
        Compatible({})


def test_preparing_twice_gives_equal_requests() -> None:
    provider = Compatible(BASE)
    call = ask("compatible/m", temperature=0.0)
    assert provider.prepare(call) == provider.prepare(call)

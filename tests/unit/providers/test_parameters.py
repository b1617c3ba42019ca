"""The table of parameters, and what every provider makes of one that not all of them take."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from evalbench.engine.calls import PARAMETERS, Params
from evalbench.engine.calls.params import ASKED
from evalbench.engine.config import registry
from evalbench.engine.config.roles import parse_judge
from evalbench.engine.config.spec import COMMON, make_spec
from evalbench.engine.field_checks import Misfit
from evalbench.engine.runs.record import differences
from tests.unit.providers.calls import ask


@pytest.mark.parametrize(
    ("model", "place"),
    [
        ("anthropic/claude-haiku-4-5", "top_k"),
        ("bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "additionalModelRequestFields"),
        ("bedrock/amazon.nova-lite-v1:0", ""),
        ("compatible/m", "top_k"),
        ("google/gemini-2.5-flash", "generationConfig"),
        ("groq/openai/gpt-oss-20b", ""),
        ("mistral/mistral-small-latest", ""),
        ("ollama/qwen3", "top_k"),
        ("openai/gpt-4.1", ""),
        ("openrouter/some/model", "top_k"),
        ("together/meta-llama/Llama-3.3-70B-Instruct-Turbo", "top_k"),
        ("vllm/m", "top_k"),
        ("xai/grok-4", ""),
    ],
)
def test_top_k_goes_where_it_is_taken_and_is_dropped_elsewhere(model: str, place: str) -> None:
    call = ask(model, top_k=40, temperature=0.5)
    provider: Any = registry.provider_class(call.model.provider)
    settings = {"base_url": "http://127.0.0.1:1/v1"} if model.startswith("compatible") else {}
    prepared = provider(settings, "k" * 32).prepare(call)
    fates = {note.name: note.fate for note in prepared.notes}
    assert fates["top_k"] == ("sent" if place else "dropped")
    assert fates["temperature"] == "sent"
    sent = prepared.body.get(place)
    if isinstance(sent, dict):
        sent = sent.get("top_k", sent.get("topK"))
    assert sent == (40 if place else None)
    assert ("40" in str(prepared.body)) == bool(place)


def test_every_parameter_is_known_wherever_one_is_asked_for() -> None:
    hints = typing.get_type_hints(Params)
    settable = {name: known.option for name, known in PARAMETERS.items() if known.option}
    assert set(settable) < set(PARAMETERS) == set(hints)
    common = {option.name: option for option in COMMON}
    for name, option in settable.items():
        assert option.name == name
        assert common[name] is option
        assert option.type in typing.get_args(hints[name])
        value: Any = {int: 3, float: 0.5, str: "low"}[option.type]
        spec = make_spec("quickstart", "openai/gpt-4.1", **{name: value})
        plain = make_spec("quickstart", "openai/gpt-4.1")
        asked = (value,) if option.many else value
        assert spec.roles()["candidate"].overrides()[name] == asked
        assert parse_judge(f"openai/gpt-4.1,{name}={value}").overrides()[name] == asked
        (changed,) = differences(plain.identity(), spec.identity())
        assert changed.startswith(f"{name} was not set, is now")


def test_stored_parameters_are_checked_by_the_same_table() -> None:
    ASKED(
        Params(max_tokens=1, temperature=0.5, top_k=4, seed=-1, stop=("a",)).asked() | {"stop": []}
    )
    for wrong in ({"top_k": 0.5}, {"temperature": "hot"}, {"stop": "x"}, {"top_j": 1}):
        with pytest.raises(Misfit):
            ASKED(wrong)

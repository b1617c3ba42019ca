"""Which parameter a 400 blames, and how long that is remembered."""

from __future__ import annotations

import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import Params
from evalbench.engine.paths import cache_dir
from evalbench.providers.modelfacts import NOTHING, Negotiable, Refusals, Refused
from evalbench.providers.modelfacts.refusals import blamed
from evalbench.providers.wire.negotiation import Negotiation

SENT = (
    Negotiable("temperature", "0.0"),
    Negotiable("top_p", "0.9"),
    Negotiable("seed", "1"),
    Negotiable("stop", '["X"]'),
    Negotiable("reasoning.effort", '"max"', ("reasoning_effort", "effort")),
    Negotiable("thinking", "{}", ("budget_tokens", "think")),
)

SENTENCES = [
    ("temperature: Extra inputs are not permitted", "temperature", False),
    ("`temperature` is deprecated for this model.", "temperature", False),
    ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature",
     False),
    ("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
     "value is supported.", "temperature", True),
    ("temperature: range: 0..1", "temperature", True),
    ("`temperature` may only be set to 1 when thinking is enabled.", "temperature", True),
    ("property 'seed' is unsupported", "seed", False),
    ("Unrecognized request argument supplied: seed", "seed", False),
    ("grok-4 does not support parameter stop.", "stop", False),
    ("stop sequences must contain non-whitespace: `stop`", "stop", True),
    ("This model does not support the effort parameter.", "reasoning.effort", False),
    ("This model does not support effort level 'max'. Supported levels: low.", "reasoning.effort",
     True),
    ("`reasoning_effort` must be one of `low`, `high`", "reasoning.effort", True),
    ('"thinking.type.enabled" is not supported for this model.', "thinking", False),
    ("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "thinking",
     True),
    ("adaptive thinking is not supported on this model", "thinking", False),
    ('"llama3.2:3b" does not support thinking', "thinking", False),
    ('think value "high" is not supported for this model', "thinking", True),
    ('invalid think value: "minimal" (must be "high", "low", true, or false)', "thinking", True),
    ("`temperature` and `top_p` cannot both be specified", "temperature", False),
    ("`top_p` and `temperature` cannot both be specified", "top_p", False),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "field", "value_only"), SENTENCES)
def test_the_field_that_a_sentence_blames(sentence: str, field: str, value_only: bool) -> None:
    found = blamed(SENT, "", sentence)
    assert found
    assert (found[0].field, found[1]) == (field, value_only)


@pytest.mark.parametrize(
    "sentence",
    [
        "messages: text content blocks must be non-empty",
        "The model stopped before it began; try again and stop worrying",
        "the temperature of the server room",
        "max_tokens: 9 > 8, which is the maximum allowed number of output tokens",
        "please seed the database first",
        "I was thinking of a number",
        "",
    ],
)
def test_sentences_about_something_else(sentence: str) -> None:
    assert blamed(SENT, "", sentence) is None


@pytest.mark.parametrize(
    ("param", "field"),
    [
        ("temperature", "temperature"),
        ("reasoning.effort", "reasoning.effort"),
        ("reasoning", "reasoning.effort"),
        ("reasoning_effort", "reasoning.effort"),
        ("thinking.budget_tokens", "thinking"),
        ("stop[0]", "stop"),
    ],
)
def test_a_field_named_outright_wins_over_the_sentence(param: str, field: str) -> None:
    found = blamed(SENT, param, "`top_p` is unsupported")
    assert found
    assert found[0].field == field


def test_a_field_that_was_not_sent_is_not_blamed_on_another() -> None:
    assert blamed(SENT, "messages", "`temperature` is deprecated") is None


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    found = blamed(SENT, "", text)
    assert found is None or found[0] in SENT


def _reason(refused: Refused, name: str, value: float) -> str | None:
    """Why a parameter is not sent; None if it is."""
    negotiation = Negotiation(Params().override(**{name: value}), refused, "P")
    return None if negotiation.send(name, name) else negotiation.terms().notes[0].reason


def test_a_refused_value_leaves_other_values() -> None:
    refusals = Refusals("p", "host")
    refusals.learn("m", SENT[0], "only the default", value_only=True)
    refused = refusals.of("m")
    assert _reason(refused, "temperature", 0.0) == "only the default"
    assert _reason(refused, "temperature", 1.0) is None
    assert refusals.of("other") is NOTHING


def test_a_refused_field_leaves_no_value() -> None:
    refusals = Refusals("p", "host")
    before = refusals.of("m")
    refusals.learn("m", SENT[0], "unsupported", value_only=False)
    assert _reason(refusals.of("m"), "temperature", 0.7) == "unsupported"
    assert refusals.of("m") is not before


def test_the_next_engine_knows_but_another_address_does_not() -> None:
    Refusals("p", "host").learn("m", SENT[0], "unsupported", value_only=False)
    Refusals("p", "host").learn("n", SENT[1], "unsupported", value_only=False)
    again = Refusals("p", "host")
    assert _reason(again.of("m"), "temperature", 1) == "unsupported"
    assert _reason(again.of("n"), "top_p", 1) == "unsupported"
    assert _reason(Refusals("p", "elsewhere").of("m"), "temperature", 1) is None
    assert _reason(Refusals("q", "host").of("m"), "temperature", 1) is None


def test_what_was_refused_long_ago_is_tried_again() -> None:
    Refusals("p", "host").learn("m", SENT[0], "unsupported", value_only=False)
    file = cache_dir() / "refused-parameters.json"
    entries = orjson.loads(file.read_bytes())
    entries[0]["when"] = time.time() - 40 * 86_400
    file.write_bytes(orjson.dumps(entries))
    assert _reason(Refusals("p", "host").of("m"), "temperature", 1) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}', b'[{"provider": "p"}]'])
def test_a_damaged_file_is_an_empty_one(content: bytes) -> None:
    file = cache_dir() / "refused-parameters.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    refusals = Refusals("p", "host")
    assert _reason(refusals.of("m"), "temperature", 1) is None
    refusals.learn("m", SENT[0], "unsupported", value_only=False)
    assert _reason(Refusals("p", "host").of("m"), "temperature", 1) == "unsupported"

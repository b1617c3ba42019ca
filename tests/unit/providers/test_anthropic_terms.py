"""What each generation of Claude is sent for the same requested parameters."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.engine.errors import CallRejected
from evalbench.providers.anthropic import Anthropic
from tests.unit.providers.calls import ask

HAIKU_45 = "claude-haiku-4-5"
OPUS_46 = "claude-opus-4-6"
OPUS_48 = "claude-opus-4-8"
SONNET_5 = "claude-sonnet-5"
SONNET_55 = "claude-sonnet-5-5"
OPUS_55 = "claude-opus-5-5"
UNKNOWN = "claude-novella-9"


def fates(model: str, *, settings: Any = None, **params: Any) -> tuple[dict[str, Any], Any, Any]:
    """Body, header for the API version, and fate by parameter."""
    params.setdefault("max_tokens", 100)
    request = Anthropic(settings or {}, "k").prepare(ask(f"anthropic/{model}", **params))
    notes = {note.name: note.fate for note in request.notes}
    return request.body, request.headers.get("anthropic-version"), notes


@pytest.mark.parametrize("model", [HAIKU_45, OPUS_46, "claude-sonnet-4-5-20250929"])
def test_old_models_get_a_temperature_through_the_old_version(model: str) -> None:
    body, version, notes = fates(model, temperature=0.0)
    assert (body["temperature"], version) == (0.0, "2023-06-01")
    assert notes == {"max_tokens": "sent", "temperature": "sent"}


@pytest.mark.parametrize("model", [OPUS_48, SONNET_5, SONNET_55, OPUS_55, UNKNOWN])
def test_new_models_get_none_even_at_the_default(model: str) -> None:
    body, version, notes = fates(model, temperature=1.0, top_p=0.9)
    assert not {"temperature", "top_p"} & body.keys()
    assert version is None
    assert notes["temperature"] == notes["top_p"] == "dropped"


def test_the_old_version_can_be_ruled_out() -> None:
    body, version, notes = fates(HAIKU_45, settings={"legacy_sampling": "never"}, temperature=0)
    assert "temperature" not in body
    assert (version, notes["temperature"]) == (None, "dropped")


def test_temperature_and_top_p_exclude_each_other() -> None:
    body, _, notes = fates(HAIKU_45, temperature=0.5, top_p=0.9)
    assert body["temperature"] == 0.5
    assert (notes["temperature"], notes["top_p"]) == ("sent", "dropped")


def test_temperature_gives_way_to_thinking() -> None:
    body, version, notes = fates(HAIKU_45, thinking_budget=2000, max_tokens=4000, temperature=0)
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert version is None
    assert (notes["thinking_budget"], notes["temperature"]) == ("sent", "dropped")


@pytest.mark.parametrize(
    ("model", "thinking"),
    [(OPUS_46, {"type": "adaptive"}), (OPUS_48, {"type": "adaptive"}), (SONNET_5, None)],
)
def test_effort_turns_thinking_on_where_it_is_off(model: str, thinking: Any) -> None:
    body, _, notes = fates(model, effort="high")
    assert body["output_config"] == {"effort": "high"}
    assert body.get("thinking") == thinking
    assert notes["effort"] == "sent"


@pytest.mark.parametrize(("model", "effort"), [(HAIKU_45, "high"), (OPUS_46, "xhigh")])
def test_an_effort_that_a_model_has_not_is_dropped(model: str, effort: str) -> None:
    body, _, notes = fates(model, effort=effort)
    assert "output_config" not in body
    assert "thinking" not in body
    assert notes["effort"] == "dropped"


@pytest.mark.parametrize(
    ("model", "mode"),
    [(HAIKU_45, "disabled"), (OPUS_48, "disabled"), (SONNET_5, "disabled"),
     (SONNET_55, "between_tools"), (UNKNOWN, "disabled")],
)  # fmt: skip
@pytest.mark.parametrize("asked", [{"effort": "none"}, {"thinking_budget": 0}])
def test_thinking_is_turned_off_in_the_models_own_way(
    model: str, mode: str, asked: dict[str, Any]
) -> None:
    body, _, notes = fates(model, **asked)
    assert body["thinking"] == {"type": mode}
    assert notes[next(iter(asked))] == "sent"


def test_a_model_that_always_thinks_keeps_thinking() -> None:
    body, _, notes = fates(OPUS_55, effort="none")
    assert "thinking" not in body
    assert notes["effort"] == "dropped"


@pytest.mark.parametrize("model", [OPUS_48, SONNET_5, OPUS_55])
def test_a_budget_is_dropped_where_only_effort_counts(model: str) -> None:
    body, _, notes = fates(model, thinking_budget=2000, max_tokens=4000, effort="low")
    assert body["output_config"] == {"effort": "low"}
    assert (notes["thinking_budget"], notes["effort"]) == ("dropped", "sent")


@pytest.mark.parametrize(
    ("budget", "cap", "words"),
    [(500, 4000, "too small"), (4000, 4000, "no room"), (5000, 1000, "no room")],
)
def test_an_impossible_budget_is_refused_before_sending(budget: int, cap: int, words: str) -> None:
    with pytest.raises(CallRejected, match=words):
        fates(HAIKU_45, thinking_budget=budget, max_tokens=cap)


def test_what_anthropic_has_not_is_dropped_with_a_reason() -> None:
    request = Anthropic({}, "k").prepare(ask(f"anthropic/{SONNET_5}", seed=1, logprobs=3))
    reasons = {note.name: note.reason for note in request.notes if note.fate == "dropped"}
    assert reasons.keys() == {"seed", "logprobs"}
    assert all(reasons.values())


@pytest.mark.parametrize(
    ("stop", "sent", "fate"),
    [(("END", "\n\n"), ["END"], "sent"), (("END",), ["END"], "sent"), (("\n",), None, "dropped")],
)
def test_stops_of_white_space_are_left_out(stop: Any, sent: Any, fate: str) -> None:
    body, _, notes = fates(SONNET_5, stop=stop)
    assert body.get("stop_sequences") == sent
    assert notes["stop"] == fate


def test_the_cap_is_always_there() -> None:
    body, _, notes = fates(SONNET_5, max_tokens=None)
    assert body["max_tokens"] == 4096
    assert notes == {}

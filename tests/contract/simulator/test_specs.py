"""The simulator against what vendors publish: which fields requests have, and how errors look.

That answers are as published, the ``_as_published`` fixture sees to in every test of this folder.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.contract.simulator import published
from tests.contract.test_simulator import (
    ENDPOINTS,
    STATUSES,
    test_a_key_that_may_not,
    test_a_scripted_status,
    test_an_unknown_model_and_a_retired_one,
)
from tests.simulator import anthropic_checks, google_checks, openai_chat, openai_responses
from tests.simulator.bedrock_checks import service_model
from tests.simulator.exchange import Answer
from tests.simulator.handle import Handle

# Refusals once more, under the eyes of the fixture.
__all__ = [
    "test_a_key_that_may_not",
    "test_a_scripted_status",
    "test_an_unknown_model_and_a_retired_one",
]


def google_fields(message: str) -> set[str]:
    return set(google_checks.SCHEMAS[message])


NEWER: dict[str, tuple[set[str], str, set[str]]] = {
    # request: the fields that it takes here, its vendor, those newer than the vendor's document.
    "CreateChatCompletionRequest": (
        set(openai_chat.FIELDS),
        "openai",
        {"moderation", "prompt_cache_options"},
    ),
    "CreateResponse": (
        set(openai_responses.FIELDS),
        "openai",
        {"moderation", "prompt_cache_options", "access_programs", "background_options", "image"},
    ),
    "CreateMessageParams": (
        {*anthropic_checks.FIELDS, *anthropic_checks.SAMPLING},
        "anthropic",
        {"speed", "diagnostics"},
    ),
    "CountMessageTokensParams": (set(anthropic_checks.COUNT_FIELDS), "anthropic", set()),
    "GenerateContentRequest": (google_fields("request"), "google", set()),
    "CountTokensRequest": (google_fields("count"), "google", set()),
    "SafetySetting": (google_fields("safety"), "google", set()),
    "ThinkingConfig": (google_fields("thinking"), "google", set()),
}


@pytest.mark.parametrize("name", NEWER)
def test_requests_have_the_published_fields(name: str) -> None:
    taken, vendor, newer = NEWER[name]
    assert taken - published.fields(vendor, name) == newer
    assert published.fields(vendor, name) <= taken


@pytest.mark.parametrize("message", ["config", "part"])
def test_a_part_of_googles_fields(message: str) -> None:
    whole = {"config": "GenerationConfig", "part": "Part"}[message]
    assert google_fields(message) < published.fields("google", whole)


def test_bedrocks_errors_are_in_its_description() -> None:
    known = {shape.name for shape in service_model("bedrock-runtime").error_shapes}
    assert {words.partition(".")[0] for words in STATUSES["bedrock"].values()} <= known


def test_raw_text_completions(sim: Handle) -> None:
    body: dict[str, Any] = {"model": ENDPOINTS["vllm"].model, "prompt": "Once", "logprobs": 1}
    request = urllib.request.Request(f"{sim.url}/vllm/v1/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        told = reply.read()
    assert published.problems("POST", "/openai/v1/completions", Answer(told)) == []


def test_the_fixture_sees_what_is_not_published(sim: Handle) -> None:
    answer = Answer({"id": "x", "colour": "red"})
    for path in ("/openai/v1/models/x", "/anthropic/v1/models/x", "/google/v1/models/x"):
        assert any("colour" in problem for problem in published.problems("GET", path, answer))
    path = "/bedrock/model/x/converse"
    assert "/model/x/converse has no colour" in published.problems("POST", path, answer)
    assert published.problems("GET", "/openai/v1/nowhere", answer)

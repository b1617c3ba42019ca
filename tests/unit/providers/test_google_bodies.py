"""Gemini's requests and answers, without a server: what goes where, what is too large."""

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
    Usage,
    assistant,
    generate,
    system,
    user,
)
from evalbench.engine.errors import CallRejected, NoSuchModel, SpecError
from evalbench.providers.google import Google, Vertex, media
from evalbench.providers.google.read import read_content, read_usage
from evalbench.providers.wire.exchange import Arrival
from tests.unit.providers.calls import IMAGE, ask, look, talk

MODEL = "google/gemini-2.5-flash"


@pytest.fixture(autouse=True)
def _home(home: Any) -> None:
    """Nothing is known from before."""


def sent(call: Call, **settings: Any) -> dict[str, Any]:
    return Google(settings, "AIza-planted-0123456789").prepare(call).body


def picture(size: int, byte: bytes = b"x") -> MediaPart:
    return MediaPart("image/png", byte * size)


def test_a_conversation() -> None:
    body = sent(talk(MODEL, max_tokens=50))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert body["generationConfig"]["maxOutputTokens"] == 50


def test_no_more_logprobs_are_asked_for_than_the_api_reports() -> None:
    assert sent(ask(MODEL, logprobs=50))["generationConfig"]["logprobs"] == 20


def test_texts_beside_an_image_stay_in_order() -> None:
    parts = sent(look(MODEL))["contents"][0]["parts"]
    assert [next(iter(part)) for part in parts] == ["text", "inlineData", "text"]
    turn = user(["a", "b", IMAGE, "", "c", "d"])
    joined = sent(Call(ModelRef.parse(MODEL), generate([turn])))["contents"][0]["parts"]
    assert [part.get("text") for part in joined] == ["ab", None, "cd"]


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([system("Only this.")], "no question"),
        ([user("a"), system("b"), user("c")], "only at the start"),
        ([Message("context", (TextPart("Once"),))], "raw text"),
        ([user([MediaPart("image/png", b"", "0" * 64)])], "are missing"),
        ([user([MediaPart("text/html", b"<p>")])], "text/html"),
    ],
)
def test_what_cannot_be_sent(turns: list[Message], words: str) -> None:
    with pytest.raises(CallRejected, match=words):
        sent(Call(ModelRef.parse(MODEL), generate(turns)))


def test_turns_without_text_are_left_out() -> None:
    turns = [user("a"), assistant(""), user("b")]
    contents = sent(Call(ModelRef.parse(MODEL), generate(turns)))["contents"]
    assert [turn["parts"][0]["text"] for turn in contents] == ["a", "b"]


def test_the_largest_go_apart_until_the_rest_fits() -> None:
    small, large, larger = picture(2_000_000), picture(7_000_000, b"y"), picture(9_000_000, b"z")
    turns = [user([small, large]), user([larger, small])]
    assert media.too_large_inline(turns) == [larger]
    assert media.too_large_inline([user([small, large])]) == []
    twice = [user([large, large])]
    assert media.too_large_inline(twice) == []
    assert media.too_large_inline([*twice, user([small])]) == [large]


def test_nothing_large_goes_out_before_it_is_uploaded() -> None:
    call = Call(ModelRef.parse(MODEL), generate([user([picture(15_000_000), "What?"])]))
    with pytest.raises(CallRejected, match="larger than Google takes"):
        sent(call)


@pytest.mark.parametrize("name", ["..", "a/../b", "a?key=1", "a&b", "a:countTokens", "x#y", " "])
def test_names_that_lead_elsewhere(name: str) -> None:
    with pytest.raises(NoSuchModel):
        Google({}).check_model(name)


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_where_vertex_is(location: str, host: str) -> None:
    assert Vertex({"location": location}).address.host == host


@pytest.mark.parametrize("location", ["evil.example/#", "a.b", "x@y", "europe west", "EU"])
def test_a_location_that_leads_elsewhere(location: str) -> None:
    with pytest.raises(SpecError, match="is no region of Google Cloud"):
        Vertex({"location": location})


def read(body: dict[str, Any]) -> Any:
    return read_content(body, Arrival())


def test_parts_of_kinds_that_nobody_knows_are_skipped() -> None:
    parts = [{"executableCode": {"code": "1"}}, {"text": "A"}, {"newThing": 1}, {"text": "B"}]
    reply = read({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert (reply.text, reply.outcome) == ("AB", Outcome.OK)


@pytest.mark.parametrize(
    ("candidate", "outcome", "text"),
    [
        ({"finishReason": "NEW_REASON"}, Outcome.FILTERED, ""),
        ({"content": {"parts": [{"text": "A"}]}}, Outcome.TRUNCATED, "A"),
        ({"content": {}, "finishReason": "STOP"}, Outcome.FILTERED, ""),
        ({"content": None, "finishReason": "MAX_TOKENS"}, Outcome.TRUNCATED, ""),
        ({"finishReason": "OTHER", "content": {"parts": [{"text": "A"}]}}, Outcome.FILTERED, "A"),
    ],
)
def test_endings(candidate: dict[str, Any], outcome: Outcome, text: str) -> None:
    reply = read({"candidates": [candidate]})
    assert (reply.outcome, reply.text) == (outcome, text)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"candidates": [{"finishReason": "MALFORMED_RESPONSE"}]},
        {"candidates": ["x"]},
        {"candidates": [{"content": {"parts": [{"text": None}]}, "finishReason": "STOP"}]},
    ],
)
def test_what_is_no_answer(body: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        read(body)


def test_the_sound_of_a_video_is_counted_apart() -> None:
    """Gemini charges sound at a rate of its own; what came from a cache is charged as that."""
    told: dict[str, Any] = {
        "promptTokenCount": 3_000,
        "candidatesTokenCount": 5,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 200},
            {"modality": "VIDEO", "tokenCount": 2_000},
            {"modality": "AUDIO", "tokenCount": 800},
        ],
    }
    assert read_usage(told) == Usage(3_000, 5, audio_tokens=800)
    cached = [{"modality": "AUDIO", "tokenCount": 300}, {"modality": "VIDEO", "tokenCount": 900}]
    told |= {"cachedContentTokenCount": 1_200, "cacheTokensDetails": cached}
    assert read_usage(told) == Usage(3_000, 5, 1_200, audio_tokens=500)
    odd_ones: list[Any] = [
        None,
        "AUDIO",
        [None, {"modality": "AUDIO", "tokenCount": -1}, {"modality": []}],
    ]
    for odd in odd_ones:
        assert read_usage(told | {"promptTokensDetails": odd}).audio_tokens is None


def test_thoughts_count_as_output() -> None:
    usage = read_usage(
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 70,
        }
    )
    assert (usage.input_tokens, usage.cache_read_tokens) == (100, 40)
    assert (usage.output_tokens, usage.reasoning_tokens) == (75, 70)
    assert read_usage({"promptTokenCount": 3}).output_tokens == 0
    assert read_usage(None).output_tokens is None

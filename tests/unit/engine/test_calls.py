"""Calls: what their identity covers, and that they survive being written down."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import (
    Call,
    MediaPart,
    Message,
    ModelRef,
    Params,
    Prompt,
    TextPart,
    assistant,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.calls.messages import (
    call_from_json,
    call_to_json,
    prompt_from_json,
    prompt_to_json,
)
from tests.unit.engine.properties import quickly
from tests.unit.engine.strategies import calls, models, params

MODEL = ModelRef("acme", "writer")
PNG = MediaPart("image/png", b"\x89PNG picture")


def digest(prompt: Prompt, model: ModelRef = MODEL) -> bytes:
    return Call(model, prompt).content_hash


# -- identity ---------------------------------------------------------------


def test_the_identity_is_the_one_that_journals_hold() -> None:
    # Written out once: a change of this value makes every stored reply be asked again.
    prompt = generate(
        [system("Be short."), user(["Look: ", PNG, "What?"])], max_tokens=5, stop=("\n",)
    )
    canonical = [
        "acme/writer@r1",
        "generate",
        [
            ["system", "Be short."],
            ["user", "Look: ", ["image/png", hashlib.sha256(PNG.data).hexdigest()], "What?"],
        ],
        [],
        {"max_tokens": 5, "stop": ["\n"]},
    ]
    body = json.dumps(canonical, separators=(",", ":"), sort_keys=True).encode()
    expected = hashlib.sha256(body).digest()[:16]
    assert digest(prompt, ModelRef("acme", "writer", "r1")) == expected


def test_how_text_is_cut_into_parts_does_not_matter() -> None:
    whole = generate([user("one two")])
    cut = generate([user(["one", " ", TextPart("two")])])
    assert digest(whole) == digest(cut)


def test_text_on_both_sides_of_an_image_is_not_merged() -> None:
    around = generate([user(["a", PNG, "b"])])
    before = generate([user(["ab", PNG])])
    after = generate([user([PNG, "ab"])])
    assert len({digest(p) for p in (around, before, after)}) == 3


def test_an_image_alone_is_nothing_but_an_image() -> None:
    picture = ["image/png", PNG.sha256]
    assert user([PNG, PNG]).canonical() == ["user", picture, picture]


def test_where_a_message_ends_matters() -> None:
    assert digest(generate([user("one"), user("two")])) != digest(generate([user("onetwo")]))


def test_the_mark_of_shared_text_is_no_part_of_it() -> None:
    marked = generate([user([TextPart("rules ", shared=True), "go"])])
    assert digest(marked) == digest(generate([user("rules go")]))


def test_media_count_by_their_bytes() -> None:
    same = MediaPart("image/png", bytes(PNG.data))
    known = MediaPart("image/png", b"", PNG.sha256)
    other = MediaPart("image/png", PNG.data + b"!")
    jpeg = MediaPart("image/jpeg", PNG.data)
    hashes = [digest(generate([user([part])])) for part in (PNG, same, known, other, jpeg)]
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes)) == 3


@pytest.mark.parametrize(
    "model",
    [
        ModelRef("acme", "writer2"),
        ModelRef("other", "writer"),
        ModelRef("acme", "writer", "abc123"),
    ],
)
def test_model_and_revision_are_part_of_it(model: ModelRef) -> None:
    assert digest(generate("hi"), model) != digest(generate("hi"))


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": 6},
        {"temperature": 0.0},
        {"top_p": 0.9},
        {"seed": 0},
        {"stop": ("x",)},
        {"effort": "high"},
        {"thinking_budget": 0},
        {"logprobs": 0},
    ],
)
def test_every_requested_parameter_is_part_of_it(change: dict[str, Any]) -> None:
    plain = generate("hi", max_tokens=5)
    assert digest(replace(plain, params=plain.params.override(**change))) != digest(plain)


def test_kind_role_order_and_continuations_are_part_of_it() -> None:
    scored = choose("A", [" x", " y"])
    different = [
        scored,
        choose("A", [" y", " x"]),
        choose("A", [" x"]),
        Prompt("generate", scored.messages, scored.continuations),
        Prompt("choose", (user("A"),), scored.continuations),
    ]
    assert len({digest(prompt) for prompt in different}) == len(different)


@quickly
@given(calls, st.integers(0, 20))
def test_no_cut_of_any_text_changes_the_identity(call: Call, place: int) -> None:
    def cut(message: Message) -> Message:
        pieces: list[TextPart | MediaPart] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                pieces += [TextPart(part.text[:place]), TextPart(part.text[place:], shared=True)]
            else:
                pieces.append(part)
        return replace(message, parts=tuple(pieces))

    prompt = replace(call.prompt, messages=tuple(map(cut, call.prompt.messages)))
    assert replace(call, prompt=prompt).content_hash == call.content_hash


# -- written down and read back ---------------------------------------------------


@quickly
@given(calls)
def test_a_call_survives_json_except_for_the_bytes_of_media(call: Call) -> None:
    media = {
        part.sha256: part.data
        for message in call.prompt.messages
        for part in message.parts
        if isinstance(part, MediaPart)
    }
    body = orjson.loads(orjson.dumps(call_to_json(call)))
    assert call_from_json(body, media) == call
    without = call_from_json(body)
    assert without.content_hash == call.content_hash
    for message in without.prompt.messages:
        assert all(part.data == b"" for part in message.parts if isinstance(part, MediaPart))


def test_json_leaves_out_what_was_not_asked_for() -> None:
    assert call_to_json(Call(MODEL, Prompt("generate", (user("hi"),)))) == {
        "model": {"provider": "acme", "name": "writer"},
        "prompt": {
            "kind": "generate",
            "messages": [{"role": "user", "parts": [{"text": "hi"}]}],
        },
    }


def test_shared_text_keeps_its_mark() -> None:
    prompt = generate([user([TextPart("rules", shared=True), "go"])])
    assert prompt_from_json(prompt_to_json(prompt)) == prompt


# -- building -------------------------------------------------------------------------


def test_a_plain_string_is_one_user_turn_with_a_cap() -> None:
    prompt = generate("hi", temperature=0)
    assert prompt.messages == (Message("user", (TextPart("hi"),)),)
    assert prompt.params == Params(max_tokens=1024, temperature=0)


def test_messages_take_a_text_a_part_or_many() -> None:
    assert system("a").parts == (TextPart("a"),)
    assert assistant(TextPart("a", shared=True)).parts == (TextPart("a", shared=True),)
    mixed: list[str | MediaPart] = ["a", PNG]
    assert user(iter(mixed)).parts == (TextPart("a"), PNG)
    assert user(["a", PNG, "b"]).text == "ab"


def test_choosing_asks_after_a_raw_context() -> None:
    prompt = choose([TextPart("few", shared=True), "shot"], iter([" A", " B"]))
    assert prompt.kind == "choose"
    assert prompt.messages[0].role == "context"
    assert prompt.continuations == (" A", " B")


def test_an_image_knows_its_hash_and_does_not_print_its_bytes() -> None:
    assert PNG.sha256 == hashlib.sha256(PNG.data).hexdigest()
    assert "picture" not in repr(PNG)


# -- parameters ------------------------------------------------------------------------


def test_zero_is_asked_for_and_nothing_is_not() -> None:
    assert Params(temperature=0, seed=0).asked() == {"temperature": 0, "seed": 0}
    assert Params().asked() == {}


def test_an_override_replaces_only_what_it_names() -> None:
    base = Params(max_tokens=5, temperature=0.5, stop=("x",))
    changed = base.override(temperature=0.0, max_tokens=None, stop=["a", "b"])
    assert changed == Params(max_tokens=5, temperature=0.0, stop=("a", "b"))
    assert base.temperature == 0.5


@quickly
@given(params, params)
def test_an_override_is_the_second_over_the_first(one: Params, two: Params) -> None:
    both = one.override(**two.asked())
    assert both.asked() == {**one.asked(), **two.asked()}


# -- models --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("acme/writer", ModelRef("acme", "writer")),
        ("acme/org/writer", ModelRef("acme", "org/writer")),
        ("acme/org/writer@main", ModelRef("acme", "org/writer", "main")),
        ("acme/writer:free", ModelRef("acme", "writer:free")),
    ],
)
def test_a_model_is_read_as_users_type_it(text: str, model: ModelRef) -> None:
    assert ModelRef.parse(text) == model
    assert str(model) == text


@pytest.mark.parametrize("text", ["", "acme", "/writer", "acme/", "acme/@main", "/"])
def test_half_a_model_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"^" + text):
        ModelRef.parse(text)


@quickly
@given(models)
def test_a_model_is_read_back_from_its_text(model: ModelRef) -> None:
    assert ModelRef.parse(str(model)) == model


def test_a_schema_counts_only_when_given_and_keeps_its_order() -> None:
    plain = generate("x")
    schema = {"type": "object", "properties": {"b": {}, "a": {}}}
    shaped = generate("x", schema=schema)
    assert "schema" not in prompt_to_json(plain)["params"]
    assert digest(shaped) != digest(plain)
    assert digest(shaped) == digest(generate("x", schema=shaped.params.schema))
    assert shaped.params.schema == '{"type":"object","properties":{"b":{},"a":{}}}'
    assert prompt_from_json(prompt_to_json(shaped)) == shaped

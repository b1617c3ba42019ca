"""The exact bodies that go to Anthropic."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from evalbench.engine.calls import (
    Call,
    MediaPart,
    ModelRef,
    TextPart,
    assistant,
    choose,
    generate,
    system,
    user,
)
from evalbench.engine.errors import CallRejected
from evalbench.providers.anthropic import Anthropic
from evalbench.providers.wire.exchange import Prepared
from tests.unit.providers.calls import FEW_SHOT, IMAGE, PNG, ask, few_shot, look, talk


def prepared(call: Call, **settings: Any) -> Prepared:
    return Anthropic(settings, "sk-ant-secret").prepare(call)


def test_text() -> None:
    request = prepared(ask("anthropic/claude-opus-5-5", max_tokens=64))
    assert request.path == "/v1/messages"
    assert request.headers == {}
    assert request.body == {
        "model": "claude-opus-5-5",
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "Which letter comes first?"}],
    }


def test_turns_and_system() -> None:
    body = prepared(talk("anthropic/claude-sonnet-5", max_tokens=8)).body
    assert body["system"] == "Be brief."
    assert body["messages"] == [
        {"role": "user", "content": "Name a colour."},
        {"role": "assistant", "content": "Blue."},
        {"role": "user", "content": "Another one."},
    ]


def test_image() -> None:
    body = prepared(look("anthropic/claude-sonnet-5", max_tokens=8)).body
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "What is in "},
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": "image/png",
                "data": b64encode(PNG).decode(),
            },
            "transformations": {"oversized_image": "error"},
        },
        {"type": "text", "text": " this picture?"},
    ]


def test_an_image_may_be_shrunk_only_when_asked_for() -> None:
    call = look("anthropic/claude-sonnet-5")
    body = prepared(call, oversized_image="downsize").body
    block = body["messages"][0]["content"][1]
    assert block["transformations"] == {"oversized_image": "downsize"}


def test_shared_prefix_gets_a_breakpoint() -> None:
    body = prepared(few_shot("anthropic/claude-sonnet-5-5", max_tokens=8)).body
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": FEW_SHOT, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Question: and three?"},
    ]
    assert body["system"] == "Be brief."


def test_breakpoint_lives_longer_on_request_and_not_at_all_when_off() -> None:
    call = few_shot("anthropic/claude-sonnet-5-5")
    blocks = prepared(call, prompt_cache="1h").body["messages"][0]["content"]
    assert blocks[0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert isinstance(prepared(call, prompt_cache="off").body["messages"][0]["content"], str)


def test_short_prefix_gets_no_breakpoint() -> None:
    turns = [user([TextPart("Short. ", shared=True), "Question?"])]
    call = Call(ModelRef("anthropic", "claude-sonnet-5-5"), generate(turns))
    assert prepared(call).body["messages"] == [{"role": "user", "content": "Short. Question?"}]


def test_a_longer_prefix_is_needed_where_the_model_caches_less() -> None:
    turns = [user([TextPart("word " * 700, shared=True), "Question?"])]

    def blocks(model: str) -> Any:
        call = Call(ModelRef("anthropic", model), generate(turns))
        return prepared(call).body["messages"][0]["content"]

    assert isinstance(blocks("claude-haiku-5-5"), list)
    assert isinstance(blocks("claude-haiku-4-5"), str)


def test_shared_system_text_is_cached_too() -> None:
    turns = [system([TextPart("rule " * 2000, shared=True)]), user("Question?")]
    call = Call(ModelRef("anthropic", "claude-sonnet-5-5"), generate(turns))
    assert prepared(call).body["system"][0]["cache_control"] == {"type": "ephemeral"}


def test_empty_turns_are_left_out() -> None:
    turns = [user("One?"), assistant(""), user("Two?")]
    call = Call(ModelRef("anthropic", "claude-sonnet-5"), generate(turns))
    assert prepared(call).body["messages"] == [
        {"role": "user", "content": "One?"},
        {"role": "user", "content": "Two?"},
    ]


def test_white_space_is_never_a_block_of_its_own() -> None:
    """The API refuses such blocks; between texts it is part of what is asked."""
    turns = [user(["One", "\n", "two", IMAGE, "\n", IMAGE, " "]), assistant("\n"), user("Three?")]
    body = prepared(Call(ModelRef("anthropic", "claude-sonnet-5"), generate(turns))).body
    first, last = body["messages"]
    assert [block.get("text") for block in first["content"]] == ["One\ntwo", None, None]
    assert last == {"role": "user", "content": "Three?"}


def test_a_revision_is_part_of_the_name() -> None:
    call = Call(ModelRef.parse("anthropic/claude-opus-4-1@20250805"), generate("Hi"))
    assert prepared(call).body["model"] == "claude-opus-4-1@20250805"


def test_service_tier() -> None:
    body = prepared(ask("anthropic/claude-sonnet-5"), service_tier="standard_only").body
    assert body["service_tier"] == "standard_only"


def _refused(turns: list[Any]) -> Call:
    return Call(ModelRef("anthropic", "claude-sonnet-5"), generate(turns))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call(ModelRef("anthropic", "m"), choose("x", [" a"])), "likelihoods"),
        (_refused([user("Hi"), assistant("The answer is (")]), "answer that the prompt began"),
        (_refused([system("Only rules")]), "no question"),
        (_refused([user([MediaPart("application/pdf", b"%PDF")])]), "application/pdf"),
        (_refused([user([MediaPart("image/png", b"", IMAGE.sha256)])]), "missing"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is_sent(call: Call, words: str) -> None:
    with pytest.raises(CallRejected, match=words):
        prepared(call)


def test_raw_text_is_refused() -> None:
    prompt = choose("raw", [" a"])
    call = Call(ModelRef("anthropic", "claude-sonnet-5"), generate(prompt.messages))
    with pytest.raises(CallRejected, match="raw text"):
        prepared(call)

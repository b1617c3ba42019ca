"""The Anthropic SDK, parsing strictly, against the simulator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest
import pytest_asyncio

from tests.contract.simulator.clients import anthropic_client
from tests.contract.simulator.images import base64_png
from tests.simulator.handle import Handle

OLD = {"anthropic-version": "2023-06-01"}
KEY = "sk-ant-api03-planted"


@pytest_asyncio.fixture
async def client(sim: Handle) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic_client(sim, KEY) as made:
        yield made


def said(message: anthropic.types.Message) -> str:
    """The text blocks of an answer."""
    return "".join(block.text for block in message.content if block.type == "text")


async def ask(client: anthropic.AsyncAnthropic, **fields: Any) -> anthropic.types.Message:
    body: dict[str, Any] = {
        "model": "claude-opus-4-8",
        "max_tokens": 400,
        "messages": [{"role": "user", "content": "What is asked?"}],
        **fields,
    }
    message: anthropic.types.Message = await client.messages.create(**body)
    return message


async def refusal(client: anthropic.AsyncAnthropic, **fields: Any) -> anthropic.APIStatusError:
    with pytest.raises(anthropic.APIStatusError) as caught:
        await ask(client, **fields)
    return caught.value


async def test_plain_answer(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.rule("What is asked", text="Forty-two.")
    message = await ask(client)
    assert [block.type for block in message.content] == ["text"]
    assert said(message) == "Forty-two."
    assert message.stop_reason == "end_turn"
    assert message.stop_details is None
    # 14 characters at 3 a token, and 3 for the turn.
    assert message.usage.input_tokens == 8
    assert message.usage.output_tokens == 4
    assert message.usage.cache_read_input_tokens == 0
    assert message.usage.service_tier == "standard"
    (entry,) = sim.entries()
    assert entry["headers"]["anthropic-version"] == "2026-10-21"
    assert entry["headers"]["authorization"].startswith("key:")
    # Opus 4.8 costs 5 and 25 dollars a million.
    assert entry["bill"]["nanodollars"] == 8 * 5000 + 4 * 25_000
    assert sim.summary()["dollars"] == pytest.approx(0.00014)


async def test_same_request_same_answer(client: anthropic.AsyncAnthropic) -> None:
    first, second = await ask(client), await ask(client)
    assert first.content == second.content
    assert first.id != second.id


async def test_request_id_and_limits_in_headers(client: anthropic.AsyncAnthropic) -> None:
    raw = await client.messages.with_raw_response.create(
        model="claude-haiku-4-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
    )
    assert raw.headers["request-id"].startswith("req_")
    for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
        assert int(raw.headers[f"anthropic-ratelimit-{kind}-remaining"]) > 0
        assert raw.headers[f"anthropic-ratelimit-{kind}-reset"].endswith("Z")


async def test_truncation(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.rule("asked", text="a" * 300)
    message = await ask(client, max_tokens=10)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 10
    assert said(message) == "a" * 30


async def test_context_window_cuts_the_answer(
    sim: Handle, client: anthropic.AsyncAnthropic
) -> None:
    sim.model("anthropic", "tiny", like="claude-opus-4-8", context=50)
    sim.rule("asked", text="a" * 300)
    message = await ask(client, model="tiny", max_tokens=100)
    assert message.stop_reason == "model_context_window_exceeded"
    assert message.usage.output_tokens == 42


async def test_stop_sequence(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.rule("asked", text="one END two")
    message = await ask(client, stop_sequences=["END"])
    assert message.stop_reason == "stop_sequence"
    assert message.stop_sequence == "END"
    assert said(message) == "one "


async def test_refusal(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.rule("asked", kind="refusal", text="Not this.", category="bio")
    message = await ask(client)
    assert message.stop_reason == "refusal"
    assert message.stop_details is not None
    assert message.stop_details.category == "bio"
    assert message.content == []


async def test_empty_answer_is_billed(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.brain(empty=1.0)
    message = await ask(client)
    assert message.content == []
    assert message.stop_reason == "end_turn"
    assert message.usage.output_tokens == 1


async def test_zero_tokens_only_warm_the_cache(client: anthropic.AsyncAnthropic) -> None:
    message = await ask(client, max_tokens=0)
    assert message.content == []
    assert message.usage.output_tokens == 0


@pytest.mark.parametrize("display", ["summarized", "omitted"])
async def test_adaptive_thinking(client: anthropic.AsyncAnthropic, display: Any) -> None:
    message = await ask(
        client,
        max_tokens=4000,
        thinking={"type": "adaptive", "display": display},
        output_config={"effort": "high"},
    )
    thinking, text = message.content
    assert thinking.type == "thinking"
    assert bool(thinking.thinking) == (display == "summarized")
    assert text.type == "text"
    details = message.usage.output_tokens_details
    assert details is not None
    assert 0 < details.thinking_tokens < message.usage.output_tokens


async def test_effort_costs_tokens(client: anthropic.AsyncAnthropic) -> None:
    used = []
    for effort in ("low", "medium", "high", "xhigh", "max"):
        message = await ask(
            client,
            model="claude-fable-5-2",
            max_tokens=9000,
            output_config={"effort": effort},
            messages=[{"role": "user", "content": "Think."}],
        )
        used.append(message.usage.output_tokens)
    assert used[0] < used[2] < used[4]


async def test_thinking_may_eat_the_whole_cap(client: anthropic.AsyncAnthropic) -> None:
    message = await ask(client, model="claude-fable-5-2", max_tokens=20)
    assert message.stop_reason == "max_tokens"
    assert [block.type for block in message.content] == ["thinking"]
    assert message.usage.output_tokens == 20


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        ("claude-haiku-4-5", {"enabled", "disabled"}),
        ("claude-sonnet-4-6", {"adaptive", "enabled", "disabled"}),
        ("claude-opus-4-7", {"adaptive", "disabled"}),
        ("claude-sonnet-5", {"adaptive", "disabled"}),
        ("claude-sonnet-5-5", {"adaptive", "between_tools"}),
        ("claude-haiku-5-5", {"adaptive", "between_tools"}),
        ("claude-opus-5-5", {"adaptive"}),
        ("claude-fable-5-2", {"adaptive"}),
    ],
)
async def test_thinking_modes(
    client: anthropic.AsyncAnthropic, model: str, accepted: set[str]
) -> None:
    told = (await client.models.retrieve(model)).capabilities
    assert told is not None
    for kind in ("adaptive", "enabled", "disabled", "between_tools"):
        assert getattr(told.thinking.types, kind).supported == (kind in accepted)
        thinking = {"type": kind} | ({"budget_tokens": 1024} if kind == "enabled" else {})
        if kind in accepted:
            await ask(client, model=model, max_tokens=3000, thinking=thinking)
        else:
            error = await refusal(client, model=model, max_tokens=3000, thinking=thinking)
            assert isinstance(error, anthropic.BadRequestError)


async def test_sampling_by_version_and_model(client: anthropic.AsyncAnthropic) -> None:
    warm = {"extra_body": {"temperature": 0}}
    error = await refusal(client, model="claude-haiku-4-5", **warm)
    assert error.api_message == "temperature: Extra inputs are not permitted"
    await ask(client, model="claude-haiku-4-5", extra_headers=OLD, **warm)
    error = await refusal(client, extra_headers=OLD, **warm)
    assert error.api_message == "`temperature` is deprecated for this model."
    await ask(client, extra_headers=OLD, extra_body={"temperature": 1})
    error = await refusal(
        client, model="claude-sonnet-5-5", extra_headers=OLD, extra_body={"temperature": 1}
    )
    assert error.api_message == "`temperature` is deprecated for this model."
    error = await refusal(
        client,
        model="claude-haiku-4-5",
        extra_headers=OLD,
        extra_body={"temperature": 0.5, "top_p": 0.9},
    )
    assert "cannot both be specified" in str(error.api_message)
    error = await refusal(
        client,
        model="claude-haiku-4-5",
        max_tokens=3000,
        thinking={"type": "enabled", "budget_tokens": 1024},
        extra_headers=OLD,
        extra_body={"temperature": 0},
    )
    assert "only be set to 1 when thinking" in str(error.api_message)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"extra_body": {"seed": 1}}, "seed: Extra inputs are not permitted"),
    "no messages": ({"messages": []}, "messages: at least one message is required"),
    "bad role": (
        {"messages": [{"role": "tool", "content": "x"}]},
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "empty text": (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        "messages: text content blocks must be non-empty",
    ),
    "negative cap": ({"max_tokens": -1}, "greater than or equal to 0"),
    "cap of a string": ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
    "cap too high": ({"max_tokens": 200_000}, "max_tokens: 200000 > 128000"),
    "budget above cap": (
        {
            "model": "claude-haiku-4-5",
            "thinking": {"type": "enabled", "budget_tokens": 2048},
            "max_tokens": 2048,
        },
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "budget too low": (
        {
            "model": "claude-haiku-4-5",
            "thinking": {"type": "enabled", "budget_tokens": 100},
            "max_tokens": 2048,
        },
        "greater than or equal to 1024",
    ),
    "effort unknown": ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    "effort on a model without": (
        {"model": "claude-haiku-4-5", "output_config": {"effort": "low"}},
        "does not support the effort parameter",
    ),
    "effort level not of this model": (
        {"model": "claude-sonnet-4-6", "output_config": {"effort": "xhigh"}},
        "does not support effort level 'xhigh'",
    ),
    "prefill": (
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
        "does not support assistant message prefill",
    ),
    "five cache marks": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
                    ]
                    * 5,
                }
            ]
        },
        "A maximum of 4 blocks with cache_control",
    ),
    "cache ttl": ({"cache_control": {"type": "ephemeral", "ttl": "9m"}}, "ttl"),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_requests(client: anthropic.AsyncAnthropic, name: str) -> None:
    fields, message = BAD[name]
    error = await refusal(client, **fields)
    assert isinstance(error, anthropic.BadRequestError)
    assert error.type == "invalid_request_error"
    assert message in str(error.api_message)
    assert error.request_id == error.body["request_id"]  # type: ignore[index]


async def test_system_turns_on_newer_models_only(client: anthropic.AsyncAnthropic) -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    await ask(client, messages=turns)
    error = await refusal(client, model="claude-haiku-4-5", messages=turns)
    assert 'Unexpected role "system"' in str(error.api_message)


async def test_prefill_on_older_models(client: anthropic.AsyncAnthropic) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "The answer is ("}]
    await ask(client, model="claude-haiku-4-5", messages=turns)


async def test_version_header(client: anthropic.AsyncAnthropic) -> None:
    error = await refusal(client, extra_headers={"anthropic-version": "2024-01-01"})
    assert "is not a valid version" in str(error.api_message)


async def test_prompt_too_long(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    sim.model("anthropic", "tiny", like="claude-opus-4-8", context=50)
    error = await refusal(client, model="tiny", messages=[{"role": "user", "content": "x" * 1000}])
    assert error.api_message == "prompt is too long: 337 tokens > 50 maximum"


IMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "other type": (
        {"media_type": "image/bmp", "data": base64_png(8, 8)},
        "media_type: Input should be",
    ),
    "wrong type": (
        {"media_type": "image/jpeg", "data": base64_png(8, 8)},
        "Image does not match the provided media type image/jpeg",
    ),
    "no image": ({"media_type": "image/png", "data": "aGVsbG8="}, "Could not process image"),
    "no base64": ({"media_type": "image/png", "data": "not base64!"}, "invalid base64 data"),
    "too wide": (
        {"media_type": "image/png", "data": base64_png(9000, 10)},
        "max allowed size: 8000 pixels",
    ),
    "too heavy": (
        {"media_type": "image/png", "data": base64_png(8, 8, padding=6_000_000)},
        "image exceeds 5 MB maximum: 6000033 bytes",
    ),
}


def picture(
    data: dict[str, Any] | None = None, *, size: tuple[int, int] = (750, 100), **more: Any
) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": base64_png(*size)}
    return {"type": "image", "source": source | (data or {}), **more}


async def look(client: anthropic.AsyncAnthropic, *images: Any, **fields: Any) -> Any:
    content = [*images, {"type": "text", "text": "What is this?"}]
    return await ask(client, messages=[{"role": "user", "content": content}], **fields)


@pytest.mark.parametrize("name", IMAGES)
async def test_bad_images(client: anthropic.AsyncAnthropic, name: str) -> None:
    source, message = IMAGES[name]
    with pytest.raises(anthropic.BadRequestError) as caught:
        await look(client, picture(source))
    assert message in str(caught.value.api_message)


async def test_image_tokens(client: anthropic.AsyncAnthropic) -> None:
    without = (await look(client)).usage.input_tokens
    small = (await look(client, picture())).usage.input_tokens
    assert small - without == 750 * 100 // 750
    # Shrunk to a long edge of 1,568 pixels: 1568 x 784 / 750, then the ceiling of 1,600.
    large = (await look(client, picture(size=(4000, 2000)), model="claude-haiku-4-5")).usage
    plain = (await look(client, model="claude-haiku-4-5")).usage
    assert large.input_tokens - plain.input_tokens == 1600


async def test_oversized_image_can_be_an_error(client: anthropic.AsyncAnthropic) -> None:
    strict = picture(size=(3000, 100), transformations={"oversized_image": "error"})
    with pytest.raises(anthropic.BadRequestError) as caught:
        await look(client, strict)
    assert caught.value.error_code == "image_dimensions_too_large"
    details = caught.value.details
    assert details is not None
    assert details.max_side_length_pixels == 2576  # type: ignore[union-attr]
    await look(client, picture(size=(2576, 100), transformations={"oversized_image": "error"}))


async def test_many_images(client: anthropic.AsyncAnthropic) -> None:
    await look(client, *[picture(size=(2100, 20))] * 20)
    with pytest.raises(anthropic.BadRequestError, match="many-image requests"):
        await look(client, *[picture(size=(2100, 20))] * 21)
    with pytest.raises(anthropic.BadRequestError, match="too many images: 101"):
        await look(client, *[picture(size=(20, 20))] * 101, model="claude-haiku-4-5")


async def test_prompt_cache(sim: Handle, client: anthropic.AsyncAnthropic) -> None:
    shared = {"type": "text", "text": "rules " * 1000, "cache_control": {"type": "ephemeral"}}

    async def with_question(text: str) -> anthropic.types.Usage:
        content = [shared, {"type": "text", "text": text}]
        return (await ask(client, messages=[{"role": "user", "content": content}])).usage

    first = await with_question("one?")
    assert first.cache_creation_input_tokens == 2003
    assert first.cache_creation is not None
    assert first.cache_creation.ephemeral_5m_input_tokens == 2003
    assert first.input_tokens == 2
    second = await with_question("another?")
    assert second.cache_read_input_tokens == 2003
    assert second.cache_creation_input_tokens == 0
    assert second.input_tokens == 3
    # Opus 4.8: 6.25 a million written, 0.5 read, 5 fresh.
    entries = sim.entries()
    out = [entry["bill"]["output_tokens"] * 25_000 for entry in entries]
    assert entries[0]["bill"]["nanodollars"] == 2003 * 6250 + 2 * 5000 + out[0]
    assert entries[1]["bill"]["nanodollars"] == 2003 * 500 + 3 * 5000 + out[1]
    sim.advance(301)
    late = await with_question("a third?")
    assert late.cache_read_input_tokens == 0


async def test_cache_for_an_hour_and_automatic_mark(
    sim: Handle, client: anthropic.AsyncAnthropic
) -> None:
    long_text = [{"role": "user", "content": "rules " * 1000}]
    mark = {"type": "ephemeral", "ttl": "1h"}
    usage = (await ask(client, messages=long_text, cache_control=mark)).usage
    assert usage.cache_creation is not None
    assert usage.cache_creation.ephemeral_1h_input_tokens == 2003
    sim.advance(3000)
    usage = (await ask(client, messages=long_text, cache_control=mark)).usage
    assert usage.cache_read_input_tokens == 2003


async def test_short_prefixes_are_not_cached(client: anthropic.AsyncAnthropic) -> None:
    for _ in range(2):
        usage = (await ask(client, cache_control={"type": "ephemeral"})).usage
        assert usage.cache_creation_input_tokens == usage.cache_read_input_tokens == 0


async def test_structured_output(client: anthropic.AsyncAnthropic) -> None:
    schema = {
        "type": "object",
        "properties": {"rating": {"type": "integer", "minimum": 3, "maximum": 3}},
        "required": ["rating"],
        "additionalProperties": False,
    }
    message = await ask(client, output_config={"format": {"type": "json_schema", "schema": schema}})
    assert said(message) == '{"rating":3}'


async def test_count_tokens(client: anthropic.AsyncAnthropic) -> None:
    turns: Any = [{"role": "user", "content": "What is asked?"}]
    counted = await client.messages.count_tokens(model="claude-opus-4-8", messages=turns)
    assert counted.input_tokens == (await ask(client)).usage.input_tokens
    with pytest.raises(anthropic.BadRequestError, match="max_tokens: Extra inputs"):
        await client.messages.count_tokens(
            model="claude-opus-4-8", messages=turns, extra_body={"max_tokens": 5}
        )


async def test_model_list_in_pages(client: anthropic.AsyncAnthropic) -> None:
    every = [model async for model in client.models.list(limit=4)]
    assert len(every) == len({model.id for model in every}) > 8
    assert every[0].created_at >= every[-1].created_at
    assert {model.lifecycle for model in every} == {"active", "deprecated"}
    sonnet = next(model for model in every if model.id == "claude-sonnet-4-5")
    assert str(sonnet.retires_at).startswith("2026-11-30")
    retired = [model async for model in client.models.list(lifecycle=["retired"])]
    assert {model.lifecycle for model in retired} == {"retired"}
    before = await client.models.list(before_id=every[3].id, limit=2)
    assert [model.id for model in before.data] == [every[1].id, every[2].id]


async def test_one_model(client: anthropic.AsyncAnthropic) -> None:
    fable = await client.models.retrieve("claude-fable-5-2")
    assert fable.max_input_tokens == 1_000_000
    assert fable.capabilities is not None
    assert fable.capabilities.effort.xhigh is not None
    assert fable.capabilities.effort.xhigh.supported
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("claude-unheard-of")

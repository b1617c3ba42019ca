"""Batches of the simulator, driven by the real SDKs, which parse strictly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import openai
import pytest
import pytest_asyncio

from tests.contract.simulator.clients import anthropic_client, openai_client
from tests.simulator.handle import Handle

pytestmark = pytest.mark.usefixtures("still")

KEY = "sk-proj-planted"
DAY = 86_400
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


@pytest_asyncio.fixture
async def client(sim: Handle) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai_client(sim, KEY) as made:
        yield made


@pytest_asyncio.fixture
async def claude(sim: Handle) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic_client(sim, KEY) as made:
        yield made


def chat_line(name: str, text: str = "Which letter?", **changes: Any) -> dict[str, Any]:
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}]}
    return {"custom_id": name, "method": "POST", "url": CHAT, "body": body, **changes}


async def uploaded(client: openai.AsyncOpenAI, lines: list[Any]) -> Any:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return await client.files.create(file=("in.jsonl", text.encode()), purpose="batch")


async def made(client: openai.AsyncOpenAI, lines: list[Any], endpoint: Any = CHAT) -> Any:
    file = await uploaded(client, lines)
    return await client.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={"who": "me"}
    )


async def seen(client: openai.AsyncOpenAI, batch: str) -> Any:
    """A batch as it is now; what its state says must be there, each test demands."""
    return await client.batches.retrieve(batch)


async def result_lines(client: openai.AsyncOpenAI, file: str | None) -> list[Any]:
    assert file is not None
    content = await client.files.content(file)
    return [json.loads(line) for line in content.content.split(b"\n") if line]


async def test_the_life_of_an_openai_batch(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(waiting=60, running=600, finishing=60)
    batch = await made(client, [chat_line(f"item-{n}", f"Question {n}") for n in range(10)])
    assert batch.status == "validating"
    assert batch.metadata == {"who": "me"}
    assert batch.request_counts.total == 0
    told = []
    for seconds in (30, 31, 300, 300, 61):
        sim.advance(seconds)
        batch = await seen(client, batch.id)
        told.append((batch.status, batch.request_counts.completed))
    assert told == [
        ("validating", 0), ("in_progress", 0), ("in_progress", 5),
        ("finalizing", 10), ("completed", 10),
    ]  # fmt: skip
    assert batch.error_file_id is None
    assert batch.completed_at - batch.created_at == 720
    lines = await result_lines(client, batch.output_file_id)
    assert [line["custom_id"] for line in lines] == [f"item-{n}" for n in range(10)]
    assert {line["response"]["status_code"] for line in lines} == {200}
    spent = sum(line["response"]["body"]["usage"]["total_tokens"] for line in lines)
    assert batch.usage.total_tokens == spent
    listed = [one.id async for one in client.batches.list(limit=1)]
    assert listed == [batch.id]


async def test_files_are_kept_listed_and_deleted(client: openai.AsyncOpenAI) -> None:
    first, second = [await uploaded(client, [chat_line(name)]) for name in ("a", "b")]
    assert [file.id async for file in client.files.list(limit=1)] == [second.id, first.id]
    assert (await client.files.retrieve(first.id)).bytes == first.bytes > 100
    assert (await client.files.content(first.id)).content == json.dumps(chat_line("a")).encode()
    assert (await client.files.delete(first.id)).deleted
    with pytest.raises(openai.NotFoundError):
        await client.files.retrieve(first.id)


async def test_responses_have_batches(client: openai.AsyncOpenAI) -> None:
    body = {"model": "gpt-6-astra", "input": "Which letter?", "store": False}
    line = {"custom_id": "one", "method": "POST", "url": RESPONSES, "body": body}
    batch = await made(client, [line], RESPONSES)
    batch = await seen(client, batch.id)
    (result,) = await result_lines(client, batch.output_file_id)
    assert result["response"]["body"]["object"] == "response"


def without(name: str) -> dict[str, Any]:
    line = chat_line("b")
    del line[name]
    return line


BAD_LINES: dict[str, tuple[Any, str]] = {
    "no JSON": ('{"custom_id": "b", ', "invalid_json_line"),
    "no object": ("[]", "invalid_json_line"),
    "no name": (without("custom_id"), "missing_required_parameter"),
    "no body": (without("body"), "missing_required_parameter"),
    "a name twice": (chat_line("a"), "duplicate_custom_id"),
    "a field too many": (chat_line("b", key="b"), "unknown_parameter"),
    "another method": (chat_line("b", method="GET"), "invalid_method"),
    "another endpoint": (chat_line("b", url=RESPONSES), "invalid_url"),
    "another model": (chat_line("b", body={"model": "gpt-4o", "messages": []}), "mismatched_model"),
    "no model": (chat_line("b", body={"messages": []}), "missing_required_parameter"),
}


@pytest.mark.parametrize("name", BAD_LINES)
async def test_one_bad_line_fails_the_file(client: openai.AsyncOpenAI, name: str) -> None:
    bad, code = BAD_LINES[name]
    batch = await made(client, [chat_line("a"), bad])
    assert batch.errors is None
    batch = await seen(client, batch.id)
    assert batch.status == "failed"
    (error,) = batch.errors.data
    assert (error.code, error.line) == (code, 2)
    assert batch.output_file_id is None
    assert batch.request_counts.total == 0


async def test_an_unknown_model_fails_the_file(client: openai.AsyncOpenAI) -> None:
    batch = await made(client, [chat_line("a", body={"model": "gpt-9", "messages": []})])
    batch = await seen(client, batch.id)
    assert [error.code for error in batch.errors.data] == ["model_not_found"]


async def test_a_full_queue_fails_the_file(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(times=1, refused="token_limit_exceeded")
    states = []
    for name in ("a", "b"):
        batch = await made(client, [chat_line(name)])
        batch = await seen(client, batch.id)
        states.append((batch.status, batch.errors and batch.errors.data[0].code))
    assert states == [("failed", "token_limit_exceeded"), ("completed", None)]
    assert sim.summary()["executed"] == 1


async def test_a_queue_of_tokens(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(queue=2_000, running=60)
    small = [chat_line(f"item-{n}", "word " * 600) for n in range(2)]
    first, second = await made(client, small), await made(client, small)
    told = [await seen(client, one.id) for one in (first, second)]
    assert [one.status for one in told] == ["in_progress", "failed"]
    (error,) = told[1].errors.data
    assert error.code == "token_limit_exceeded"
    assert "Limit: 2,000 enqueued tokens" in error.message
    sim.advance(61)
    third = await made(client, small)
    assert (await seen(client, third.id)).status == "in_progress"


async def test_what_is_wrong_with_a_request_is_told_in_its_line(client: openai.AsyncOpenAI) -> None:
    bad = chat_line("b")
    bad["body"]["temperature"] = 9
    batch = await made(client, [chat_line("a"), bad])
    batch = await seen(client, batch.id)
    assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 1)
    (error,) = await result_lines(client, batch.error_file_id)
    assert error["custom_id"] == "b"
    assert error["response"]["status_code"] == 400
    assert error["response"]["body"]["error"]["param"] == "temperature"


@pytest.mark.parametrize(
    ("name", "data", "purpose", "status"),
    [
        ("in.txt", b"{}", "batch", 400),
        ("in.jsonl", b"", "batch", 400),
        ("in.jsonl", b"{}", "batches", 400),
    ],
)
async def test_refused_uploads(
    client: openai.AsyncOpenAI, name: str, data: bytes, purpose: Any, status: int
) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        await client.files.create(file=(name, data), purpose=purpose)
    assert caught.value.status_code == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"endpoint": "/v1/nothing"}, 400),
        ({"completion_window": "1h"}, 400),
        ({"input_file_id": "file-of-others"}, 404),
        ({"metadata": {"long": "x" * 600}}, 400),
        ({"extra_body": {"name": "mine"}}, 400),
    ],
)
async def test_refused_batches(
    client: openai.AsyncOpenAI, changes: dict[str, Any], status: int
) -> None:
    file = await uploaded(client, [chat_line("a")])
    given: dict[str, Any] = {
        "input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"
    }  # fmt: skip
    with pytest.raises(openai.APIStatusError) as caught:
        await client.batches.create(**given | changes)
    assert caught.value.status_code == status


async def test_an_openai_batch_expires_with_a_part_done(
    sim: Handle, client: openai.AsyncOpenAI
) -> None:
    sim.batch(running=2 * DAY)
    batch = await made(client, [chat_line(f"item-{n}") for n in range(10)])
    sim.advance(DAY + 1)
    batch = await seen(client, batch.id)
    assert batch.status == "expired"
    assert len(await result_lines(client, batch.output_file_id)) == 5
    errors = await result_lines(client, batch.error_file_id)
    assert [error["error"]["code"] for error in errors] == ["batch_expired"] * 5
    assert sim.summary()["executed"] == 5


async def test_a_cancelled_openai_batch_keeps_what_is_done(
    sim: Handle, client: openai.AsyncOpenAI
) -> None:
    sim.batch(running=100, finishing=10)
    batch = await made(client, [chat_line(f"item-{n}") for n in range(10)])
    sim.advance(31)
    assert (await client.batches.cancel(batch.id)).status == "cancelling"
    assert (await seen(client, batch.id)).status == "cancelling"
    sim.advance(20)
    batch = await seen(client, batch.id)
    assert batch.status == "cancelled"
    assert len(await result_lines(client, batch.output_file_id)) == 3
    errors = await result_lines(client, batch.error_file_id)
    assert [error["error"]["code"] for error in errors] == ["batch_cancelled"] * 7
    with pytest.raises(openai.ConflictError):
        await client.batches.cancel(batch.id)


async def test_validated_for_ever(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(waiting=1e12)
    batch = await made(client, [chat_line("a")])
    sim.advance(30 * DAY)
    assert (await seen(client, batch.id)).status == "validating"
    await client.batches.cancel(batch.id)
    assert (await seen(client, batch.id)).status == "cancelled"


async def test_disturbed_results(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(order="shuffled", missing=[2], duplicated=[3], malformed=[4])
    names = [f"item-{n}" for n in range(1, 9)]
    batch = await made(client, [chat_line(name) for name in names])
    batch = await seen(client, batch.id)
    raw = (await client.files.content(batch.output_file_id)).content.splitlines()
    good = [json.loads(line)["custom_id"] for line in raw if line.endswith(b"}")]
    assert len(raw) == 8
    assert sorted(good) == sorted([*(n for n in names if n not in ("item-2", "item-4")), "item-3"])
    assert good != sorted(good)


async def test_errors_only(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(failing="all", status=503)
    batch = await made(client, [chat_line("a"), chat_line("b")])
    batch = await seen(client, batch.id)
    assert batch.status == "completed"
    assert batch.output_file_id is None
    errors = await result_lines(client, batch.error_file_id)
    assert [error["response"]["status_code"] for error in errors] == [503, 503]
    assert sim.summary()["dollars"] == 0


async def test_results_that_are_gone(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.batch(gone=True)
    batch = await made(client, [chat_line("a")])
    batch = await seen(client, batch.id)
    with pytest.raises(openai.NotFoundError):
        await client.files.content(batch.output_file_id)


async def test_a_batch_is_made_though_its_answer_is_lost(
    sim: Handle, client: openai.AsyncOpenAI
) -> None:
    sim.fault("reset_before_headers", path="/batches", times=1, billed=True)
    with pytest.raises(openai.APIConnectionError):
        await made(client, [chat_line("a")])
    (batch,) = [one async for one in client.batches.list()]
    assert batch.metadata == {"who": "me"}
    assert [one["items"] for one in sim.batches()] == [["a"]]


async def test_others_see_nothing_of_it(sim: Handle, client: openai.AsyncOpenAI) -> None:
    batch = await made(client, [chat_line("a")])
    other = client.with_options(api_key="sk-proj-other")
    assert [one async for one in other.batches.list()] == []
    with pytest.raises(openai.NotFoundError):
        await other.batches.retrieve(batch.id)
    with pytest.raises(openai.AuthenticationError):
        await client.with_options(api_key="sk-wrong").batches.list()


async def test_answers_equal_those_at_once_at_half_the_money(
    sim: Handle, client: openai.AsyncOpenAI
) -> None:
    line = chat_line("a", "Tell me of colours.")
    completion = await client.chat.completions.create(**line["body"])
    full = sim.summary()["dollars"]
    batch = await made(client, [line])
    batch = await seen(client, batch.id)
    (result,) = await result_lines(client, batch.output_file_id)
    choice = result["response"]["body"]["choices"][0]
    assert choice["message"]["content"] == completion.choices[0].message.content
    summary = sim.summary()
    assert summary["dollars"] == pytest.approx(1.5 * full)
    # The journal tells of both, and that it was the same question.
    assert summary["answered"] == {"2": 1}
    at_once, in_batch = [entry for entry in sim.entries() if entry["bill"]]
    assert at_once["content"] == in_batch["content"]
    assert (in_batch["batch"], in_batch["item"]) == (batch.id, "a")


async def test_batches_meet_no_rate_limits(sim: Handle, client: openai.AsyncOpenAI) -> None:
    sim.limits("openai", requests=1)
    batch = await made(client, [chat_line(f"item-{n}") for n in range(5)])
    batch = await seen(client, batch.id)
    assert batch.request_counts.completed == 5


async def test_groq_has_openai_batches(sim: Handle, client: openai.AsyncOpenAI) -> None:
    groq = client.with_options(base_url=sim.base_url("groq"))
    body = {"model": "llama-3.3-70b-versatile", "messages": [{"role": "user", "content": "Hi"}]}
    batch = await made(groq, [chat_line("a", body=body)])
    batch = await seen(groq, batch.id)
    (result,) = await result_lines(groq, batch.output_file_id)
    assert result["response"]["body"]["x_groq"]


def request(name: str, text: str = "Which letter?", **params: Any) -> Any:
    turns = [{"role": "user", "content": text}]
    params = {"model": "claude-sonnet-4-5", "max_tokens": 50, "messages": turns, **params}
    return {"custom_id": name, "params": params}


async def results_of(claude: anthropic.AsyncAnthropic, name: str) -> list[Any]:
    return [line async for line in await claude.messages.batches.results(name)]


async def test_the_life_of_a_message_batch(sim: Handle, claude: anthropic.AsyncAnthropic) -> None:
    sim.batch(running=600, finishing=60)
    batch = await claude.messages.batches.create(
        requests=[request(f"item-{n}", f"Question {n}\u2028and more") for n in range(10)]
    )
    told = []
    for seconds in (0, 300, 360):
        sim.advance(seconds)
        batch = await claude.messages.batches.retrieve(batch.id)
        counts = batch.request_counts
        told.append((batch.processing_status, counts.processing, counts.succeeded))
    # Nothing is counted before the end.
    assert told == [("in_progress", 10, 0), ("in_progress", 10, 0), ("ended", 0, 10)]
    assert batch.results_url is not None
    lines = await results_of(claude, batch.id)
    assert [line.custom_id for line in lines] == [f"item-{n}" for n in range(10)]
    assert {line.result.type for line in lines} == {"succeeded"}
    assert {line.result.message.usage.service_tier for line in lines} == {"batch"}
    assert [one.id async for one in claude.messages.batches.list(limit=1)] == [batch.id]
    await claude.messages.batches.delete(batch.id)
    with pytest.raises(anthropic.NotFoundError):
        await claude.messages.batches.retrieve(batch.id)


async def test_parameters_are_looked_at_line_by_line(claude: anthropic.AsyncAnthropic) -> None:
    batch = await claude.messages.batches.create(
        requests=[request("good"), request("warm", temperature=0), request("odd", colour="red")]
    )
    lines = {line.custom_id: line.result for line in await results_of(claude, batch.id)}
    assert lines["good"].type == "succeeded"
    for name in ("warm", "odd"):
        assert lines[name].type == "errored"
        assert lines[name].error.error.type == "invalid_request_error"
    batch = await claude.messages.batches.create(
        requests=[request("warm", temperature=0), request("good")],
        extra_headers={"anthropic-version": "2023-06-01"},
    )
    lines = {line.custom_id: line.result for line in await results_of(claude, batch.id)}
    assert {line.type for line in lines.values()} == {"succeeded"}


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [request("a"), request("a")],
        [request("a b")],
        [request("x" * 65)],
        [{"custom_id": "a"}],
        [request("a") | {"model": "claude-sonnet-4-5"}],
    ],
)
async def test_refused_message_batches(
    claude: anthropic.AsyncAnthropic, requests: list[Any]
) -> None:
    with pytest.raises(anthropic.BadRequestError):
        await claude.messages.batches.create(requests=requests)


async def test_a_message_batch_expires_with_a_part_done(
    sim: Handle, claude: anthropic.AsyncAnthropic
) -> None:
    sim.batch(running=2 * DAY)
    batch = await claude.messages.batches.create(requests=[request(f"i{n}") for n in range(10)])
    sim.advance(DAY + 1)
    batch = await claude.messages.batches.retrieve(batch.id)
    counts = batch.request_counts
    assert (batch.processing_status, counts.succeeded, counts.expired) == ("ended", 5, 5)
    kinds = [line.result.type for line in await results_of(claude, batch.id)]
    assert kinds == ["succeeded"] * 5 + ["expired"] * 5


async def test_a_cancelled_message_batch(sim: Handle, claude: anthropic.AsyncAnthropic) -> None:
    sim.batch(running=100, finishing=10)
    batch = await claude.messages.batches.create(requests=[request(f"i{n}") for n in range(10)])
    with pytest.raises(anthropic.BadRequestError):
        await claude.messages.batches.delete(batch.id)
    sim.advance(31)
    assert (await claude.messages.batches.cancel(batch.id)).processing_status == "canceling"
    sim.advance(20)
    batch = await claude.messages.batches.retrieve(batch.id)
    assert batch.cancel_initiated_at is not None
    kinds = [line.result.type for line in await results_of(claude, batch.id)]
    assert kinds == ["succeeded"] * 3 + ["canceled"] * 7
    with pytest.raises(anthropic.BadRequestError):
        await claude.messages.batches.cancel(batch.id)


async def test_gone_and_failing_messages(sim: Handle, claude: anthropic.AsyncAnthropic) -> None:
    sim.batch(times=1, failing=[2], status=529)
    sim.batch(gone=True)
    batch = await claude.messages.batches.create(requests=[request("a"), request("b")])
    good, bad = await results_of(claude, batch.id)
    assert good.result.type == "succeeded"
    assert bad.result.error.error.type == "overloaded_error"
    batch = await claude.messages.batches.create(requests=[request("a")])
    with pytest.raises(anthropic.NotFoundError):
        await results_of(claude, batch.id)

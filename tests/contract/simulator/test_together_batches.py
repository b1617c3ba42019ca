"""Together's batches in the simulator, driven by the SDK, which parses strictly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import together

from tests.contract.simulator.clients import together_client
from tests.simulator.handle import Handle

pytestmark = pytest.mark.usefixtures("still")

KEY = "tgp_v1_planted"
MODEL = "meta-llama/Llama-3.3-70B-Instruct-Turbo"
CHAT: Any = "/v1/chat/completions"
DAY = 86_400


@pytest_asyncio.fixture
async def client(sim: Handle) -> AsyncIterator[together.AsyncTogether]:
    async with together_client(sim, KEY) as made:
        yield made


def chat_line(name: str, text: str = "Which letter?", **changes: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": text}]}
    return {"custom_id": name, "body": body, **changes}


async def stored(client: together.AsyncTogether, folder: Path, lines: list[Any]) -> str:
    file = folder / "in.jsonl"
    file.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    return (await client.files.upload(file, purpose="batch-api", check=False)).id


async def made(client: together.AsyncTogether, folder: Path, lines: list[Any]) -> Any:
    file = await stored(client, folder, lines)
    answer = await client.batches.create(input_file_id=file, endpoint=CHAT)
    assert answer.job
    return answer.job


async def seen(client: together.AsyncTogether, job: str) -> Any:
    """A batch as it is now; what its state says must be there, each test demands."""
    return await client.batches.retrieve(job)


async def result_lines(client: together.AsyncTogether, file: str) -> list[dict[str, Any]]:
    content = await client.files.content(file)
    return [json.loads(line) for line in (await content.read()).splitlines()]


async def test_the_life_of_a_batch(
    sim: Handle, client: together.AsyncTogether, tmp_path: Path
) -> None:
    sim.batch(waiting=60, running=100)
    job = await made(client, tmp_path, [chat_line(f"item-{n}", f"What is {n}?") for n in range(4)])
    assert (job.status, job.progress) == ("VALIDATING", 0.0)
    assert (job.job_deadline - job.created_at).total_seconds() == DAY
    sim.advance(111)
    job = await seen(client, job.id)
    assert (job.status, job.progress, job.output_file_id) == ("IN_PROGRESS", 50.0, None)
    sim.advance(50)
    (listed,) = await client.batches.list()
    assert (listed.status, listed.progress, listed.error_file_id) == ("COMPLETED", 100.0, None)
    assert listed.output_file_id
    lines = await result_lines(client, listed.output_file_id)
    assert [line["custom_id"] for line in lines] == [f"item-{n}" for n in range(4)]
    bodies = [line["response"]["body"] for line in lines]
    assert all(body["choices"][0]["message"]["content"] for body in bodies)
    assert sim.summary()["executed"] == 4


async def test_the_same_file_is_there_once(
    sim: Handle, client: together.AsyncTogether, tmp_path: Path
) -> None:
    first = await stored(client, tmp_path, [chat_line("a")])
    assert await stored(client, tmp_path, [chat_line("a")]) == first
    assert await stored(client, tmp_path, [chat_line("b")]) != first
    assert len((await client.files.list()).data) == 2
    assert (await client.files.delete(first)).deleted
    assert await stored(client, tmp_path, [chat_line("a")]) != first
    assert len([x for x in sim.entries() if x["method"] == "PUT"]) == 3


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ('{"custom_id": "b", ', "a JSON object"),
        ("[]", "a JSON object"),
        ({"body": {"model": MODEL}}, "custom_id and body"),
        ({"custom_id": "b"}, "custom_id and body"),
        (chat_line("a"), "unique"),
        (chat_line("x" * 65), "64 characters"),
        (chat_line("b", body={"model": "other", "messages": []}), "one model"),
    ],
)
async def test_one_bad_line_fails_the_file(
    sim: Handle, client: together.AsyncTogether, tmp_path: Path, bad: Any, told: str
) -> None:
    job = await made(client, tmp_path, [chat_line("a"), bad])
    assert job.error is None
    job = await seen(client, job.id)
    assert (job.status, job.output_file_id) == ("FAILED", None)
    assert job.error.startswith("line 2: ")
    assert told in job.error
    assert sim.summary()["executed"] == 0


async def test_method_and_path_in_a_line_do_no_harm(
    client: together.AsyncTogether, tmp_path: Path
) -> None:
    job = await made(client, tmp_path, [chat_line("a", method="POST", url=CHAT)])
    assert (await seen(client, job.id)).status == "COMPLETED"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"endpoint": "/v1/nothing"}, 400),
        ({"completion_window": "1h"}, 400),
        ({"input_file_id": "file-of-others"}, 404),
        ({"extra_body": {"metadata": {}}}, 400),
    ],
)
async def test_refused_batches(
    client: together.AsyncTogether, tmp_path: Path, changes: dict[str, Any], status: int
) -> None:
    file = await stored(client, tmp_path, [chat_line("a")])
    given: dict[str, Any] = {"input_file_id": file, "endpoint": CHAT}
    with pytest.raises(together.APIStatusError) as caught:
        await client.batches.create(**given | changes)
    assert caught.value.status_code == status


@pytest.mark.parametrize("ending", ["EXPIRED", "CANCELLED"])
async def test_an_early_end_keeps_what_is_done(
    sim: Handle, client: together.AsyncTogether, tmp_path: Path, ending: str
) -> None:
    sim.batch(running=2 * DAY)
    job = await made(client, tmp_path, [chat_line(f"item-{n}") for n in range(10)])
    sim.advance(DAY + 1 if ending == "EXPIRED" else DAY - 60)
    if ending == "CANCELLED":
        await client.batches.cancel(job.id)
    job = await seen(client, job.id)
    done = 5 if ending == "EXPIRED" else 4
    assert (job.status, job.progress) == (ending, 10.0 * done)
    assert len(await result_lines(client, job.output_file_id)) == done
    errors = await result_lines(client, job.error_file_id)
    assert {line["error"]["code"] for line in errors} == {f"batch_{ending.lower()}"}
    assert len(errors) == 10 - done
    with pytest.raises(together.BadRequestError):
        await client.batches.cancel(job.id)


async def test_what_is_wrong_with_a_request_is_told_in_its_line(
    client: together.AsyncTogether, tmp_path: Path
) -> None:
    bad = chat_line("b")
    bad["body"]["temperature"] = 9
    job = await made(client, tmp_path, [chat_line("a"), bad])
    job = await seen(client, job.id)
    (line,) = await result_lines(client, job.error_file_id)
    assert line["custom_id"] == "b"
    assert line["error"]["code"] == "invalid_request_error"
    assert "temperature" in line["error"]["message"]


async def test_others_see_nothing_of_it(client: together.AsyncTogether, tmp_path: Path) -> None:
    job = await made(client, tmp_path, [chat_line("a")])
    other = client.with_options(api_key="tgp_v1_other")
    assert await other.batches.list() == []
    with pytest.raises(together.NotFoundError):
        await other.batches.retrieve(job.id)
    with pytest.raises(together.AuthenticationError):
        await client.with_options(api_key="wrong").batches.list()

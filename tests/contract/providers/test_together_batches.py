"""What is particular to Together's batches: the upload, the lines, finding one again, the price."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import Call, JobState, ModelRef, Reply, generate
from evalbench.engine.cost.prices import PriceBook
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_batches import HALVED, NAME, Desk, questions
from tests.simulator.handle import Handle
from tests.unit.providers.calls import look

pytestmark = pytest.mark.usefixtures("still")

SEES = "Qwen/Qwen3.5-9B"


@pytest.fixture
def desk(make: Make, tmp_path: Path) -> Desk:
    return Desk(make("together"), HALVED, tmp_path)


async def uploaded(desk: Desk, count: int = 1) -> dict[str, Any]:
    await desk.provider.get_ready(questions(desk, 1)[0])
    desk.write(questions(desk, count))
    told: dict[str, Any] = await desk.provider.batch_api.upload(desk.file, NAME, HALVED)
    return told


def sent(sim: Handle, what: str) -> list[dict[str, Any]]:
    return [entry for entry in sim.entries() if what in entry["path"]]


async def test_a_file_goes_up_in_three_steps(sim: Handle, desk: Desk) -> None:
    told = await uploaded(desk)
    begun, done = sent(sim, "files")
    (put,) = sent(sim, "store")
    assert [one["method"] for one in (begun, put, done)] == ["POST", "PUT", "POST"]
    assert hashlib.sha256(desk.file.read_bytes()).hexdigest() in begun["body"]
    assert "batch-api" in begun["body"]
    assert done["path"] == f"/together/v1/files/{told['file']}/preprocess"
    # The place where the bytes go is not the API's: the key stays here.
    assert not put["key"]
    headers = {name.lower(): value for name, value in put["headers"].items()}
    assert "authorization" not in headers
    assert int(headers["content-length"]) == desk.file.stat().st_size


async def test_lines_hold_a_name_and_a_body(desk: Desk) -> None:
    (call,) = questions(desk, 1)
    line = desk.provider.batch_api.line(call, "item0")
    assert line.startswith(b'{"custom_id":"item0","body":{"model":')


async def test_a_file_that_is_there_already_is_not_sent_again(sim: Handle, desk: Desk) -> None:
    first = await uploaded(desk)
    assert await desk.provider.batch_api.upload(desk.file, NAME, HALVED) == first
    assert len(sent(sim, "store")) == 1


async def test_a_file_whose_bytes_never_came_is_sent_again(sim: Handle, desk: Desk) -> None:
    sim.fault(status=500, path="store", times=1)
    with pytest.raises(e.ServerFault):
        await uploaded(desk)
    await uploaded(desk)
    job = await desk.provider.batch_api.create(desk.file, NAME, HALVED, await uploaded(desk))
    assert (await desk.poll(job)).state is JobState.ENDED


@pytest.mark.parametrize(
    ("kind", "error", "settings"),
    [
        ("reset_before_headers", e.ConnectionFailed, {}),
        ("hang", e.DeadlineExceeded, {"timeout": 0.5}),
    ],
)
async def test_a_place_that_does_not_take_the_bytes(
    sim: Handle,
    make: Make,
    tmp_path: Path,
    kind: str,
    error: type[e.ProviderError],
    settings: dict[str, float],
) -> None:
    desk = Desk(make("together", **settings), HALVED, tmp_path)
    sim.fault(kind, path="store")
    with pytest.raises(error):
        await uploaded(desk)


async def test_bytes_are_taken_to_where_their_place_has_moved(sim: Handle, desk: Desk) -> None:
    await uploaded(desk)
    (put,) = sent(sim, "store")
    where = f"{sim.url}{put['path']}?signature=simulated"
    desk.write(questions(desk, 2))
    sim.fault(status=307, path="store", times=1, headers={"location": where})
    await desk.provider.batch_api.upload(desk.file, NAME, HALVED)
    assert [one["status"] for one in sent(sim, "store")] == [200, 307, 200]


@pytest.mark.parametrize("where", ["", "ftp://files", "no place", "http:///nobody"])
async def test_a_place_that_is_none_is_not_gone_to(sim: Handle, desk: Desk, where: str) -> None:
    headers = {"location": where, "x-together-file-id": "file-1"}
    sim.fault(status=302, path="files", headers=headers)
    with pytest.raises(e.ServerFault):
        await uploaded(desk)


async def test_a_lost_file_is_told_as_such(desk: Desk) -> None:
    await uploaded(desk)
    with pytest.raises(e.CallRejected) as caught:
        await desk.provider.batch_api.create(desk.file, NAME, HALVED, {"file": "file-of-yore"})
    assert "no longer" in caught.value.what


async def test_the_youngest_batch_of_a_file_is_the_one(sim: Handle, desk: Desk) -> None:
    told = await uploaded(desk)
    await desk.provider.batch_api.create(desk.file, NAME, HALVED, told)
    sim.advance(60)
    again = await desk.provider.batch_api.create(desk.file, NAME, HALVED, told)
    sim.advance(60)
    await desk.submit(questions(desk, 2))
    found = await desk.provider.batch_api.find(f"{NAME}01", HALVED, told, requests=1, since=0.0)
    assert [(job.id, job.name) for job in found] == [(again.id, f"{NAME}01")]


async def test_progress_is_told_in_parts(sim: Handle, desk: Desk) -> None:
    sim.batch(running=100)
    job = await desk.submit(questions(desk, 4))
    sim.advance(51)
    assert (await desk.poll(job)).progress == 0.5


async def test_a_full_queue_can_be_tried_again(sim: Handle, desk: Desk) -> None:
    sim.batch(times=1, queue=10)
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    assert (job.state, job.again) == (JobState.FAILED, True)
    assert "enqueued tokens" in job.why
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    assert job.state is JobState.ENDED


async def test_a_refused_file_cannot(sim: Handle, desk: Desk) -> None:
    await desk.provider.get_ready(questions(desk, 1)[0])
    desk.write(questions(desk, 2))
    first, _ = desk.file.read_bytes().splitlines()
    desk.file.write_bytes(b"\n".join([first, first]))
    told = await desk.provider.batch_api.upload(desk.file, NAME, HALVED)
    job = await desk.poll(await desk.provider.batch_api.create(desk.file, NAME, HALVED, told))
    assert (job.state, job.again) == (JobState.FAILED, False)
    assert "line 2: custom_id" in job.why
    assert sim.summary()["executed"] == 0


async def test_images_and_refused_parameters(sim: Handle, make: Make, tmp_path: Path) -> None:
    desk = Desk(make("together"), SEES, tmp_path)
    sim.model("together", SEES, thinking=("enabled",))
    off = Call(ModelRef("together", SEES), generate("Think not.", effort="none", max_tokens=64))
    replies = list((await desk.done([look(f"together/{SEES}"), off])).values())
    assert isinstance(replies[0], Reply)
    assert type(replies[1]) is e.TransientError
    assert "goes without it" in str(replies[1])
    (again,) = (await desk.done([off])).values()
    assert isinstance(again, Reply)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("invalid_model", e.NoSuchModel),
        ("rate_limit_exceeded", e.RateLimited),
        ("timeout", e.ServerFault),
        (None, e.ServerFault),
    ],
)
def test_errors_in_lines(home: Path, make: Make, code: str | None, kind: type[Exception]) -> None:
    provider = make("together")
    call = Call(ModelRef("together", HALVED), generate("What?"))
    told = f'"{code}"' if code else "null"
    line = f'{{"custom_id":"a","error":{{"message":"Invalid model specified","code":{told}}}}}'
    with pytest.raises(kind) as caught:
        provider.batch_api.reply(provider.batch_api.parse(line.encode()), call)
    assert type(caught.value) is kind


async def test_the_simulator_halves_what_the_price_book_halves(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    book = PriceBook()
    factors = {}
    for model in (HALVED, "openai/gpt-oss-120b"):
        desk = Desk(make("together"), model, tmp_path)
        (call,) = questions(desk, 1)
        await desk.provider.answer(call)
        await desk.done([call])
        at_once, later = [x["bill"]["nanodollars"] for x in sim.entries() if x["bill"]][-2:]
        factors[model] = later / at_once
    assert factors == pytest.approx({HALVED: 0.5, "openai/gpt-oss-120b": 1.0}, abs=0.01)
    full = book.prices(ModelRef("together", HALVED))
    half = book.prices(ModelRef("together", HALVED), "batch")
    assert full
    assert half
    assert half.rates.input == full.rates.input / 2
    assert book.prices(ModelRef("together", "openai/gpt-oss-120b"), "batch") is None

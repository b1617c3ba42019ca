"""Batches of the real providers, through their SDKs, against the simulator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import (
    BatchJob,
    Call,
    JobState,
    ModelRef,
    Outcome,
    Reply,
    generate,
)
from evalbench.engine.config import registry
from evalbench.providers.anthropic import batches as anthropic_batches
from evalbench.providers.chat import batches as chat_batches
from evalbench.providers.google import batches as google_batches
from tests.contract.providers.conftest import KEY, Make
from tests.contract.providers.test_answers import LANES
from tests.simulator.handle import Handle
from tests.unit.providers.calls import few_shot, look, pick, talk

pytestmark = pytest.mark.usefixtures("still")

DAY = 86_400
NAME = "abcdef0123"
FILES = ("openai-chat", "openai-responses", "groq")
TAKERS = ("anthropic", *FILES, "together", "google")
PLACES = {
    "anthropic": ("batches", "/batches", "/results"),
    "google": ("files", ":batchGenerateContent", ":download"),
}
"""Parts of the paths to which requests go, with which batches are made, results fetched."""
USUAL_PLACES = ("files", "/batches", "/content")
NAMELESS = ("anthropic", "together")
"""Who keeps no names of batches."""
UNCOUNTED = ("anthropic", "together")
"""Who does not say how many requests are done while a batch runs."""
HALVED = "meta-llama/Llama-3.3-70B-Instruct-Turbo"
BATCH_LANES = LANES | {"together": ("together", HALVED, {})}


@dataclass
class Desk:
    """A provider, a folder and calls: what the engine would hold while a batch is out."""

    provider: Any
    model: str
    folder: Path
    calls: dict[str, Call] = field(default_factory=dict)
    since: float = 0.0

    @property
    def file(self) -> Path:
        return self.folder / f"{NAME}.jsonl"

    def write(self, calls: Sequence[Call]) -> None:
        """The request file."""
        self.calls = {f"{NAME}{number:04d}": call for number, call in enumerate(calls)}
        lines = [self.provider.batch_api.line(call, item) for item, call in self.calls.items()]
        assert not any(b"\n" in line for line in lines)
        self.file.write_bytes(b"".join(line + b"\n" for line in lines))

    async def submit(self, calls: Sequence[Call]) -> BatchJob:
        """Write, upload, create."""
        await self.provider.get_ready(calls[0])
        self.write(calls)
        self.since = time.time()
        uploaded = await self.provider.batch_api.upload(self.file, NAME, self.model)
        job: BatchJob = await self.provider.batch_api.create(self.file, NAME, self.model, uploaded)
        return job

    async def poll(self, job: BatchJob) -> BatchJob:
        told: BatchJob = await self.provider.batch_api.poll(job.id, self.model)
        return told

    async def lines(self, job: BatchJob) -> list[bytes]:
        """The result lines, as the engine cuts them."""
        into = self.folder / "results.jsonl"
        await self.provider.batch_api.fetch(job, into)
        assert into.stat().st_mode & 0o777 == 0o600
        return [line for line in into.read_bytes().split(b"\n") if line]

    async def replies(self, job: BatchJob) -> dict[str, Reply | e.ProviderError]:
        """What each line says, by item."""
        found: dict[str, Reply | e.ProviderError] = {}
        for line in await self.lines(job):
            result = self.provider.batch_api.parse(line)
            try:
                found[result.item] = self.provider.batch_api.reply(result, self.calls[result.item])
            except e.ProviderError as error:
                found[result.item] = error
        return found

    async def done(self, calls: Sequence[Call]) -> dict[str, Reply | e.ProviderError]:
        """From calls to what came of them."""
        job = await self.poll(await self.submit(calls))
        assert job.state is JobState.ENDED
        return await self.replies(job)


Sit = Any


@pytest.fixture
def sit(make: Make, tmp_path: Path) -> Sit:
    """Sits down at a lane's preflight."""

    def at(name: str, model: str = "", **settings: Any) -> Desk:
        provider_name, usual, own = BATCH_LANES[name]
        provider = make(provider_name, **own | settings)
        assert provider.batch_api is not None
        return Desk(provider, model or usual, tmp_path)

    return at


def ask(desk: Desk, text: str, **params: Any) -> Call:
    return Call(ModelRef(desk.provider.name, desk.model), generate(text, **params))


def questions(desk: Desk, count: int = 6) -> list[Call]:
    # Line separators that are none in JSON lines must not cut a line.
    return [ask(desk, f"Question {n}\u2028\x85 of {count}?", max_tokens=64) for n in range(count)]


@pytest.mark.parametrize("name", TAKERS)
async def test_the_whole_life(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    assert desk.provider.capabilities(desk.model).batch
    sim.batch(waiting=60, running=600)
    began = time.time()
    job = await desk.submit(questions(desk))
    assert job.state in (JobState.WAITING, JobState.RUNNING)
    window = desk.provider.batch_api.terms(desk.model).window_s
    assert window == (2 * DAY if name == "google" else DAY)
    assert began - 60 <= job.expires - window <= time.time() + 60
    sim.advance(360)
    job = await desk.poll(job)
    assert job.state is JobState.RUNNING
    assert job.reported - job.created == pytest.approx(360, abs=2)
    if name != "together":
        assert job.total == 6
    assert job.succeeded == (None if name in UNCOUNTED else 3)
    sim.advance(301)
    job = await desk.poll(job)
    assert job.state is JobState.ENDED
    counts = (None, None, None) if name == "together" else (6, 6, 0)
    assert (job.total, job.succeeded, job.failed) == counts
    assert job.name == ("" if name in NAMELESS else NAME)
    replies = await desk.replies(job)
    assert sim.summary()["executed"] == 6
    for item, call in desk.calls.items():
        at_once, late = await desk.provider.answer(call), replies[item]
        assert isinstance(late, Reply)
        assert (late.text, late.usage, late.params) == (at_once.text, at_once.usage, at_once.params)
        assert (late.outcome, late.stop_reason) == (at_once.outcome, at_once.stop_reason)
        assert late.provider_model == at_once.provider_model
        assert late.request_id
        assert late.raw
    assert sim.summary()["answered"] == {"2": 6}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_lines_hold_what_goes_out_at_once(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    full = f"{desk.provider.name}/{desk.model}"
    calls = [talk(full, temperature=0.5), few_shot(full, seed=3)]
    if name not in ("groq", "together"):
        calls.append(look(full))
    replies = await desk.done(calls)
    for call in calls:
        await desk.provider.answer(call)
    assert all(isinstance(reply, Reply) for reply in replies.values())
    billed = [entry for entry in sim.entries() if entry["bill"]]
    half = len(calls)
    assert [entry["body"] for entry in billed[:half]] == [e["body"] for e in billed[half:]]
    prices = [entry["bill"]["nanodollars"] for entry in billed]
    if not any(entry["bill"]["cache_read_tokens"] for entry in billed):
        assert [2 * price for price in prices[:half]] == pytest.approx(prices[half:], abs=2)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_part_done_before_it_expired(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    window = desk.provider.batch_api.terms(desk.model).window_s
    sim.batch(running=2 * window)
    job = await desk.submit(questions(desk))
    sim.advance(window + 1)
    job = await desk.poll(job)
    assert job.state is JobState.EXPIRED
    replies = list((await desk.replies(job)).values())
    if name == "google":
        # What a batch of Gemini's did before is lost.
        assert replies == []
        return
    assert [type(reply) for reply in replies] == [Reply] * 3 + [e.DeadlineExceeded] * 3
    late = replies[-1]
    assert isinstance(late, e.DeadlineExceeded)
    assert not late.possibly_billed
    assert "out of time" in late.why


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_cancelling_keeps_what_is_done(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.batch(running=600, finishing=10)
    job = await desk.submit(questions(desk))
    sim.advance(301)
    await desk.provider.batch_api.cancel(job.id, desk.model)
    assert (await desk.poll(job)).state is JobState.RUNNING
    sim.advance(20)
    job = await desk.poll(job)
    assert job.state is JobState.CANCELLED
    replies = list((await desk.replies(job)).values())
    without = [] if name == "google" else [e.DeadlineExceeded] * 3
    assert [type(reply) for reply in replies] == [Reply] * 3 + without
    # One that is over is left alone.
    await desk.provider.batch_api.cancel(job.id, desk.model)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_disturbed_results(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.batch(order="reversed", missing=[1], duplicated=[2], malformed=[3])
    job = await desk.poll(await desk.submit(questions(desk)))
    items, unreadable = [], 0
    for line in await desk.lines(job):
        try:
            items.append(desk.provider.batch_api.parse(line).item)
        except ValueError:
            unreadable += 1
    ordinals = [int(item[-4:]) + 1 for item in items]
    assert ordinals == [6, 5, 4, 2, 2]
    assert unreadable == 1


@pytest.mark.share(4)
@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, e.RateLimited), (500, e.ServerFault), (503, e.Overloaded), (400, e.CallRejected)],
)
async def test_errors_only(
    sim: Handle, sit: Sit, name: str, status: int, kind: type[e.ProviderError]
) -> None:
    if name == "anthropic":
        status, kind = {503: (529, kind)}.get(status, (status, kind))
    desk = sit(name)
    sim.batch(failing="all", status=status)
    replies = await desk.done(questions(desk, 2))
    assert [type(reply) for reply in replies.values()] == [kind, kind]
    for error in replies.values():
        assert isinstance(error, e.ProviderError)
        assert not error.possibly_billed
        assert KEY not in f"{error}{error.body}"


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_good_and_bad_lines_come_together(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.batch(failing=[2, 5])
    replies = await desk.done(questions(desk))
    kinds = {int(item[-4:]) + 1: type(reply) for item, reply in replies.items()}
    assert kinds == {n: e.ServerFault if n in (2, 5) else Reply for n in range(1, 7)}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_trouble_while_polling(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    job = await desk.submit(questions(desk, 1))
    sim.fault(status=503, path="batches/")
    with pytest.raises(e.Overloaded):
        await desk.poll(job)
    sim.no_faults()
    # Not so many times: how often HTTP clients ask again by themselves is their own affair.
    sim.fault("reset_before_headers", path="batches/")
    with pytest.raises(e.ConnectionFailed):
        await desk.poll(job)
    sim.no_faults()
    sim.fault("malformed_json", path="batches/", times=1)
    with pytest.raises(e.ServerFault):
        await desk.poll(job)
    assert (await desk.poll(job)).state is JobState.ENDED


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_batch_that_is_no_longer_there(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    await desk.provider.get_ready(ask(desk, "Anything"))
    with pytest.raises(e.CallRejected) as caught:
        await desk.provider.batch_api.poll("batch_of_yore", desk.model)
    assert "no longer" in caught.value.what


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_results_that_are_gone(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.batch(gone=True)
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    with pytest.raises(e.CallRejected) as caught:
        await desk.lines(job)
    assert "results" in caught.value.what


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_404_of_no_api_does_not_give_a_batch_up(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    job = await desk.submit(questions(desk, 1))
    sim.fault(status=404, path="batches/", body="<html>Not here</html>", times=1)
    with pytest.raises(e.ServerFault):
        await desk.poll(job)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_cut_download_is_no_result(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    job = await desk.poll(await desk.submit(questions(desk)))
    _, _, where = PLACES.get(name, USUAL_PLACES)
    for kind in ("truncated_body", "reset_after_headers"):
        sim.fault(kind, path=where, times=1)
        with pytest.raises(e.ConnectionFailed):
            await desk.lines(job)
    # What came before is not added to.
    assert len(await desk.lines(job)) == 6


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_transfer_that_stands_still_is_given_up(sim: Handle, sit: Sit, name: str) -> None:
    sent, _, fetched = PLACES.get(name, USUAL_PLACES)
    patient = sit(name)  # what is answered may take its time on a busy machine
    job = await patient.poll(await patient.submit(questions(patient, 1)))
    desk = sit(name, timeout=0.3)
    sim.fault("hang", path=fetched)
    with pytest.raises(e.DeadlineExceeded):
        await desk.lines(job)
    sim.no_faults()
    sim.fault("hang", path=sent)
    with pytest.raises(e.DeadlineExceeded):
        await desk.submit(questions(desk, 1))
    sim.no_faults()
    sim.fault("hang", path="batches/")
    with pytest.raises(e.DeadlineExceeded):
        await desk.poll(job)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize("set_back", [0, 2 * DAY])
async def test_a_creation_without_an_answer_is_found(
    sim: Handle, sit: Sit, name: str, set_back: int
) -> None:
    """Also where this machine's clock was two days ahead at the creation, and was set since."""
    desk = sit(name)
    # Batches of others, older, larger or of another name, are not taken for it.
    await desk.submit(questions(desk, 2))
    sim.advance(3 * 3600)
    provider = desk.provider
    desk.write(questions(desk, 3))
    uploaded = await provider.batch_api.upload(desk.file, NAME, desk.model)
    await provider.batch_api.create(desk.file, "other00000", desk.model, uploaded)
    desk.write(questions(desk, 2))
    uploaded = await provider.batch_api.upload(desk.file, "lost000000", desk.model)
    since = time.time() + 3 * 3600 if name == "anthropic" else time.time()
    _, made, _ = PLACES.get(name, USUAL_PLACES)
    sim.fault("reset_before_headers", path=made, times=1, billed=True)
    with pytest.raises(e.ConnectionFailed) as caught:
        await provider.batch_api.create(desk.file, "lost000000", desk.model, uploaded)
    assert caught.value.possibly_billed
    found = await provider.batch_api.find(
        "lost000000", desk.model, uploaded, requests=2, since=since - 3 * 3600 + set_back
    )
    assert [job.id for job in found] == [sim.batches()[-1]["id"]]
    assert found[0].name == ("" if name == "anthropic" else "lost000000")


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_nothing_is_found_where_nothing_was_made(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    await desk.provider.get_ready(ask(desk, "Anything"))
    for _ in range(3):
        await desk.submit(questions(desk, 1))
    found = await desk.provider.batch_api.find(
        "lost000000", desk.model, {"file": "file-none"}, requests=2, since=time.time() - 5
    )
    assert not found


@pytest.mark.share(4)
@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(
    "body", [{}, {"data": 7}, {"data": [7]}, {"data": [{"id": "x"}]}, {"id": 7, "status": "new"}]
)
async def test_nonsense_about_batches(
    sim: Handle, sit: Sit, name: str, body: dict[str, Any]
) -> None:
    desk = sit(name)
    job = await desk.submit(questions(desk, 1))
    sim.fault(status=200, path="batches", body=body)
    with pytest.raises(e.ServerFault):
        await desk.poll(job)
    if body or name != "google":  # an empty list is left out of Google's bodies
        with pytest.raises(e.ServerFault):
            await desk.provider.batch_api.find(
                NAME, desk.model, {"file": "f"}, requests=1, since=0.0
            )
    sim.fault(status=200, path="files", body=body)
    with pytest.raises(e.ServerFault):
        await desk.submit(questions(desk, 1))


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_a_state_that_nobody_knows_yet(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    job = await desk.submit(questions(desk, 1))
    body = {
        "id": job.id, "status": "pondering", "processing_status": "pondering",
        "request_counts": {}, "errors": [], "metadata": 7, "expires_at": "soon",
    }  # fmt: skip
    if name == "google":
        metadata = {"state": "BATCH_STATE_pondering", "batchStats": 7, "createTime": "soon"}
        body = {"name": f"batches/{job.id}", "metadata": metadata, "error": 7}
    sim.fault(status=200, path="batches/", body=body, times=1)
    job = await desk.poll(job)
    assert (job.state, job.expires) == (JobState.RUNNING, None)
    assert "pondering" in job.why


async def test_many_pages_are_looked_through(
    sim: Handle, sit: Sit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, module in (
        ("anthropic", anthropic_batches), ("openai-chat", chat_batches), ("google", google_batches),
    ):  # fmt: skip
        monkeypatch.setattr(module, "PAGE", 3)
        desk = sit(name)
        first = await desk.submit(questions(desk, 2))
        for _ in range(7):
            desk.write(questions(desk, 1))
            uploaded = await desk.provider.batch_api.upload(desk.file, "x", desk.model)
            await desk.provider.batch_api.create(desk.file, "x", desk.model, uploaded)
        found = await desk.provider.batch_api.find(
            NAME, desk.model, {"file": "file-none"}, requests=2, since=desk.since
        )
        assert [job.id for job in found] == [first.id]


@pytest.mark.parametrize(("name", "count"), [("anthropic", 1), ("openai-chat", 0)])
async def test_a_page_that_comes_again_and_again_is_the_last(
    sim: Handle, sit: Sit, name: str, count: int
) -> None:
    """Some servers ignore where a list is to go on."""
    desk = sit(name)
    now = int(time.time())
    entry: dict[str, Any] = {"id": "b1", "status": "completed", "created_at": now}
    if name == "anthropic":
        counts = {"succeeded": 2, "processing": 0}
        entry = {"id": "b1", "processing_status": "ended", "request_counts": counts}
    sim.fault(status=200, path="batches", body={"data": [entry], "has_more": True})
    async with asyncio.timeout(20):
        found = await desk.provider.batch_api.find(
            "lost000000", desk.model, {"file": "file-none"}, requests=2, since=now
        )
    assert len(found) == count


@pytest.mark.parametrize("name", FILES)
async def test_a_full_queue_can_be_tried_again(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.batch(times=1, queue=10)
    assert desk.provider.batch_api.terms(desk.model).most_tokens is None
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    assert (job.state, job.again) == (JobState.FAILED, True)
    assert "Enqueued token limit" in job.why
    assert desk.provider.batch_api.terms(desk.model).most_tokens == 10
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    assert job.state is JobState.ENDED


@pytest.mark.parametrize("name", FILES)
async def test_a_refused_file_cannot(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    await desk.provider.get_ready(ask(desk, "Anything"))
    desk.write(questions(desk, 2))
    lines = desk.file.read_bytes().splitlines()
    desk.file.write_bytes(b"\n".join([lines[0], lines[0], b"{", lines[1]]))
    uploaded = await desk.provider.batch_api.upload(desk.file, NAME, desk.model)
    job = await desk.provider.batch_api.create(desk.file, NAME, desk.model, uploaded)
    job = await desk.poll(job)
    assert (job.state, job.again) == (JobState.FAILED, False)
    assert "line 2: The custom_id" in job.why
    assert "line 3: This line is not parseable" in job.why
    assert sim.summary()["executed"] == 0


@pytest.mark.parametrize("name", FILES)
async def test_the_batch_is_for_the_endpoint_of_its_lines(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    await desk.submit(questions(desk, 1))
    (created,) = [x for x in sim.entries() if x["path"].endswith("/batches")]
    wanted = "/v1/responses" if name == "openai-responses" else "/v1/chat/completions"
    assert created["body"]["endpoint"] == wanted
    assert created["body"]["metadata"] == {"evalbench": NAME}
    assert "output_expires_after" not in created["body"]


async def test_a_batch_without_any_result_file_is_empty(sim: Handle, sit: Sit) -> None:
    desk = sit("openai-chat")
    sim.batch(missing=[1])
    job = await desk.poll(await desk.submit(questions(desk, 1)))
    assert job.state is JobState.ENDED
    assert job.results == {}
    assert await desk.lines(job) == []


async def test_a_lost_error_file_takes_no_answers_along(sim: Handle, sit: Sit) -> None:
    desk = sit("openai-chat")
    sim.batch(failing=[2])
    job = await desk.poll(await desk.submit(questions(desk)))
    lost = job.results["error"]
    sim.fault(status=404, path=lost, body={"error": {"message": f"No such File object: {lost}"}})
    assert len(await desk.lines(job)) == 5


@pytest.mark.parametrize(
    ("name", "model", "refusing", "param"),
    [
        ("anthropic", "claude-haiku-4-5", {"sampling": "never"}, {"temperature": 0.0}),
        ("openai-chat", "gpt-4.1", {"sampling": "never"}, {"temperature": 0.0}),
        ("openai-responses", "gpt-4.1", {"sampling": "never"}, {"temperature": 0.0}),
        ("groq", "llama-3.3-70b-versatile", {"stop": False}, {"stop": ("Z",)}),
        ("google", "gemini-2.5-flash", {"sampling": "never"}, {"temperature": 0.0}),
    ],
)
async def test_a_refused_parameter_is_learned_from_a_line(
    sim: Handle, sit: Sit, name: str, model: str, refusing: dict[str, Any], param: dict[str, Any]
) -> None:
    desk = sit(name, model)
    sim.model(desk.provider.name, model, **refusing)
    calls = [ask(desk, f"Question {n}", max_tokens=64, **param) for n in range(3)]
    replies = await desk.done(calls)
    # One line teaches it, and all of them can be asked again.
    assert {type(reply) for reply in replies.values()} == {e.TransientError}
    (what,) = param
    assert what in str(next(iter(replies.values())))
    assert f'"{what}'.encode() not in desk.provider.batch_api.line(calls[0], "again")
    again = await desk.done(calls)
    for reply in again.values():
        assert isinstance(reply, Reply)
        assert {note.name: note.fate for note in reply.params}[what] == "refused"


async def test_a_refusal_that_is_known_since_the_last_run(
    sim: Handle, sit: Sit, make: Make
) -> None:
    desk = sit("openai-chat")
    sim.model("openai", desk.model, sampling="never")
    calls = [ask(desk, f"Question {n}", temperature=0.0) for n in range(2)]
    job = await desk.poll(await desk.submit(calls))
    lines = await desk.lines(job)
    with pytest.raises(e.TransientError):
        desk.provider.batch_api.reply(desk.provider.batch_api.parse(lines[0]), calls[0])
    later = make("openai")
    with pytest.raises(e.TransientError):
        later.batch_api.reply(later.batch_api.parse(lines[1]), calls[1])


async def test_other_bad_requests_stay_what_they_are(sim: Handle, sit: Sit) -> None:
    groq = "llama-3.3-70b-versatile"
    models = ("claude-haiku-4-5", "gpt-4o-mini", "gpt-4o-mini", groq, HALVED, "gemini-2.5-flash")
    sim.model("google", "gemini-2.5-flash", context=100_000)
    for name, model in zip(TAKERS, models, strict=True):
        desk = sit(name, model)
        replies = await desk.done([ask(desk, "word " * 180_000, max_tokens=64)])
        (error,) = replies.values()
        assert type(error) is e.ContextTooLong, name


async def test_a_refused_prompt_is_an_outcome(sim: Handle, sit: Sit) -> None:
    sim.rule("bomb", kind="refusal", text="No.")
    for name in TAKERS[:3]:
        desk = sit(name)
        (reply,) = (await desk.done([ask(desk, "bomb")])).values()
        assert isinstance(reply, Reply)
        assert reply.outcome is Outcome.REFUSED
        assert reply.text == "No."


async def test_a_failed_response_in_a_good_line(sim: Handle, sit: Sit) -> None:
    sim.rule("doomed", kind="failed")
    desk = sit("openai-responses")
    (error,) = (await desk.done([ask(desk, "doomed")])).values()
    assert type(error) is e.ServerFault


@pytest.mark.parametrize(
    ("warm", "version"), [((), "2026-10-21"), ((0,), "2023-06-01"), ((3,), "2023-06-01")]
)
async def test_the_version_fits_what_the_lines_hold(
    sim: Handle, sit: Sit, warm: tuple[int, ...], version: str
) -> None:
    desk = sit("anthropic", "claude-sonnet-4-5")
    schema = {
        "type": "object", "properties": {"temperature": {"type": "number"}},
        "required": ["temperature"], "additionalProperties": False,
    }  # fmt: skip
    calls = [
        ask(desk, f'Is "temperature": {n}?', temperature=0.0 if n in warm else None, schema=schema)
        for n in range(4)
    ]
    replies = await desk.done(calls)
    assert all(isinstance(reply, Reply) for reply in replies.values())
    (created,) = [x for x in sim.entries() if x["path"].endswith("/batches") and x["body"]]
    assert created["headers"]["anthropic-version"] == version


async def test_a_server_without_batches_says_so_once(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    provider = make("compatible")
    desk = Desk(provider, LANES["compatible"][1], tmp_path)
    assert provider.capabilities(desk.model).batch
    with pytest.raises(e.RunFatal) as caught:
        await desk.submit(questions(desk, 1))
    assert "takes no batches" in caught.value.what
    assert "--mode realtime" in caught.value.hint
    assert provider.batch_api.terms(desk.model) is None
    assert not provider.capabilities(desk.model).batch


async def test_batches_of_any_server_can_be_switched(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    assert make("compatible", batches="no").batch_api.terms("m") is None
    assert make("vllm").batch_api.terms("m") is None
    assert make("vllm", batches="yes").batch_api.terms("m") is not None
    assert make("groq", batches="no").batch_api.terms("m") is None
    model = "llama-3.3-70b-versatile"
    gateway = make("compatible", base_url=sim.base_url("groq"), batches="yes")
    desk = Desk(gateway, model, tmp_path)
    replies = await desk.done(questions(desk, 2))
    assert all(isinstance(reply, Reply) for reply in replies.values())


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_likelihoods_are_not_for_batches(sit: Sit, name: str) -> None:
    desk = sit(name)
    with pytest.raises(e.CallRejected):
        desk.provider.batch_api.line(pick(f"{desk.provider.name}/{desk.model}"), "item")


@pytest.mark.share(2)
@pytest.mark.parametrize("name", TAKERS)
async def test_no_key_reaches_a_reply_or_an_error(sim: Handle, sit: Sit, name: str) -> None:
    desk = sit(name)
    sim.rule("echo", text=f"Your key is {KEY}.")
    (reply,) = (await desk.done([ask(desk, "echo")])).values()
    assert isinstance(reply, Reply)
    assert KEY not in f"{reply}"
    desk.provider.secret = ""
    with pytest.raises(e.BadKey):
        await desk.provider.batch_api.poll("any", desk.model)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"{}", b'{"custom_id":7}', b"\xff"],
)
def test_unreadable_lines(name: str, line: bytes, home: Path) -> None:
    provider_name, _, own = LANES[name]
    made: Any = registry.provider_class(provider_name)
    batches = made(own, KEY).batch_api
    with pytest.raises(ValueError, match=r"."):
        batches.parse(line.replace(b"custom_id", batches.item_field.encode()))


@pytest.mark.share(4)
@pytest.mark.parametrize("name", TAKERS)
@pytest.mark.parametrize(
    "line",
    [b'{"custom_id":"a"}', b'{"custom_id":"a","result":7,"response":7}',
     b'{"custom_id":"a","result":{"type":"new"},"response":{"status_code":200,"body":7}}',
     b'{"custom_id":"a","result":{"type":"succeeded","message":{"content":7}},'
     b'"response":{"status_code":200,"body":{"choices":[]}}}'],
)  # fmt: skip
def test_lines_of_no_use(name: str, line: bytes, home: Path) -> None:
    provider_name, model, own = LANES[name]
    made: Any = registry.provider_class(provider_name)
    provider = made(own, KEY)
    call = Call(ModelRef(provider_name, model), generate("What?"))
    line = line.replace(b"custom_id", provider.batch_api.item_field.encode())
    result = provider.batch_api.parse(line)
    assert result.item == "a"
    with pytest.raises(e.ServerFault) as caught:
        provider.batch_api.reply(result, call)
    assert caught.value.possibly_billed


def test_lines_keep_their_own_notes(home: Path) -> None:
    made: Any = registry.provider_class("openai")
    batches = made({}, KEY).batch_api
    call = Call(ModelRef("openai", "gpt-4.1"), generate("What?"))
    lines = [
        b'%s{"custom_id":"i%d","response":{"status_code":200,"body":{"choices":[{"message":'
        b'{"content":"answer %d"},"finish_reason":"stop"}]}}}'
        % (b"\xef\xbb\xbf" * (number % 3 == 1), number, number)
        for number in range(9)
    ]
    results = [batches.parse(line) for line in lines]
    replies = [batches.reply(result, call) for result in results]
    assert [result.item for result in results] == [f"i{number}" for number in range(9)]
    assert [reply.text for reply in replies] == [f"answer {number}" for number in range(9)]
    assert [bool(reply.notes) for reply in replies] == [number % 3 == 1 for number in range(9)]

"""What is particular to batches of Gemini's: its files, its REST bodies, its versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine import errors as e
from evalbench.engine.calls import BatchJob, Call, JobState, Reply
from tests.contract.providers.conftest import Make
from tests.contract.providers.test_google import film, show
from tests.simulator.handle import Handle
from tests.unit.providers.calls import ask, talk

pytestmark = pytest.mark.usefixtures("still")

MODEL = "gemini-2.5-flash"
FLASH = f"google/{MODEL}"
NAME = "abcdef0123"


def line(request: Any, key: str = "a") -> bytes:
    return orjson.dumps({"key": key, "request": request})


async def sent(provider: Any, folder: Path, *lines: bytes, model: str = MODEL) -> BatchJob:
    """A batch of ready lines, after a look at it."""
    file = folder / f"{NAME}.jsonl"
    file.write_bytes(b"".join(one + b"\n" for one in lines))
    uploaded = await provider.batch_api.upload(file, NAME, model)
    job = await provider.batch_api.create(file, NAME, model, uploaded)
    told: BatchJob = await provider.batch_api.poll(job.id, model)
    return told


async def reply(provider: Any, folder: Path, call: Call) -> Reply:
    """What a batch of one call answers; what its line raises is raised."""
    job = await sent(provider, folder, provider.batch_api.line(call, "a"))
    await provider.batch_api.fetch(job, folder / "results")
    assert (folder / "results").stat().st_mode & 0o777 == 0o600
    result = provider.batch_api.parse((folder / "results").read_bytes().strip())
    answer: Reply = provider.batch_api.reply(result, call)
    return answer


async def test_thoughts_are_kept_out_of_answers(sim: Handle, make: Make, tmp_path: Path) -> None:
    sim.rule("Another", text="Red.")
    late = await reply(make("google"), tmp_path, talk(FLASH, max_tokens=3000))
    assert late.text == "Red."
    assert late.reasoning
    assert "Red." not in late.reasoning


async def test_lines_hold_rest_bodies(make: Make) -> None:
    provider = make("google", service_tier="flex")
    written = orjson.loads(provider.batch_api.line(talk(FLASH, temperature=0.5), "a"))
    assert written.keys() == {"key", "request"}
    request = written["request"]
    assert request.keys() == {"systemInstruction", "contents", "generationConfig"}
    assert request["systemInstruction"].keys() == {"parts"}
    assert [turn["role"] for turn in request["contents"]] == ["user", "model", "user"]


GOOD = {"contents": [{"role": "user", "parts": [{"text": "What?"}]}]}


@pytest.mark.parametrize(
    "request_",
    [
        GOOD | {"systemInstruction": [{"parts": [{"text": "Be brief."}]}]},
        GOOD | {"system_instruction": {"parts": [{"text": "Be brief."}]}},
        GOOD | {"temperature": 0.0},
        GOOD | {"generationConfig": {"max_output_tokens": 64}},
        {"contents": [{"role": "assistant", "parts": [{"text": "Hm."}]}]},
        {"contents": [{"role": "user", "parts": [{"text": ["What?"]}]}]},
        {"contents": "What?"},
        {"messages": [{"role": "user", "content": "What?"}]},
    ],
)
async def test_mistakes_of_other_integrations_fail_here(
    sim: Handle, make: Make, tmp_path: Path, request_: dict[str, Any]
) -> None:
    provider = make("google")
    assert (await sent(provider, tmp_path, line(GOOD))).state is JobState.ENDED
    job = await sent(provider, tmp_path, line(GOOD), line(request_, "b"))
    assert (job.state, job.again) == (JobState.FAILED, False)
    assert "Failed to parse JSON at line 2" in job.why
    assert sim.summary()["executed"] == 1


async def test_keys_are_needed_and_differ(make: Make, tmp_path: Path) -> None:
    provider = make("google")
    for wrong in (line(GOOD), orjson.dumps({"request": GOOD}), b"{"):
        assert (await sent(provider, tmp_path, line(GOOD), wrong)).state is JobState.FAILED


async def test_a_full_queue_is_a_rate_limit(sim: Handle, make: Make, tmp_path: Path) -> None:
    provider = make("google")
    sim.batch(times=1, waiting=100)
    await sent(provider, tmp_path, line(GOOD))
    sim.batch(times=1, queue=10)
    with pytest.raises(e.RateLimited):
        await sent(provider, tmp_path, line(GOOD))
    assert len(sim.batches()) == 1
    sim.batch(refused="token_limit_exceeded")
    job = await sent(provider, tmp_path, line(GOOD))
    assert (job.state, job.again) == (JobState.FAILED, True)


async def test_a_version_without_batches_is_told_with_the_other(
    sim: Handle, make: Make, tmp_path: Path
) -> None:
    message = f"models/{MODEL} is not found for API version v1, or is not supported for it."
    body = {"error": {"code": 404, "message": message, "status": "NOT_FOUND"}}
    sim.fault(status=404, path="/v1/models/gemini-2.5-flash:batch", body=body)
    with pytest.raises(e.NoSuchModel) as caught:
        await sent(make("google"), tmp_path, line(GOOD))
    assert "--api-version v1beta" in caught.value.hint

    provider = make("google", api_version="v1beta")
    assert (await sent(provider, tmp_path, line(GOOD))).state is JobState.ENDED
    await provider.batch_api.fetch(await sent(provider, tmp_path, line(GOOD)), tmp_path / "results")
    assert {entry["path"].split("/")[2 + ("upload" in entry["path"])] for entry in sim.entries()
            if "v1/" not in entry["path"]} == {"v1beta"}  # fmt: skip
    with pytest.raises(e.NoSuchModel) as caught:
        await sent(provider, tmp_path, line(GOOD), model="gemini-9")
    assert "v1beta" not in caught.value.hint


async def test_a_file_that_is_gone_before_its_batch(make: Make, tmp_path: Path) -> None:
    provider = make("google")
    with pytest.raises(e.CallRejected, match="the file of this batch no longer"):
        await provider.batch_api.create(tmp_path / "any", NAME, MODEL, {"file": "files/gone"})


@pytest.mark.parametrize(("file", "withheld", "succeeded"), [("", 3, None), ("files/r", 0, 3)])
def test_what_an_early_end_did_without_results_is_told(
    make: Make, file: str, withheld: int, succeeded: int | None
) -> None:
    about = {
        "state": "BATCH_STATE_EXPIRED",
        "batchStats": {"requestCount": "5", "successfulRequestCount": "3"},
        "output": {"responsesFile": file},
    }
    job = make("google").batch_api._job({"name": "batches/b", "metadata": about})
    assert (job.state, job.withheld, job.succeeded) == (JobState.EXPIRED, withheld, succeeded)


async def test_a_wrong_key_is_not_a_batch_that_is_over(sim: Handle, make: Make) -> None:
    sim.key("AIza-wrong", "wrong")
    with pytest.raises(e.BadKey):
        await make("google", secret="AIza-wrong").batch_api.cancel("any", MODEL)


@pytest.mark.parametrize(
    ("status", "over"), [(400, True), (404, False), (412, False), (500, False)]
)
async def test_only_what_says_that_a_batch_is_over_ends_a_cancellation(
    sim: Handle, make: Make, status: int, over: bool
) -> None:
    sim.fault(status=status, path=":cancel")
    if over:
        await make("google").batch_api.cancel("any", MODEL)
        return
    with pytest.raises(e.ProviderError):
        await make("google").batch_api.cancel("any", MODEL)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(1, e.DeadlineExceeded), (3, e.CallRejected), (8, e.RateLimited), (13, e.ServerFault),
     (14, e.Overloaded), (429, e.RateLimited), ("odd", e.ServerFault), (99, e.ServerFault)],
)  # fmt: skip
def test_codes_of_lines(code: Any, kind: type[e.ProviderError], make: Make) -> None:
    written = orjson.dumps({"key": "a", "error": {"code": code, "message": "So it is."}})
    batches = make("google").batch_api
    with pytest.raises(e.ProviderError) as caught:
        batches.reply(batches.parse(written), ask(FLASH))
    assert type(caught.value) is kind
    assert not caught.value.possibly_billed


async def test_media_too_large_for_a_line_are_refused_also_when_uploaded(
    sim: Handle, make: Make
) -> None:
    provider = make("google")
    call = show(FLASH, film(2, padding=20_000_000))
    await provider.answer(call)
    with pytest.raises(e.CallRejected) as caught:
        provider.batch_api.line(call, "a")
    assert "--mode realtime" in caught.value.hint
    assert provider.batch_api.line(show(FLASH, film(2)), "a")


async def test_files_travel_in_pieces(sim: Handle, make: Make, tmp_path: Path) -> None:
    provider = make("google")
    job = await sent(provider, tmp_path, *(line(GOOD | {"systemInstruction": {"parts": [
        {"text": "x" * 100_000}]}}, f"k{n}") for n in range(30)))  # fmt: skip
    assert job.total == 30
    [put] = [entry for entry in sim.entries() if "upload" in entry["path"]][1:]
    assert int(put["headers"]["content-length"]) == (tmp_path / f"{NAME}.jsonl").stat().st_size
    assert "transfer-encoding" not in put["headers"]


def test_vertex_says_why_it_takes_none(make: Make) -> None:
    provider = make("vertex", location="global")
    assert provider.batch_api is None
    assert not provider.capabilities(MODEL).batch
    assert "google/MODEL" in provider.batch_lacks


async def test_the_sdk_itself_understands_the_simulator(sim: Handle) -> None:
    """Inline requests, states, lists, deleting: by types of Google's own."""
    from google import genai

    client = genai.Client(
        api_key="AIza-any", vertexai=False, http_options={"base_url": sim.base_url("google")}
    )

    def work() -> list[Any]:
        requests: list[Any] = [{"contents": [{"role": "user", "parts": [{"text": f"{n}?"}]}],
                     "metadata": {"key": f"k{n}"}} for n in range(2)]  # fmt: skip
        made = client.batches.create(model=MODEL, src=requests, config={"display_name": NAME})
        assert made.name
        told = client.batches.get(name=made.name)
        listed = [job.display_name for job in client.batches.list()]
        client.batches.delete(name=made.name)
        return [made, told, listed, [job.name for job in client.batches.list()]]

    made, told, listed, left = await asyncio.to_thread(work)
    assert made.state.name == "JOB_STATE_PENDING"
    assert told.state.name == "JOB_STATE_SUCCEEDED"
    assert [one.metadata for one in told.dest.inlined_responses] == [{"key": "k0"}, {"key": "k1"}]
    assert all(one.response.text for one in told.dest.inlined_responses)
    assert (listed, left) == ([NAME], [])

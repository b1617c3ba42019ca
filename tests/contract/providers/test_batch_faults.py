"""Whatever goes wrong with batches, a run ends: with every answer, or with the true reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evalbench.engine.execution.driver
from evalbench.engine.calls import ModelRef
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch import retry
from evalbench.engine.dispatch.batch import BatchDispatcher, BatchSettings, download, waits
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import AccessDenied, BadKey, RateLimited, ResultsNotFetched
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.driver import Driver
from evalbench.engine.runs.status import State
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle
from tests.unit.engine.driving import Solving, World, one_question
from tests.unit.engine.journals import journal

pytestmark = pytest.mark.usefixtures("still")


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are as many as ever, and short."""
    monkeypatch.setattr(retry, "_CAP_S", 0.01)
    monkeypatch.setattr(evalbench.engine.execution.driver, "_PARKED_LOOK_S", 0.02)


MODELS = {
    "openai": "gpt-4.1-mini",
    "anthropic": "claude-haiku-4-5",
    "groq": "llama-3.3-70b-versatile",
    "google": "gemini-2.5-flash",
    "together": "meta-llama/Llama-3.3-70B-Instruct-Turbo",
}
SAMPLES = 12
BUCKET = {
    "batch_bucket": "s3://evals/batches",
    "batch_role": "arn:aws:iam::123456789012:role/batches",
}
LEAST = {"bedrock": 100}
"""Calls that a batch has at least, where there is such a rule."""
EVERY = {
    **{api: MODELS[api] for api in ("openai", "anthropic", "google", "together")},
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
"""One of each kind of provider that takes batches."""
DOWNLOADS = {"anthropic": "/results", "google": ":download", "bedrock": ".out"}
"""Part of the paths from which results come; of the others: ``/content``."""
CREATIONS = {
    "anthropic": {"path": "/batches", "match": '"requests"'},
    "google": {"path": ":batchGenerateContent"},
    "bedrock": {"path": "/model-invocation-job", "match": "clientRequestToken"},
}
"""Which requests make batches; of the others: those below."""
OF_A_FILE = {"path": "/batches", "match": "input_file_id"}


async def run(
    make: Make,
    folder: Path,
    api: str,
    size: int | None = None,
    *,
    samples: int = SAMPLES,
    **batch_settings: Any,
) -> tuple[State, Driver, World]:
    """A run of a few samples through batches, in one engine's life."""
    model = EVERY.get(api) or MODELS[api]
    world = World(folder / "journal.db", {"candidate": ModelRef(api, model)})
    if not world.path.exists():
        await world.fill(samples)
    provider = make(api)
    hurried = replace(provider.batch_api.terms(model), creates_per_minute=60_000)
    provider.batch_api.terms = lambda model: hurried
    async with journal(world.path) as opened:
        opened.close_cut_calls(lambda call: Decimal(0))
        meter = CostMeter(Budget(), None)
        realtime = RealtimeDispatcher(
            provider, Limiter(concurrency=4), meter, attempts=3, report=opened.event
        )
        dispatcher = BatchDispatcher(
            realtime, meter, opened, folder / "batches",
            BatchSettings(size=size, poll_s=0.02, **batch_settings),
            role="candidate", model=model,
        )  # fmt: skip
        models = {"candidate": BoundModel(world.models["candidate"], dispatcher, {})}
        driver = Driver(opened, Solving(one_question), models)
        driver.open()
        try:
            return await driver.drive(), driver, world
        finally:
            await dispatcher.close()


@pytest.mark.share(5)
@pytest.mark.parametrize("api", list(MODELS))
@pytest.mark.parametrize(
    "script",
    [
        {"order": "shuffled"},
        {"order": "reversed", "duplicated": (1, 7)},
        {"malformed": (3,)},
        {"failing": (4, 6), "status": 500},
        {"failing": "all", "status": 503},
    ],
    ids=lambda script: "-".join(script),
)
async def test_strange_results_of_one_batch_end_in_every_answer(
    make: Make, sim: Handle, tmp_path: Path, api: str, script: dict[str, Any]
) -> None:
    sim.batch(times=1, **script)
    state, driver, world = await run(make, tmp_path, api)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, SAMPLES, 0)
    for row in range(1, SAMPLES + 1):
        *lost, call = world.calls(row)
        assert call.reply is not None
        # A line that never came may be one that was paid.
        assert "malformed" in script or not lost
        assert all(one.reply and one.reply.possibly_billed for one in lost)


@pytest.mark.share(3)
@pytest.mark.parametrize("api", list(MODELS))
async def test_calls_counted_as_processed_are_not_paid_again_for_want_of_a_line(
    make: Make, sim: Handle, tmp_path: Path, api: str
) -> None:
    sim.batch(times=1, missing=(2, 5))
    state, driver, _ = await run(make, tmp_path, api)
    counts = api != "together"
    ends = (State.FAILED, SAMPLES - 2) if counts else (State.COMPLETE, SAMPLES)
    assert (state, driver.progress.done) == ends
    assert isinstance(driver.failure, ResultsNotFetched) == counts


@pytest.mark.share(3)
@pytest.mark.parametrize("api", list(MODELS))
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ({"failing": "all", "status": 500}, "ServerFault"),
        ({"failing": (2,), "status": 400}, "CallRejected"),
    ],
    ids=["failing", "refused"],
)
async def test_what_no_batch_answers_says_why(
    make: Make, sim: Handle, tmp_path: Path, api: str, script: dict[str, Any], why: str
) -> None:
    sim.batch(**script)
    state, driver, world = await run(make, tmp_path, api)
    assert state is State.COMPLETE
    assert driver.progress.done == SAMPLES
    assert driver.progress.failed
    replies = [call.reply for row in range(1, SAMPLES + 1) for call in world.calls(row)]
    assert any(reply is not None and why in reply.error for reply in replies)


def _polls_fail(sim: Handle, api: str) -> None:
    sim.fault(status=503, path="/batches/", times=2)


def _create_is_lost(sim: Handle, api: str) -> None:
    path = ":batchGenerateContent" if api == "google" else "/batches"
    sim.fault("reset_before_headers", path=path, billed=True, times=1)


@pytest.mark.share(3)
@pytest.mark.parametrize("api", list(MODELS))
@pytest.mark.parametrize("trouble", [_polls_fail, _create_is_lost])
async def test_trouble_on_the_way_sends_nothing_twice(
    make: Make, sim: Handle, tmp_path: Path, api: str, trouble: Callable[[Handle, str], None]
) -> None:
    trouble(sim, api)
    state, driver, _ = await run(make, tmp_path, api)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert sim.summary()["answered"] == {"1": SAMPLES}


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloads are tried again at once."""
    monkeypatch.setattr(download, "_FIRST_PAUSE_S", 0.01)


def made_for(make: Make, api: str) -> Make:
    """Makes providers, with a place for their batches where they need one."""
    return partial(make, **(BUCKET if api == "bedrock" else {}))


@pytest.mark.share(2)
@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("api", list(EVERY))
async def test_a_download_that_fails_a_few_times_loses_nothing(
    make: Make, sim: Handle, tmp_path: Path, api: str
) -> None:
    where = DOWNLOADS.get(api, "/content")
    missing = {"error": {"message": "No such File object", "type": "invalid_request_error"}}
    for trouble in (
        {"kind": "status", "status": 404, "body": missing},
        {"kind": "status", "status": 500},
        {"kind": "truncated_body"},
        {"kind": "reset_after_headers"},
        {"kind": "empty_body"},
        {"kind": "status", "status": 404},
    ):
        sim.fault(path=where, times=1, **trouble)
    samples = LEAST.get(api, SAMPLES)
    state, driver, _ = await run(made_for(make, api), tmp_path, api, samples=samples)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, samples, 0)
    assert sim.summary()["answered"] == {"1": samples}


@pytest.mark.share(3)
@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("api", list(EVERY))
async def test_results_that_are_gone_are_waited_for_and_sent_again_on_demand_only(
    make: Make, sim: Handle, tmp_path: Path, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "RETRY_S", 0.1)
    monkeypatch.setattr(download, "ONCE_MORE_S", 0.1)
    samples = LEAST.get(api, SAMPLES)
    sim.batch(times=1, gone=True)
    making = made_for(make, api)
    for _ in range(2):
        state, driver, _ = await run(making, tmp_path, api, samples=samples)
        assert state is State.FAILED
        assert f"the results of {samples} calls cannot be fetched" in str(driver.failure)
        assert sim.summary()["answered"] == {"1": samples}
    state, driver, _ = await run(making, tmp_path, api, resend_unfetched=True)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, samples, 0)
    assert sim.summary()["answered"] == {"2": samples}


@pytest.mark.share(2)
@pytest.mark.parametrize("api", list(EVERY))
async def test_a_key_that_may_not_fetch_results_ends_the_run_and_loses_nothing(
    make: Make, sim: Handle, tmp_path: Path, api: str
) -> None:
    samples = LEAST.get(api, SAMPLES)
    sim.fault(status=401 if api != "bedrock" else 403, path=DOWNLOADS.get(api, "/content"))
    making = made_for(make, api)
    state, driver, _ = await run(making, tmp_path, api, samples=samples)
    assert state is State.FAILED
    assert isinstance(driver.failure, BadKey | AccessDenied)
    sim.no_faults()
    state, driver, _ = await run(making, tmp_path, api)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, samples, 0)
    assert sim.summary()["answered"] == {"1": samples}


@pytest.mark.share(5)
@pytest.mark.parametrize("api", list(EVERY))
@pytest.mark.parametrize(
    ("lost", "first"),
    [((1,), 0), ((2, 3), 2), ((1, 2), 1), ((1, 3, 4), 3), ((1, 2, 4, 5), 4), ((1, 2, 3, 4, 5), 1)],
)
async def test_creations_whose_answers_are_lost_are_found_each_for_itself(
    make: Make, sim: Handle, tmp_path: Path, api: str, lost: tuple[int, ...], first: int
) -> None:
    """``lost``: ordinals of such creations; ``first``: how many batches later ones overtake."""
    batches = 3 if api == "bedrock" else 5
    size = LEAST.get(api, 2)
    if first:
        sim.batch(nth=tuple(range(1, first + 1)), running=7200.0)
    where = CREATIONS.get(api, OF_A_FILE)
    sim.fault("reset_before_headers", billed=True, nth=lost, **where)

    known = 0

    def counting(step: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(*given: Any, **more: Any) -> Any:
            nonlocal known
            found = await step(*given, **more)
            known += bool(found)
            return found

        return counted

    def flying(name: str, **settings: Any) -> Any:
        provider = made_for(make, api)(name, **settings)
        poll = provider.batch_api.poll
        provider.batch_api.create = counting(provider.batch_api.create)
        provider.batch_api.find = counting(provider.batch_api.find)

        async def later(job: str, model: str) -> Any:
            if known >= batches:
                sim.advance(3000)
            return await poll(job, model)

        provider.batch_api.poll = later
        return provider

    samples = batches * size
    state, driver, _ = await run(flying, tmp_path, api, size, samples=samples)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, samples, 0)
    assert len(sim.batches()) == batches
    assert sim.summary()["answered"] == {"1": samples}


@pytest.mark.share(3)
@pytest.mark.parametrize("api", list(MODELS))
async def test_an_early_end_keeps_what_was_done(
    make: Make, sim: Handle, tmp_path: Path, api: str
) -> None:
    # Longer than its window: the batch expires with a part done.
    sim.batch(times=1, running=340_000.0 if api == "google" else 170_000.0)
    state, driver, _ = await run_while_time_flies(make, sim, tmp_path, api)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    # What a batch of Gemini's did before it expired is lost, and there is no way to it.
    lost = {"1": SAMPLES // 2, "2": SAMPLES // 2}
    assert sim.summary()["answered"] == (lost if api == "google" else {"1": SAMPLES})


async def run_while_time_flies(
    make: Make, sim: Handle, folder: Path, api: str
) -> tuple[State, Driver, World]:
    """The same, while the provider's clock goes on by hours at each look."""
    provider_make = make

    def flying(name: str, **settings: Any) -> Any:
        provider = provider_make(name, **settings)
        poll = provider.batch_api.poll

        async def later(job: str, model: str) -> Any:
            sim.advance(30_000)
            return await poll(job, model)

        provider.batch_api.poll = later
        return provider

    return await run(flying, folder, api)


@pytest.mark.share(3)
@pytest.mark.parametrize("api", ["openai", "groq", "google", "together"])
async def test_a_queue_that_is_full_is_waited_for(
    make: Make, sim: Handle, tmp_path: Path, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "QUEUE_FULL_S", 0.05)
    sim.batch(times=2, refused="token_limit_exceeded")
    state, driver, _ = await run(make, tmp_path, api)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert sim.summary()["answered"] == {"1": SAMPLES}


async def test_a_queue_that_refuses_the_creation_is_waited_for(
    make: Make, sim: Handle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waits, "QUEUE_FULL_S", 0.05)
    sim.batch(running=3600.0, queue=10)
    refusals = 0

    def crowded(name: str) -> Any:
        provider = make(name)
        create = provider.batch_api.create

        async def later(*given: Any) -> Any:
            nonlocal refusals
            try:
                return await create(*given)
            except RateLimited:
                refusals += 1
                sim.advance(2000)
                raise

        provider.batch_api.create = later
        return provider

    running = asyncio.ensure_future(run(crowded, tmp_path, "google", SAMPLES // 2))
    async with asyncio.timeout(30):
        while not refusals:
            await asyncio.sleep(0.01)
        sim.advance(4000)
        while len(sim.batches()) < 2:
            await asyncio.sleep(0.01)
        sim.advance(4000)
        state, driver, _ = await running
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert sim.summary()["answered"] == {"1": SAMPLES}

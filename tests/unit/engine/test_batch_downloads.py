"""Results that cannot be fetched, or not whole: tried again, set aside, never paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from evalbench.engine.calls import BatchJob, JobState, Usage
from evalbench.engine.cost.budget import Budget
from evalbench.engine.dispatch.batch import download, lifecycle
from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    CallRejected,
    ConnectionFailed,
    ProviderError,
    ResultsNotFetched,
    ServerFault,
)
from evalbench.engine.journal.batches import batches
from evalbench.engine.journal.reader import totals
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.runs.status import State
from tests.unit.engine.batch_lives import dies_at, drive, events, stages, world_of
from tests.unit.engine.driving import World, one_question
from tests.unit.engine.journals import journal
from tests.unit.engine.post import Post, batching, third_look
from tests.unit.engine.virtual_time import now, virtual_time

SAMPLES = 8
FOREVER = 10_000


def missing(number: int) -> list[ProviderError]:
    """The provider says so often that there are no results."""
    return [CallRejected("Post has the results of this batch no longer") for _ in range(number)]


def cut(results: bytes) -> bytes:
    return results[:-20]


def end_of_line(results: bytes) -> bytes:
    return b"".join(results.splitlines(keepends=True)[:-2])


def others(results: bytes) -> bytes:
    return results.replace(b'{"id":"', b'{"id":"zz')


def first(number: int, lines: list[bytes]) -> list[bytes]:
    """So many lines of a whole batch."""
    return lines[:number] if len(lines) == SAMPLES else lines


def empty(results: bytes) -> bytes:
    return b""


def blank(results: bytes) -> bytes:
    return b"\n\n"


def times(number: int, spoil: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Spoils so many downloads, and no more."""
    left = iter(range(number))
    return lambda results: results if next(left, None) is None else spoil(results)


GONE = CallRejected("Post has the results of this batch no longer")


async def given_up(folder: Path, post: Post, samples: int = SAMPLES) -> World:
    """A run whose only batch has ended, and whose results were given up."""
    world = await world_of(folder, samples)
    post.withheld["job-1"] = GONE
    state, driver = await drive(world, post)
    assert state is State.FAILED
    assert isinstance(driver.failure, ResultsNotFetched)
    assert stages(world) == ["unfetched"]
    return world


@pytest.mark.parametrize(
    "errors",
    [
        missing(1),
        missing(12),
        [ServerFault("5"), CallRejected("404"), ConnectionFailed("cut", possibly_billed=True)] * 4,
        [ServerFault("500", status=500)] * 12,
    ],
    ids=["404", "many-404", "mixed", "500"],
)
def test_a_download_that_fails_for_minutes_loses_nothing(
    tmp_path: Path, errors: list[ProviderError]
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, SAMPLES), Post()
        post.fail("fetch", *errors)
        state, driver = await drive(world, post)
        assert (state, driver.progress.failed) == (State.COMPLETE, 0)
        assert (len(post.parcels), set(post.executed.values())) == (1, {1})

    check()


@pytest.mark.parametrize("spoil", [cut, end_of_line, others, empty, blank])
def test_a_download_that_is_not_whole_is_made_again(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, SAMPLES), Post()
        post.delivers = times(1, spoil)
        state, driver = await drive(world, post)
        assert (state, driver.progress.failed) == (State.COMPLETE, 0)
        assert (len(post.parcels), set(post.executed.values())) == (1, {1})
        assert post.steps.count("fetch") == 2
        assert not list((tmp_path / "batches").glob("*.part"))

    check()


@virtual_time
async def test_what_is_given_up_waits_for_a_resume_that_fetches_it(tmp_path: Path) -> None:
    post = Post()
    world = await given_up(tmp_path, post)
    # For ten minutes, ever less often.
    assert now() > 0.5 * download.RETRY_S
    assert 10 < post.steps.count("fetch") < 30
    assert events(world, "batch-not-fetched")[0]["calls"] == SAMPLES

    # As long as it fails, nothing is sent; it ends much sooner now, and says what there is to do.
    post.steps.clear()
    state, driver = await drive(world, post)
    assert (state, stages(world)) == (State.FAILED, ["unfetched"])
    assert 4 < post.steps.count("fetch") < 10
    told = str(driver.failure)
    assert "1 batch has ended, but the results of 8 calls cannot be fetched" in told
    assert "Post has the results of this batch no longer" in told
    assert f"evalbench resume {tmp_path.name} --resend-unfetched" in told
    assert "sends the 8 calls again, for at most 0.0" in told

    post.withheld.clear()
    state, driver = await drive(world, post)
    assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, SAMPLES)
    assert (len(post.parcels), set(post.executed.values())) == (1, {1})
    assert stages(world) == ["done"]


@pytest.mark.parametrize("there", [True, False], ids=["fetched", "sent-again"])
def test_only_the_flag_sends_again_and_only_what_is_not_there(tmp_path: Path, there: bool) -> None:
    @virtual_time
    async def check() -> None:
        post, budget = Post(), Budget()
        post.usage = Usage(10, 4)  # no more than the worst case, which is counted for the first
        world = await given_up(tmp_path, post)
        if there:
            post.withheld.clear()

        async with journal(world.path) as opened:
            dispatcher = batching(post, opened, budget=budget, resend_unfetched=True)
            driver = world.driver(opened, dispatcher)
            state = await driver.drive()
            await dispatcher.close()

        assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, SAMPLES)
        assert set(post.executed.values()) == {1 if there else 2}
        assert stages(world) == (["done"] if there else ["failed", "done"])
        assert budget.reserved == 0
        assert budget.in_flight == 0
        # What was sent first may have been billed, and is told for good.
        assert (budget.possible == 0) is there
        with world.read() as reader:
            assert reader.query(totals).possible == budget.possible
        assert len(events(world, "batch-resent")) == (not there)

    check()


@virtual_time
async def test_the_flag_is_for_what_was_given_up_before(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.withheld["job-1"] = GONE
    state, _ = await drive(world, post, resend_unfetched=True)
    assert (state, stages(world)) == (State.FAILED, ["unfetched"])
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_a_budget_counts_what_was_not_fetched_and_nobody_hangs_on_it(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 2 * SAMPLES), Post()
    post.withheld["job-1"] = GONE
    budget = Budget(Decimal("0.0006"))
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget, size=SAMPLES // 2)
        driver = world.driver(opened, dispatcher)
        state = await driver.drive()
        await dispatcher.close()
    assert state in (State.BUDGET, State.FAILED)
    assert budget.possible > 0
    assert budget.spent + budget.possible <= Decimal("0.0006")
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_other_batches_go_on_while_one_is_not_fetched(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 12), Post()
    post.withheld["job-2"] = GONE
    state, driver = await drive(world, post, size=4)
    assert state is State.FAILED
    assert driver.progress.done == 8
    assert sorted(stages(world)) == ["done", "done", "unfetched"]
    post.withheld.clear()
    state, driver = await drive(world, post, size=4)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 12, 0)
    assert set(post.executed.values()) == {1}


@pytest.mark.parametrize("error", [BadKey("the key is not accepted"), AccessDenied("not yours")])
def test_a_key_that_may_not_fetch_ends_the_run_at_once(
    tmp_path: Path, error: ProviderError
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, SAMPLES), Post()
        post.fail("fetch", error)
        state, driver = await drive(world, post)
        assert (state, driver.failure) == (State.FAILED, error)
        assert stages(world) == ["unfetched"]
        assert post.steps.count("fetch") == 1
        state, driver = await drive(world, post)
        assert (state, driver.progress.failed) == (State.COMPLETE, 0)
        assert (len(post.parcels), set(post.executed.values())) == (1, {1})

    check()


@virtual_time
async def test_collecting_tries_in_passing_and_gives_up_after_minutes(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.withheld["job-1"] = GONE
    lives: list[State] = []
    while not lives or lives[-1] is State.WAITING:
        post.steps.clear()
        state, driver = await drive(world, post, leave=True)
        lives.append(state)
        assert post.steps.count("fetch") < 8
        await asyncio.sleep(200)
    assert lives[-1] is State.FAILED
    assert isinstance(driver.failure, ResultsNotFetched)
    assert len(lives) > 3
    # The next one tries again, and says the same as long as nothing has changed.
    assert (await drive(world, post, leave=True))[0] is State.FAILED
    post.withheld.clear()
    state, driver = await drive(world, post, leave=True)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_what_came_of_results_that_are_never_whole_is_kept(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.delivers = cut
    state, driver = await drive(world, post)
    assert (state, driver.progress.done) == (State.FAILED, SAMPLES - 1)
    assert stages(world) == ["unfetched"]
    assert "the results of 1 call cannot" in str(driver.failure)
    post.delivers = times(1, cut)
    state, driver = await drive(world, post)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, SAMPLES, 0)
    assert set(post.executed.values()) == {1}


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("failed", [0, 1])
def test_calls_that_the_provider_counts_wait_for_their_results_or_the_flag(
    tmp_path: Path, failed: int, flag: bool
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, SAMPLES), Post()
        post.counts["job-1"] = {"succeeded": SAMPLES - failed, "failed": failed}
        # Two lines fewer, and well-formed.
        post.delivers = lambda results: (
            end_of_line(results) if b"question 1" in results else results
        )
        for _ in range(2):
            # A plain resume looks again, and pays for nothing.
            state, driver = await drive(world, post)
            assert (state, driver.progress.done) == (State.FAILED, SAMPLES - 2)
            assert (stages(world), len(post.parcels)) == (["unfetched"], 1)
            assert "the results of 2 calls cannot be fetched" in str(driver.failure)
            assert "6 of the 8 calls that the provider counts have a result" in str(driver.failure)
        if not flag:
            post.delivers = lambda results: results
        state, driver = await drive(world, post, resend_unfetched=flag)
        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, SAMPLES, 0)
        assert sorted(post.executed.values()) == [1] * 6 + [1 + flag] * 2

    check()


@pytest.mark.parametrize("end", [JobState.EXPIRED, JobState.CANCELLED])
def test_an_early_end_holds_back_only_what_the_provider_counts_beyond_the_file(
    tmp_path: Path, end: JobState
) -> None:
    @virtual_time
    async def check() -> None:
        for lines, state in ((4, State.COMPLETE), (3, State.FAILED)):
            folder = tmp_path / str(lines)
            folder.mkdir()
            world, post = await world_of(folder, SAMPLES), Post()
            post.becomes = lambda parcel: end if parcel.id == "job-1" else third_look(parcel)
            post.spoil = partial(first, lines)
            post.counts["job-1"] = {"succeeded": 4, "failed": 0}
            assert (await drive(world, post))[0] is state
            assert set(post.executed.values()) == {1}
            assert len(post.parcels) == (2 if state is State.COMPLETE else 1)

    check()


@virtual_time
async def test_what_came_is_not_sent_again_with_the_rest(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.delivers = cut
    await drive(world, post)
    post.delivers = lambda results: results
    post.withheld["job-1"] = GONE
    state, driver = await drive(world, post, resend_unfetched=True)
    assert sorted(post.executed.values()) == [1] * (SAMPLES - 1) + [2]
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, SAMPLES, 0)


@virtual_time
async def test_a_batch_that_is_unknown_for_a_moment_is_not_lost(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    # Hours after it was made.
    post.becomes = lambda parcel: JobState.RUNNING if now() < 3000 else third_look(parcel)
    state_of = post.poll
    asked = 0

    async def poll(job: str, model: str) -> BatchJob:
        nonlocal asked
        asked += 1
        if 13 < asked <= 14:
            raise CallRejected("Post has this batch no longer")
        return await state_of(job, model)

    post.poll = poll  # type: ignore[method-assign]
    state, driver = await drive(world, post)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert asked > 14
    assert (len(post.parcels), set(post.executed.values())) == (1, {1})


@virtual_time
async def test_a_batch_that_stays_unknown_is_set_aside(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.fail("poll", *[CallRejected("Post has this batch no longer")] * FOREVER)
    state, driver = await drive(world, post)
    assert (state, stages(world)) == (State.FAILED, ["unfetched"])
    assert now() > lifecycle.SETTLING_S
    assert "no longer" in str(driver.failure)
    state, driver = await drive(world, post)
    assert (state, stages(world)) == (State.FAILED, ["unfetched"])
    post.trouble.clear()
    state, driver = await drive(world, post)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert (len(post.parcels), set(post.executed.values())) == (1, {1})


@pytest.mark.parametrize("resend", [False, True])
def test_kills_around_a_download_that_fails_repeat_nothing(tmp_path: Path, resend: bool) -> None:
    @virtual_time
    async def check() -> None:
        (tmp_path / "run").mkdir()
        post = Post()
        world = await world_of(tmp_path / "run", SAMPLES)
        post.withheld["job-1"] = GONE
        deaths = 0
        for nth in (*range(6), *range(6)):
            deaths += await dies_at(world, post, one_question, nth)
        assert deaths > 5
        state, _ = await drive(world, post)
        # Those that were still being collected have left nothing.
        assert (state, {*stages(world)} - {"cancelled"}) == (State.FAILED, {"unfetched"})
        assert set(post.executed.values()) == {1}
        if not resend:
            post.withheld.clear()
        for nth in range(8):
            await dies_at(world, post, one_question, nth, resend_unfetched=resend)
        state, driver = await drive(world, post, resend_unfetched=resend)
        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, SAMPLES, 0)
        assert set(post.executed.values()) == {2 if resend else 1}

    check()


@pytest.mark.parametrize("end", [JobState.EXPIRED, JobState.CANCELLED])
def test_an_early_end_without_any_result_is_no_failed_download(
    tmp_path: Path, end: JobState
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, SAMPLES), Post()
        post.becomes = lambda parcel: end if parcel.id == "job-1" else third_look(parcel)
        post.delivers = times(1, empty)
        state, driver = await drive(world, post)
        assert (state, driver.progress.failed) == (State.COMPLETE, 0)
        # Empty could also mean cut off.
        assert post.steps.count("fetch") == 3
        assert set(post.executed.values()) == {1}

    check()


@virtual_time
async def test_older_journals_are_gone_on_with(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, SAMPLES), Post()
    await drive(world, post, leave=True)
    async with journal(world.path) as opened:
        [row] = opened.query(lambda decoder: batches(decoder, world.path))
        body = {k: v for k, v in row.body.items() if k not in ("asked_at", "failing_since")}
        await opened.put_batch(BatchRow(row.id, row.name, row.state, body))
    state, driver = await drive(world, post)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_results_of_an_early_end_that_nobody_counts_are_fetched_twice(tmp_path: Path) -> None:
    """The first download may be cut at the end of a line: what it lacks would be sent again."""
    world, post = await world_of(tmp_path, SAMPLES), Post()
    post.becomes = lambda parcel: JobState.EXPIRED if parcel.id == "job-1" else third_look(parcel)
    cut = iter([True])
    post.delivers = lambda results: (
        results[: results.index(b"\n") + 1] if next(cut, False) else results
    )
    state, driver = await drive(world, post)
    assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, SAMPLES)
    assert set(post.executed.values()) == {1}
    assert post.steps.count("fetch") == 3

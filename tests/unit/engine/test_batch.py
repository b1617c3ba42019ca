"""Calls through batches: parked samples, every fault of a provider, and engines that die."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.benchmark import Ask, Sample, Score
from evalbench.engine.calls import (
    BatchJob,
    Call,
    JobState,
    ModelRef,
    Reply,
    ResultLine,
    Usage,
    generate,
)
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.batch.context import SHARE
from evalbench.engine.errors import BadKey, CallRejected, ConnectionFailed, ServerFault
from evalbench.engine.execution import backlog
from evalbench.engine.execution.driver import Driver
from evalbench.engine.journal.paging import unfinished
from evalbench.engine.journal.reader import totals
from evalbench.engine.runs.status import State
from tests.unit.engine.batch_lives import dies_at, drive, events, stages, world_of
from tests.unit.engine.driving import Solve, one_question, right, two_questions
from tests.unit.engine.journals import MODEL, journal
from tests.unit.engine.post import HALF, Parcel, Post, batching, third_look
from tests.unit.engine.virtual_time import now, virtual_time

JUDGE = ModelRef("acme", "judge")


async def judged(of: Sample, ask: Ask) -> Score:
    """Two turns, then two opinions of a judge."""
    question = of.inputs["question"]
    first = await ask("candidate", generate(question), step="first")
    second = await ask("candidate", generate(f"{question}, {first.text}?"), step="second")
    prompt = generate(f"grade {second.text}")
    opinions = await ask.many([("judge/acme/judge", prompt, "grade", n) for n in range(2)])
    return right(opinions[0])


@virtual_time
async def test_all_calls_go_out_in_one_batch_and_come_back(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 200), Post()

    state, driver = await drive(world, post)

    assert state is State.COMPLETE
    assert driver.progress.done == 200
    assert [len(parcel.lines) for parcel in post.parcels.values()] == [200]
    assert set(post.executed.values()) == {1}
    assert stages(world) == ["done"]
    assert driver.progress.sent == 200
    assert driver.progress.from_journal == 0


@pytest.mark.parametrize("batches", [1, 8])
@virtual_time
async def test_samples_are_read_once_for_their_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    again: list[Any] = []

    def seen(*args: Any, **named: Any) -> Any:
        if named["rows"] is not None:
            again.append(named["rows"])
        return unfinished(*args, **named)

    monkeypatch.setattr(backlog, "unfinished", seen)
    world, post = await world_of(tmp_path, 1600), Post(most_requests=1600 // batches)
    fetch, together = post.fetch, asyncio.Barrier(batches)

    async def fetched(job: BatchJob, into: Path) -> None:
        await fetch(job, into)
        await together.wait()

    monkeypatch.setattr(post, "fetch", fetched)
    state, driver = await drive(world, post)

    assert state is State.COMPLETE
    assert driver.progress.done == 1600
    assert len(post.parcels) == batches
    assert again == []


@virtual_time
async def test_replies_reach_the_samples_that_asked(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 30), Post()
    post.spoil = lambda lines: random.Random(1).sample(lines, len(lines))

    await drive(world, post)

    for row in range(1, 31):
        (call,) = world.calls(row)
        assert call.reply
        assert call.reply.text == f"to question {row}"


@virtual_time
async def test_turns_and_judges_go_out_in_waves(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 20), Post()
    world.models = {"candidate": MODEL, "judge/acme/judge": JUDGE}
    async with journal(world.path) as opened:
        candidate = batching(post, opened)
        judge = batching(post, opened, role="judge/acme/judge", model=JUDGE)
        driver = world.driver(opened, candidate, judged)
        driver = Driver(
            opened,
            driver._benchmark,
            {
                "candidate": driver._models["candidate"],
                "judge/acme/judge": type(driver._models["candidate"])(JUDGE, judge, {}),
            },
        )
        driver.open()

        assert await driver.drive() is State.COMPLETE
        await candidate.close()
        await judge.close()

    assert [len(parcel.lines) for parcel in post.parcels.values()] == [20, 20, 40]
    assert driver.progress.roles["judge/acme/judge"]["sent"] == 40


@virtual_time
async def test_batches_are_split_by_calls_and_by_bytes(tmp_path: Path) -> None:
    world = await world_of(tmp_path, 100)
    small = Post(most_requests=30)
    assert (await drive(world, small))[0] is State.COMPLETE
    assert sorted(len(parcel.lines) for parcel in small.parcels.values()) == [10, 30, 30, 30]

    (tmp_path / "bytes").mkdir()
    world, tight = await world_of(tmp_path / "bytes", 100), Post(most_bytes=2000)
    assert (await drive(world, tight))[0] is State.COMPLETE
    for file in (tmp_path / "bytes" / "batches").glob("*.requests.jsonl"):
        assert file.stat().st_size < 2000


@virtual_time
async def test_a_size_of_ones_own_is_kept(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post()
    await drive(world, post, size=4)
    assert sorted(len(parcel.lines) for parcel in post.parcels.values()) == [2, 4, 4]


@virtual_time
async def test_too_few_for_a_batch_are_asked_at_once_and_it_is_said(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 7), Post(least_requests=100)

    state, _ = await drive(world, post)

    assert state is State.COMPLETE
    assert not post.parcels
    assert len(post.asked) == 7
    assert events(world, "batch-too-small") == [{"calls": 7, "least": 100}]


@virtual_time
async def test_half_the_money(tmp_path: Path) -> None:
    world, post, budget = await world_of(tmp_path, 50), Post(), Budget(Decimal(100))
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget)
        driver = world.driver(opened, dispatcher)
        await driver.drive()
        await dispatcher.close()

    assert budget.spent == 50 * 20 * Decimal("0.000001")
    assert budget.reserved == 0
    assert budget.in_flight == 0
    with world.read() as reader:
        assert sum(cost for cost, _, _ in reader.taken()) == budget.spent


@virtual_time
async def test_answers_that_do_not_say_their_tokens_count_at_their_worst_case(
    tmp_path: Path,
) -> None:
    world, post, budget = await world_of(tmp_path, 20), Post(), Budget(Decimal(100))
    post.usage = Usage(10**18, "ten")  # type: ignore[arg-type]
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget)
        driver = world.driver(opened, dispatcher)
        assert await driver.drive() is State.COMPLETE
        await dispatcher.close()

    assert budget.reserved == 0
    # Ten tokens of prompt at the least, and four of an answer.
    assert 20 * 14 * Decimal("0.000001") <= budget.spent < Decimal("0.01")
    with world.read() as reader:
        stored = sum(cost for cost, _, _ in reader.taken())
    # A resume must not take them for free.
    assert abs(stored - budget.spent) < Decimal("1e-9")


@virtual_time
async def test_a_tight_budget_sends_smaller_batches_and_stops_clean(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 40), Post()
    budget = Budget(Decimal("0.0006"))
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget)
        driver = world.driver(opened, dispatcher)
        state = await driver.drive()
        await dispatcher.close()

    assert state is State.BUDGET
    assert len(post.parcels) > 1
    assert budget.spent <= budget.ceiling  # type: ignore[operator]
    assert budget.reserved == 0


@virtual_time
async def test_a_pause_does_not_wait_for_the_money_of_a_batch(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 40), Post()
    post.becomes = lambda parcel: JobState.RUNNING
    budget = Budget(Decimal("0.0006"))
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget)
        driver = world.driver(opened, dispatcher)
        driving = asyncio.create_task(driver.drive())
        await asyncio.sleep(3600)
        assert not driving.done()
        assert budget.reserved > 0
        driver.halt(State.PAUSING)
        assert await asyncio.wait_for(driving, 60) is State.PAUSED
        await dispatcher.close()


def test_a_batch_that_cost_more_than_its_worst_case_holds_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Thinking outside the cap, which is 4.
    monkeypatch.setattr("tests.unit.engine.post.USAGE", Usage(10, 3_016))

    async def two(of: Sample, ask: Ask) -> Score:
        first = await ask("candidate", generate(of.inputs["question"], max_tokens=4))
        again = generate(first.text, max_tokens=4)
        return right(await ask("candidate", again, step="again"))

    @virtual_time
    async def run() -> None:
        world, post = await world_of(tmp_path, 10), Post()
        each = 3_026 * Decimal("0.000001")
        budget = Budget(15 * each)
        async with journal(world.path) as opened:
            dispatcher = batching(post, opened, budget=budget)
            driver = world.driver(opened, dispatcher, two)
            state = await driver.drive()
            await dispatcher.close()

        # The first wave was out before anybody knew; of the second, as much as fits.
        assert state is State.BUDGET
        assert 13 * each < budget.spent <= 15 * each
        assert budget.possible == 0
        assert budget.reserved == 0

    run()


@virtual_time
async def test_a_result_that_is_an_error_fails_its_sample_only(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post()
    post.says = lambda text: CallRejected("no") if text == "question 3" else "yes"

    state, driver = await drive(world, post)

    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 10, 1)
    assert post.executed["question 3"] == 1


@virtual_time
async def test_a_fault_of_the_provider_is_asked_again_a_few_times(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post()
    post.says = lambda text: ServerFault("oops") if text == "question 3" else "yes"

    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 1)
    assert post.executed["question 3"] == 3
    assert post.executed["question 4"] == 1
    again = [(body["calls"], body["why"]) for body in events(world, "batch-asks-again")]
    assert again == [(1, "the line says so")] * 2


def _without_some(lines: list[bytes]) -> list[bytes]:
    return [line for n, line in enumerate(lines) if n % 5 or len(lines) < 5]


def _with_garbage(lines: list[bytes]) -> list[bytes]:
    return [b"garbage", *lines[1:]] if lines[1:] else lines


def _with_more(lines: list[bytes]) -> list[bytes]:
    other = orjson.dumps({"id": "ffffffffff00000", "reply": "of somebody else"})
    beyond = orjson.dumps({"id": orjson.loads(lines[0])["id"][:10] + "fffff", "reply": "none"})
    second = orjson.dumps({"id": orjson.loads(lines[0])["id"], "reply": "again"})
    return [*lines, other, second, beyond, b"{not JSON", b'{"no": "id"}', b"", b"\xff\xfe"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda lines: random.Random(2).sample(lines, len(lines)), {}),
        (_without_some, {"batch-missing": [{"calls": 4}]}),
        (_with_more, {"batch-odd-lines": [{"unknown": 2, "double": 1, "unreadable": 3}]}),
        (
            lambda lines: [b"garbage", *lines[1:]] if lines[1:] else lines,
            {"batch-odd-lines": [{"unreadable": 1}]},
        ),
    ],
)
def test_strange_results_end_in_complete_ones(
    tmp_path: Path, spoil: Callable[[list[bytes]], list[bytes]], told: dict[str, Any]
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 20), Post()
        post.spoil = spoil

        state, driver = await drive(world, post)

        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 20, 0)
        for row in range(1, 21):
            *lost, call = world.calls(row)
            assert call.reply
            assert call.reply.text == f"to question {row}"
            assert all(one.reply and one.reply.possibly_billed for one in lost)
        for kind, bodies in told.items():
            kept = [{k: v for k, v in body.items() if k != "batch"} for body in events(world, kind)]
            assert kept[: len(bodies)] == bodies

    check()


@pytest.mark.parametrize(
    ("end", "counts", "possible"),
    [
        # What is counted as failed is not billed; of the rest nobody knows.
        (JobState.ENDED, {}, 4),
        (JobState.ENDED, {"succeeded": 16, "failed": 0}, 4),
        # What had no turn before an early end is not billed either.
        (JobState.EXPIRED, {}, 0),
        (JobState.EXPIRED, {"succeeded": 8, "failed": 0}, 0),
        (JobState.CANCELLED, {"progress": 0.4}, 0),
        (JobState.CANCELLED, {"progress": 0.5}, 2),
        (JobState.CANCELLED, {"withheld": 3}, 3),
    ],
)
def test_calls_without_a_result_count_where_they_may_have_been_answered(
    tmp_path: Path, end: JobState, counts: dict[str, Any], possible: int
) -> None:
    missing = 4 if end is JobState.ENDED else 12

    @virtual_time
    async def check() -> None:
        world, post, budget = await world_of(tmp_path, 20), Post(), Budget()
        post.becomes = lambda parcel: end if parcel.id == "job-1" else third_look(parcel)
        # The lines of an early end that say so are missing as well.
        post.spoil = lambda lines: lines[: 20 - missing] if len(lines) == 20 else lines
        post.counts = {"job-1": counts}
        async with journal(world.path) as opened:
            dispatcher = batching(post, opened, budget=budget)
            driver = world.driver(opened, dispatcher)
            state = await driver.drive()
            await dispatcher.close()

        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 20, 0)
        assert len(post.parcels["job-2"].lines) == missing
        lost = [call for row in range(1, 21) for call in world.calls(row)[:-1]]
        assert len(lost) == possible
        assert all(one.reply and one.reply.possibly_billed for one in lost)
        each = {one.reply.possible_cost for one in lost if one.reply}
        assert len(each) == (possible > 0)
        assert budget.possible == sum(one.reply.possible_cost for one in lost if one.reply)
        assert (budget.possible > 0) == (possible > 0)
        assert budget.reserved == 0
        assert budget.in_flight == 0
        with world.read() as reader:
            assert reader.query(totals).possible == budget.possible

    check()


@virtual_time
async def test_what_a_power_cut_must_not_undo_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a batch is being created, and its results before its calls are asked again."""
    world, post = await world_of(tmp_path, 3), Post()
    synced: list[int] = []
    sync, create = os.fsync, post.create

    def noted(file: int) -> None:
        sync(file)
        synced.append(os.fstat(file).st_ino)

    async def created(*args: Any) -> BatchJob:
        assert stages(world) == ["submitting"]
        assert synced[-1] == world.path.with_name("journal.db-wal").stat().st_ino
        return await create(*args)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(post, "create", created)
    state, _ = await drive(world, post)
    assert state is State.COMPLETE
    [results] = tmp_path.glob("batches/*.results.jsonl")
    assert results.stat().st_ino in synced


@virtual_time
async def test_an_unreadable_line_of_an_early_end_may_be_an_answer(tmp_path: Path) -> None:
    world, post, budget = await world_of(tmp_path, 8), Post(), Budget()
    post.usage = Usage(10, 4)
    post.becomes = lambda parcel: JobState.CANCELLED if parcel.id == "job-1" else third_look(parcel)
    post.spoil = lambda lines: [lines[0][:9], *lines[1:]] if len(lines) == 8 else lines
    state, driver = await drive(world, post, budget=budget)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 8, 0)
    assert sorted(post.executed.values()) == [1] * 7 + [2]
    with world.read() as reader:
        assert reader.query(totals).possible == budget.possible == Decimal("0.00011")


@virtual_time
async def test_calls_whose_results_never_come_are_sent_three_times_at_most(tmp_path: Path) -> None:
    world, post, budget = await world_of(tmp_path, 5), Post(), Budget()
    post.says = lambda text: ServerFault("oops") if text == "question 2" else "yes"
    # The first question has never a line, the second always that of an error.
    post.spoil = lambda lines: lines[1:] if len(lines) == 5 else [x for x in lines if b"err" in x]
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened, budget=budget)
        driver = world.driver(opened, dispatcher)
        await driver.drive()
        await dispatcher.close()

    assert driver.progress.failed == 2
    assert sorted(post.executed.values()) == [1, 1, 1, 3, 3]
    calls = [call.reply for row in range(1, 6) for call in world.calls(row)]
    lost = [reply for reply in calls if reply and reply.possibly_billed]
    assert len(lost) == 3
    assert [reply.attempts for reply in lost] == [1, 2, 3]
    with world.read() as reader:
        assert reader.query(totals).possible == budget.possible > 0


@pytest.mark.parametrize("end", [JobState.EXPIRED, JobState.CANCELLED])
def test_what_an_early_end_leaves_is_sent_again_and_the_rest_kept(
    tmp_path: Path, end: JobState
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 20), Post()
        post.becomes = lambda parcel: end if parcel.id == "job-1" else third_look(parcel)

        state, driver = await drive(world, post)

        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 20, 0)
        assert [len(parcel.lines) for parcel in post.parcels.values()] == [20, 10]
        assert set(post.executed.values()) == {1}
        assert stages(world) == [end.value, "done"]

    check()


@virtual_time
async def test_a_full_queue_is_tried_again_later(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()

    def full(parcel: Parcel) -> JobState:
        if len(post.parcels) < 4:
            parcel.why = "queue full"
            return JobState.FAILED
        return third_look(parcel)

    post.becomes = full
    state, driver = await drive(world, post)

    assert (state, driver.progress.failed, len(post.parcels)) == (State.COMPLETE, 0, 4)
    assert len({parcel.name for parcel in post.parcels.values()}) == 4
    assert now() > 60 + 120 + 240


@virtual_time
async def test_a_batch_larger_than_the_queue_is_split_once_that_is_known(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 40), Post()

    def full(parcel: Parcel) -> JobState:
        if len(parcel.lines) > 10:
            post.limits = replace(post.limits, most_tokens=80)
            parcel.why = "queue full"
            return JobState.FAILED
        return third_look(parcel)

    post.becomes = full
    state, driver = await drive(world, post)

    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 40, 0)
    assert len(post.parcels) > 4
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_a_batch_may_take_all_that_the_queue_takes(tmp_path: Path) -> None:
    for name in ("one", "ten"):
        (tmp_path / name).mkdir()
    world = await world_of(tmp_path / "one", 1)
    async with journal(world.path) as opened:
        await world.driver(opened, dispatcher := batching(Post(), opened)).drive()
        [one] = dispatcher._context.batches
        await dispatcher.close()
    world, post = await world_of(tmp_path / "ten", 10), Post()
    most = ceil(5 * one.tokens / SHARE)
    assert int(most * SHARE) == 5 * one.tokens
    post.limits = replace(post.limits, most_tokens=most)
    await drive(world, post)
    assert [len(parcel.lines) for parcel in post.parcels.values()] == [5, 5]


@virtual_time
async def test_what_batches_saved_is_told(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post()
    async with journal(world.path) as opened:
        dispatcher = batching(post, opened)
        await world.driver(opened, dispatcher).drive()
        [told] = dispatcher.shown()
        await dispatcher.close()
    assert Decimal(told["saved"]) == Decimal(told["cost"]) == 10 * 20 * Decimal("0.000001")


@virtual_time
async def test_a_batch_that_is_refused_as_a_whole_says_why_on_every_sample(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()

    def bad(parcel: Parcel) -> JobState:
        parcel.why = "line 3 is not a request"
        return JobState.FAILED

    post.becomes = bad
    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 5)
    (call,) = world.calls(2)
    assert call.reply
    assert "line 3 is not a request" in call.reply.error


@virtual_time
async def test_a_batch_that_never_ends_is_cancelled_and_what_it_did_is_kept(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post(window_s=1000)
    post.becomes = lambda parcel: JobState.WAITING if parcel.id == "job-1" else third_look(parcel)

    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert [len(parcel.lines) for parcel in post.parcels.values()] == [10, 5]


@virtual_time
async def test_a_batch_that_cannot_even_be_cancelled_is_given_up(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 4), Post(window_s=1000)
    post.becomes = lambda parcel: JobState.WAITING
    post.fail("cancel", *[CallRejected("no")] * 1)

    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 4)
    (call,) = world.calls(1)
    assert call.reply
    assert call.reply.possibly_billed


@pytest.mark.parametrize(
    ("pace", "jobs"),
    [(0.001, 1), (30.0, 2)],
    ids=["it says that hardly any time has gone by", "it says that it takes too long"],
)
@pytest.mark.parametrize("settings", [{}, {"fallback_s": 3600.0}], ids=["overdue", "fallback"])
def test_how_long_a_batch_takes_is_told_by_its_providers_clock(
    tmp_path: Path, pace: float, jobs: int, settings: dict[str, Any]
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 10), Post(window_s=1000)
        began = now()
        post.clock = lambda: 5e8 + pace * (now() - began)
        post.becomes = lambda parcel: (
            third_look(parcel)
            if parcel.id != "job-1" or now() - began > 90_000
            else JobState.RUNNING
        )

        state, driver = await drive(world, post, **settings)

        assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, 10)
        at_once = 5 if settings and jobs == 2 else 0
        assert len(post.asked) == at_once
        assert len(post.parcels) == (1 if at_once else jobs)
        assert ("cancel" in post.steps) is (now() - began < 3600) is (jobs == 2)

    check()


@virtual_time
async def test_stragglers_are_asked_at_once_when_that_is_wished(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 10), Post()
    post.becomes = lambda parcel: JobState.RUNNING

    state, driver = await drive(world, post, fallback_s=3600.0)

    assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, 10)
    assert len(post.asked) == 5
    assert set(post.executed.values()) == {1}


@pytest.mark.parametrize("step", ["upload", "poll", "fetch"])
def test_a_step_that_fails_for_the_moment_is_taken_again(tmp_path: Path, step: str) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 5), Post()
        post.fail(step, ServerFault("503"), ConnectionFailed("reset"))

        state, driver = await drive(world, post)

        assert (state, driver.progress.failed, len(post.parcels)) == (State.COMPLETE, 0, 1)

    check()


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("step", "failures", "ends"),
    [
        # A server that was never reached at all ends the run sooner.
        ("upload", 60, State.FAILED),
        ("create", 60, State.COMPLETE),
        ("fetch", 60, State.COMPLETE),
        ("create", 200, State.FAILED),
        ("fetch", 200, State.FAILED),
    ],
)
def test_a_provider_that_is_down_is_waited_for_an_hour_but_not_for_ever(
    tmp_path: Path, step: str, failures: int, ends: State
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 5), Post()
        post.fail(step, *[ConnectionFailed("cannot reach it")] * failures)

        state, driver = await drive(world, post)
        assert state is ends
        while state is State.FAILED:
            # What could not be done is still to do, and nothing else.
            state, driver = await drive(world, post)

        assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 0, 5)
        assert (len(post.parcels), set(post.executed.values())) == (1, {1})

    check()


@pytest.mark.parametrize("names", [True, False])
def test_a_creation_whose_answer_was_lost_is_found(tmp_path: Path, names: bool) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path, 5), Post()
        post.names = names
        post.fail("created", ConnectionFailed("reset"))

        state, driver = await drive(world, post)

        assert (state, driver.progress.failed, len(post.parcels)) == (State.COMPLETE, 0, 1)
        assert set(post.executed.values()) == {1}

    check()


@virtual_time
async def test_a_batch_of_somebody_else_is_not_taken_for_ours(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()
    post.names = False
    post.parcels["theirs"] = Parcel(
        "theirs", "other", [{"id": f"aaaaaaaaaa{n:05x}", "text": f"other {n}"} for n in range(5)]
    )
    # The connection broke before the batch was made.
    post.fail("create", ConnectionFailed("reset"))

    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert len(post.parcels) == 2
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_a_batch_that_may_be_somebody_elses_is_not_cancelled(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post(window_s=1000)
    post.names = False
    others = [{"id": f"aaaaaaaaaa{n:05x}", "text": f"other {n}"} for n in range(5)]
    post.parcels["theirs"] = Parcel("theirs", "other", others)
    post.becomes = lambda parcel: JobState.WAITING
    post.fail("create", ConnectionFailed("reset"))

    state, driver = await drive(world, post)

    assert (state, driver.progress.failed) == (State.COMPLETE, 5)
    assert "cancel" not in post.steps


@virtual_time
async def test_a_fault_of_a_plug_in_ends_the_run_and_is_told(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()
    post.fail("poll", ZeroDivisionError("oops"))

    state, driver = await drive(world, post)

    assert state is State.FAILED
    assert "oops" in str(driver.failure)
    assert (await drive(world, post))[0] is State.COMPLETE
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_a_bad_key_stops_the_run_and_a_resume_sends_what_is_prepared(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()
    post.fail("create", BadKey("not accepted"))

    state, driver = await drive(world, post)
    assert state is State.FAILED
    assert isinstance(driver.failure, BadKey)

    state, driver = await drive(world, post)
    assert (state, len(post.parcels)) == (State.COMPLETE, 1)


@virtual_time
async def test_submit_and_leave_then_collect_until_done(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 5), Post()

    lives: list[State] = []
    while len(lives) < 12:
        state, _ = await drive(world, post, two_questions, leave=True)
        lives.append(state)
        if state is State.COMPLETE:
            break

    assert lives[0] is State.WAITING
    assert lives[-1] is State.COMPLETE
    assert len(post.parcels) == 2
    assert set(post.executed.values()) == {1}


@virtual_time
async def test_a_call_that_no_batch_can_hold_goes_alone(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 3), Post(most_bytes=40)
    state, _ = await drive(world, post)
    assert state is State.COMPLETE
    assert len(post.asked) == 3


@virtual_time
async def test_a_call_that_cannot_be_put_in_a_line_fails_alone(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, 3), Post()

    async def some(of: Sample, ask: Ask) -> Score:
        word = "impossible" if of.inputs["question"] == "question 2" else "possible"
        return right(await ask("candidate", generate(word + of.inputs["question"])))

    state, driver = await drive(world, post, some)
    assert (state, driver.progress.failed, driver.progress.done) == (State.COMPLETE, 1, 3)


@pytest.mark.share(2)
@pytest.mark.parametrize("solve", [one_question, two_questions])
@pytest.mark.parametrize("names", [True, False])
def test_an_engine_that_dies_before_or_after_any_step_loses_and_repeats_nothing(
    tmp_path: Path, solve: Solve, names: bool
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path / "run", 6), Post()
        post.names = names
        deaths, dice = 0, random.Random(f"{names}")
        for _ in range(30):
            deaths += await dies_at(world, post, solve, dice.randrange(6))
        state, driver = await drive(world, post, solve)
        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 6, 0)
        assert deaths >= 5
        assert set(post.executed.values()) == {1}

    (tmp_path / "run").mkdir()
    check()


class Breaking(Post):
    """Answers that break off, as many as ``times`` says; they may have been billed."""

    times = 1

    def reply(self, result: ResultLine, call: Call) -> Reply:
        if self.times:
            self.times -= 1
            raise ServerFault("the answer broke off", possibly_billed=True)
        return super().reply(result, call)


@pytest.mark.parametrize("times", [1, 3])
@virtual_time
async def test_an_answer_that_broke_off_counts_as_possibly_billed(
    tmp_path: Path, times: int
) -> None:
    world, post, budget = await world_of(tmp_path, 1), Breaking(), Budget()
    post.times, post.usage = times, Usage(10, 4)

    state, driver = await drive(world, post, budget=budget)

    assert (state, driver.progress.done) == (State.COMPLETE, 1)
    assert driver.progress.failed == (times == 3)
    assert post.executed == {"question 1": min(3, times + 1)}
    asked = Call(MODEL, generate("question 1", max_tokens=4))
    assert budget.possible == times * CostMeter(Budget(), HALF).worst_case(asked)
    assert budget.reserved == 0
    with world.read() as reader:
        assert reader.query(totals).possible == budget.possible
    assert sum(event["calls"] for event in events(world, "batch-asks-again")) == min(2, times)


class Losing(Post):
    """Has no result for some questions when they are asked first, or one that broke off."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.usage = Usage(10, 4)
        self.lost = {"question 2", "question 5"}
        self.spoil = self._without

    def _without(self, lines: list[bytes]) -> list[bytes]:
        return (
            lines if self.how == "broken" or len(lines) < 3 else [lines[0], *lines[2:4], lines[5]]
        )

    def reply(self, result: ResultLine, call: Call) -> Reply:
        text = call.prompt.messages[-1].text
        if self.how == "broken" and text in self.lost and self.executed[text] == 1:
            raise ServerFault("the answer broke off", possibly_billed=True)
        return super().reply(result, call)


@pytest.mark.share(2)
@pytest.mark.parametrize("how", ["broken", "missing"])
@pytest.mark.parametrize("nth", range(12, 28))
def test_engines_that_die_ask_what_was_lost_once_more_and_no_oftener(
    tmp_path: Path, how: str, nth: int
) -> None:
    @virtual_time
    async def check() -> None:
        world, post = await world_of(tmp_path / "run", 6), Losing(how)
        await dies_at(world, post, one_question, nth)
        state, driver = await drive(world, post)
        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 6, 0)
        assert post.executed == {
            f"question {n}": 2 if f"question {n}" in post.lost else 1 for n in range(1, 7)
        }
        with world.read() as reader:
            assert reader.query(totals).possible == 2 * Decimal("0.00011")

    (tmp_path / "run").mkdir()
    check()


@virtual_time
async def test_a_run_whose_samples_wait_for_no_batch_is_not_complete(tmp_path: Path) -> None:
    """A call that is in a batch and nowhere else, as an older version could leave it."""
    world, post = await world_of(tmp_path, 5), Post()
    post.becomes = lambda parcel: JobState.ENDED if now() > 100 else JobState.RUNNING
    state, _ = await drive(world, post, leave=True)
    assert state is State.WAITING
    with closing(sqlite3.connect(world.path)) as db, db:
        db.execute("DELETE FROM call WHERE id IN (SELECT call FROM batched WHERE item = 2)")

    await asyncio.sleep(200)
    state, driver = await drive(world, post)
    assert (state, driver.progress.done) == (State.FAILED, 4)
    assert "the replies to 1 sample are missing" in str(driver.failure)

    state, driver = await drive(world, post)
    assert (state, driver.progress.done) == (State.COMPLETE, 5)

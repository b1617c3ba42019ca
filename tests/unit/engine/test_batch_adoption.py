"""Creations whose answers were lost: every batch is found again, and none is made twice."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.errors import CallRejected, ConnectionFailed, ResultsNotFetched
from evalbench.engine.runs.status import State
from tests.unit.engine.batch_lives import dies_at, drive, events, stages, world_of
from tests.unit.engine.driving import one_question, two_questions
from tests.unit.engine.post import Parcel, Post
from tests.unit.engine.virtual_time import now, virtual_time

BATCHES = 5
EACH = 1
"""Calls in every batch: all have as many."""
CALLS = BATCHES * EACH


class Forgetful(Post):
    """Loses the answers to creations.

    Attributes:
        fates: what becomes of the creations, in their order: ``ok``; ``lost``: made, and
            nobody told; ``never``: not made. Then all is well.
        ends: after how many seconds each batch ends, in the order of their making.
    """

    def __init__(self, fates: tuple[str, ...] = (), ends: tuple[float, ...] = ()) -> None:
        super().__init__()
        self.fates = list(fates)
        self.ends = ends
        self.names = False
        self.becomes = self._becomes

    def _becomes(self, parcel: Parcel) -> JobState:
        ours = [one for one in self.parcels.values() if one.name != "other"]
        place = ours.index(parcel) if parcel in ours else -1
        after = self.ends[place] if 0 <= place < len(self.ends) else 0.0
        return JobState.ENDED if now() > after else JobState.RUNNING

    async def create(
        self, file: Path, name: str, model: str, uploaded: Mapping[str, Any]
    ) -> BatchJob:
        fate = self.fates.pop(0) if self.fates else "ok"
        if fate == "never":
            raise ConnectionFailed("the connection was reset", possibly_billed=True)
        job = await super().create(file, name, model, uploaded)
        if fate == "lost":
            raise ConnectionFailed("the connection was reset", possibly_billed=True)
        return job

    def of_others(self, count: int, lines: int = EACH) -> None:
        """Batches of another run, which look like ours until their results can be read."""
        for _ in range(count):
            ident = f"theirs-{len(self.parcels)}"
            held = [{"id": f"aaaaaaaaaa{n:05x}", "text": f"other {n}"} for n in range(lines)]
            self.parcels[ident] = Parcel(ident, "other", held)

    @property
    def sent(self) -> list[str]:
        """The names of all requests in batches that are ours."""
        ours = (one for one in self.parcels.values() if one.name != "other")
        return [line["id"] for one in ours for line in one.lines]


async def finished_once(folder: Path, post: Forgetful, **more: Any) -> None:
    """Drive a run to its end, and see that nothing was asked twice."""
    world = await world_of(folder, CALLS)
    state, driver = await drive(world, post, size=EACH, **more)
    epochs = more.get("epochs", 1)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert driver.progress.done == CALLS * epochs
    assert len(post.sent) == len(set(post.sent)) == CALLS * epochs
    assert {times for text, times in post.executed.items() if "question" in text} == {epochs}


@pytest.mark.share(3)
@pytest.mark.parametrize("names", [True, False], ids=["named", "nameless"])
@pytest.mark.parametrize("lost", range(1, BATCHES + 1))
def test_any_lost_answers_make_no_batch_twice(tmp_path: Path, lost: int, names: bool) -> None:
    every = itertools.combinations(range(BATCHES), lost)
    for number, places in enumerate(itertools.islice(every, 2 if names else None)):
        fates = tuple("lost" if place in places else "ok" for place in range(BATCHES))
        ends = tuple(30.0 * (1 + (place + number) % BATCHES) for place in range(BATCHES))

        @virtual_time
        async def check(folder: Path, post: Forgetful) -> None:
            folder.mkdir()
            await finished_once(folder, post)

        post = Forgetful(fates, ends)
        post.names = names
        check(tmp_path / str(number), post)


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(12))
def test_lost_answers_among_batches_of_others_and_slow_lists(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    fates = tuple(dice.choices(("ok", "lost", "never"), (1, 2, 1), k=2 * BATCHES))
    ends = tuple(dice.sample([20.0, 40.0, 100.0, 200.0, 400.0], BATCHES))

    @virtual_time
    async def check() -> None:
        post = Forgetful(fates, ends)
        post.of_others(dice.randrange(4))
        post.lists_after = dice.choice([0.0, 5.0, 25.0])
        await finished_once(tmp_path, post, epochs=1 + seed % 2)

    check()


@pytest.mark.parametrize("names", [True, False], ids=["named", "nameless"])
@pytest.mark.parametrize("late", [1.0, 10.0, 25.0])
def test_a_list_that_lags_is_asked_again(tmp_path: Path, late: float, names: bool) -> None:
    @virtual_time
    async def check() -> None:
        post = Forgetful(("lost",) * 3)
        post.names, post.lists_after = names, late
        await finished_once(tmp_path, post)

    check()


@pytest.mark.parametrize("lost", [1, 3, 5])
def test_engines_that_die_around_lost_answers_repeat_nothing(tmp_path: Path, lost: int) -> None:
    @virtual_time
    async def check() -> None:
        (tmp_path / "run").mkdir()
        world = await world_of(tmp_path / "run", CALLS)
        post, dice = Forgetful(("lost",) * lost, (60.0,) * BATCHES), random.Random(lost)
        post.of_others(1)
        deaths = 0
        for nth in (*range(0, 24, 3), *dice.sample(range(24), 4)):
            deaths += await dies_at(world, post, two_questions, nth, size=EACH)
        state, driver = await drive(world, post, two_questions, size=EACH)
        assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, CALLS, 0)
        assert deaths > 3
        assert {times for text, times in post.executed.items() if "question" in text} == {1}

    check()


@virtual_time
async def test_collecting_finds_them_step_by_step(tmp_path: Path) -> None:
    world = await world_of(tmp_path, CALLS)
    post = Forgetful(("lost", "ok", "lost", "lost", "ok"), (900.0, 100.0, 500.0, 100.0, 300.0))
    post.of_others(2)
    state, lives = State.WAITING, 0
    while state is State.WAITING and lives < 60:
        state, driver = await drive(world, post, size=EACH, leave=True)
        lives += 1
        await asyncio.sleep(100.0)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, CALLS, 0)
    assert len(post.sent) == CALLS


@virtual_time
async def test_a_batch_that_may_be_one_of_several_is_told(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, EACH), Forgetful(("lost",))
    post.of_others(1)
    await drive(world, post, size=EACH)
    [told] = events(world, "batch-uncertain")
    assert told["ids"] == ["theirs-0", "job-2"]
    assert events(world, "batch-found")[-1]["id"] == "job-2"


@virtual_time
async def test_a_stranger_whose_results_cannot_be_read_leaves_it_open(tmp_path: Path) -> None:
    # It may be ours, made and paid for: only the user can say that it is to be made again.
    world, post = await world_of(tmp_path, EACH), Forgetful(("never",))
    post.of_others(1)
    post.withheld["theirs-0"] = CallRejected("Post has the results of this batch no longer")
    state, driver = await drive(world, post)
    assert (state, stages(world)) == (State.FAILED, ["unfetched"])
    assert isinstance(driver.failure, ResultsNotFetched)
    assert not post.sent

    state, driver = await drive(world, post, resend_unfetched=True)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert len(post.sent) == EACH


@virtual_time
async def test_a_plain_no_is_not_looked_for(tmp_path: Path) -> None:
    world, post = await world_of(tmp_path, EACH), Post()
    post.fail("create", CallRejected("no such file"))
    state, driver = await drive(world, post, one_question)
    assert (state, driver.progress.failed) == (State.COMPLETE, 0)
    assert "find" not in post.steps

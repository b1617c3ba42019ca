"""Several calls at once: of several failures the one that concerns most decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.benchmark import Ask, Sample, Score, ask_judges, failed_judgements
from evalbench.engine.calls import Call, Outcome, Reply, generate
from evalbench.engine.dispatch.base import BudgetSpent, Halted
from evalbench.engine.errors import BadKey
from evalbench.engine.runs.status import State
from tests.unit.engine.driving import Answers, World, error
from tests.unit.engine.journals import journal, sample

FATES: dict[str, Reply | BaseException] = {
    "fine": Reply("yes"),
    "failed": error(),
    "halted": Halted(),
    "no money": BudgetSpent(),
    "bad key": BadKey("the key is not accepted"),
    "fault": ZeroDivisionError("oops"),
}


async def solve(of: Sample, ask: Ask) -> Score:
    texts = of.inputs["question"].split(", ")
    await ask.many([("candidate", generate(text), text) for text in texts])
    return Score(Outcome.OK, {"accuracy": 1.0})


def answer(call: Call) -> Reply | BaseException:
    return FATES[call.prompt.messages[0].text]


async def one_sample(folder: Path, fates: str) -> World:
    """A run of one sample whose calls end as told."""
    world = World(folder / "journal.db")
    async with journal(world.path) as opened:
        await opened.add_samples([(1, sample(1, fates))])
    return world


@pytest.mark.parametrize(
    ("fates", "state", "outcomes"),
    [
        ("fine", State.COMPLETE, {"ok": 1}),
        ("fine, failed", State.COMPLETE, {"error": 1}),
        ("fault, failed", State.COMPLETE, {"error": 1}),
        ("failed, halted, bad key", State.FAILED, {}),
        ("halted, no money, failed", State.BUDGET, {}),
        ("failed, no money", State.BUDGET, {}),
        ("no money, bad key", State.FAILED, {}),
    ],
)
async def test_what_concerns_most_decides(
    tmp_path: Path, fates: str, state: State, outcomes: dict[str, int]
) -> None:
    world = await one_sample(tmp_path, fates)
    ended, driver = await world.drive(Answers(answer), solve)
    assert ended == state
    assert world.outcomes() == outcomes
    assert isinstance(driver.failure, BadKey) == ("bad key" in fates)
    # Whatever was answered is kept, however the others ended.
    kept = [call.key.step for call in world.calls(1) if call.reply == Reply("yes")]
    assert kept == [text for text in fates.split(", ") if text == "fine"]


async def test_a_halted_call_leaves_its_sample_unfinished(tmp_path: Path) -> None:
    world = await one_sample(tmp_path, "failed, halted")
    await world.drive(Answers(answer), solve)
    assert world.outcomes() == {}


async def test_what_one_judge_says_is_kept_and_only_the_other_is_asked_again(
    tmp_path: Path,
) -> None:
    world = await one_sample(tmp_path, "fine, failed")

    async def judged(of: Sample, ask: Ask) -> Score:
        asks = [("candidate", generate(text), text) for text in ("fine", "failed")]
        replies = await ask_judges(ask, asks)
        right = [reply for reply in replies if reply.outcome is Outcome.OK]
        failed = failed_judgements(asks, replies)
        outcome = Outcome.ERROR if failed else Outcome.OK
        return Score(outcome, {"accuracy": len(right) / 2}, note="; ".join(failed))

    state, driver = await world.drive(Answers(answer), judged)
    assert (state, world.outcomes()) == (State.COMPLETE, {"error": 1})
    assert driver.progress.tally.sums("accuracy") == (1, 0.5, 0.25, 0)
    again = Answers()
    await world.drive(again, judged)
    assert (again.asked, world.outcomes()) == (["failed"], {"ok": 1})

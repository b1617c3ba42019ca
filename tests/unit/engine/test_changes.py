"""Is a resumed run still the same, and what would be paid again if not?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Ask, Sample, Score
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate
from evalbench.engine.errors import RunChanged
from evalbench.engine.execution.changes import paid_again, refuse
from evalbench.engine.runs.record import differences
from tests.unit.engine.driving import (
    Answers,
    Solve,
    Solving,
    World,
    error,
    one_question,
    right,
    two_questions,
)
from tests.unit.engine.journals import MODEL, journal

ERRORS = frozenset({Outcome.ERROR})


@pytest.fixture
async def world(tmp_path: Path) -> World:
    """A run of five samples."""
    made = World(tmp_path / "journal.db")
    await made.fill(5)
    return made


async def lost(
    world: World,
    solve: Solve,
    *,
    epochs: int = 1,
    ask_again: frozenset[Outcome] = ERRORS,
    overrides: dict[str, object] | None = None,
    model: ModelRef = MODEL,
) -> int:
    """How many replies a resume with this benchmark would pay again."""
    roles = {"candidate": (model, overrides or {})}
    async with journal(world.path) as opened:
        return await paid_again(opened, Solving(solve), roles, epochs, ask_again)


async def other_words(of: Sample, ask: Ask) -> Score:
    """Other words from the first question on."""
    return right(await ask("candidate", generate("Other: " + of.inputs["question"])))


async def other_second(of: Sample, ask: Ask) -> Score:
    """Other words in the second question only."""
    question = of.inputs["question"]
    await ask("candidate", generate(question, max_tokens=4), step="first")
    return right(await ask("candidate", generate("Other words"), step="second"))


async def other_first(of: Sample, ask: Ask) -> Score:
    """Other words in the first of two questions."""
    await ask("candidate", generate("Other words"), step="first")
    raise AssertionError("a replay ends at what the journal does not have")


def second_fails(call: Call) -> Reply:
    return error() if "?" in call.prompt.messages[-1].text else Reply("yes")


# -- what differs ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "now", "lines"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1}, []),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, []),
        ({"limit": 5}, {"limit": 10}, ["limit was 5, is now 10"]),
        ({"limit": None}, {"limit": 10}, ["limit was not set, is now 10"]),
        ({"limit": 5}, {}, ["limit was 5, is now not set"]),
        ({"price": None}, {"filters": {}, "price": []}, []),
        ({"seed": None}, {"seed": 0}, ["seed was not set, is now 0"]),
        ({"shuffle": False}, {"shuffle": True}, ["shuffle was False, is now True"]),
        (
            {"settings": {"options": {"shots": 5}, "seed": 0}, "data": "aa"},
            {"settings": {"options": {"shots": 0}, "seed": 0}, "data": "bb"},
            ["data was aa, is now bb", "settings.options.shots was 5, is now 0"],
        ),
        (
            {"filters": {"subject": ["anatomy"]}},
            {"filters": {}},
            ["filters.subject was ['anatomy'], is now not set"],
        ),
    ],
)
def test_every_difference_is_one_readable_line(
    stored: dict[str, Any], now: dict[str, Any], lines: list[str]
) -> None:
    assert differences(stored, now) == lines


# -- what would be paid again -----------------------------------------------------------


async def test_an_unchanged_run_pays_nothing_again(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)
    assert await lost(world, two_questions) == 0


async def test_a_run_that_asked_nothing_yet_has_nothing_to_lose(world: World) -> None:
    assert await lost(world, other_words) == 0


async def test_replies_of_unfinished_samples_would_be_paid_again(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)
    assert await lost(world, other_first) == 5
    assert await lost(world, other_second) == 0, "the second replies were errors"


async def test_other_parameters_are_another_question(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)
    assert await lost(world, two_questions, overrides={"temperature": 0.5}) == 5


async def test_another_model_loses_nothing_that_was_its_own(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)
    assert await lost(world, two_questions, model=ModelRef("acme", "other")) == 0


async def test_finished_samples_are_not_counted(world: World) -> None:
    await world.drive(Answers())
    assert await lost(world, other_words) == 0
    async with journal(world.path) as opened:
        opened.store_score(2, 0, {}, Outcome.ERROR, {}, {})
        opened.store_score(4, 0, {}, Outcome.REFUSED, {}, {})
    assert await lost(world, other_words) == 1
    assert await lost(world, other_words, ask_again=ERRORS | {Outcome.REFUSED}) == 2


async def test_only_what_comes_after_the_change_is_lost(world: World) -> None:
    await world.drive(Answers(), two_questions)
    async with journal(world.path) as opened:
        opened.forget_scores([Outcome.OK])
    assert await lost(world, two_questions) == 0
    assert await lost(world, other_second) == 5
    assert await lost(world, other_first) == 10


async def test_every_unfinished_epoch_counts(world: World) -> None:
    await world.drive(Answers(), epochs=3)
    async with journal(world.path) as opened:
        opened.forget_scores([Outcome.OK])
        opened.store_score(1, 1, {}, Outcome.OK, {}, {})
    assert await lost(world, other_words, epochs=3) == 14


async def test_however_many_samples_there_are(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(150)
    await world.drive(Answers())
    async with journal(world.path) as opened:
        opened.forget_scores([Outcome.OK])
    assert await lost(world, one_question) == 0
    assert await lost(world, other_words) == 150


async def test_a_benchmark_that_fails_on_a_sample_does_not_stop_the_check(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)

    async def faulty(of: Sample, ask: Ask) -> Score:
        if of.inputs["question"] == "question 1":
            raise ValueError("odd sample")
        return await other_first(of, ask)

    assert await lost(world, faulty) == 4


async def test_nothing_is_written_by_the_check(world: World) -> None:
    await world.drive(Answers(second_fails), two_questions)
    before = [world.calls(row) for row in range(1, 6)]
    await lost(world, other_first)
    assert [world.calls(row) for row in range(1, 6)] == before


# -- refusing ---------------------------------------------------------------------------


def test_the_refusal_says_what_changed_and_what_it_would_cost() -> None:
    refusal = refuse(["limit was 5, is now 10", "data was aa, is now bb"], 7, 3)
    assert isinstance(refusal, RunChanged)
    assert refusal.what.splitlines() == [
        "this run was started with other settings:",
        "    limit was 5, is now 10",
        "    data was aa, is now bb",
    ]
    assert refusal.why == (
        "7 replies already paid for would be asked again; "
        "3 finished samples would keep scores made the old way"
    )
    assert "--accept-changes" in refusal.hint


def test_without_a_known_change_the_prompts_must_have_changed() -> None:
    refusal = refuse([], 7, 0)
    assert "prompt templates changed" in refusal.what
    assert "finished" not in refusal.why

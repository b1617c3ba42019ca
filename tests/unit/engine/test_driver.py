"""Driving a run's samples: once, again after a stop, and to whatever end."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from evalbench.engine.benchmark import Ask, Sample, Score
from evalbench.engine.calls import Call, Outcome, ParamNote, Reply, Usage, generate
from evalbench.engine.dispatch.base import BudgetSpent
from evalbench.engine.errors import BadKey, DataError, EvalbenchError, JournalError, RunFatal
from evalbench.engine.execution import driver as module
from evalbench.engine.execution.driver import SAME_FAILURES, Driver
from evalbench.engine.runs.status import State
from tests.unit.engine.driving import Answers, World, error, one_question, two_questions, until
from tests.unit.engine.journals import journal, sample


@pytest.fixture
async def world(tmp_path: Path) -> World:
    """A run of five samples."""
    made = World(tmp_path / "journal.db")
    await made.fill(5)
    return made


def questions(*numbers: int) -> list[str]:
    return [f"question {number}" for number in numbers]


def failing_on(*numbers: int) -> Callable[[Call], Reply]:
    """Answers all questions but some, which fail."""
    bad = set(questions(*numbers))
    return lambda call: error() if call.prompt.messages[-1].text in bad else Reply("yes")


# -- to the end --------------------------------------------------------------------


async def test_every_sample_is_asked_once_and_scored(world: World) -> None:
    answers = Answers(lambda call: Reply("yes", usage=Usage(10, 2)))
    state, driver = await world.drive(answers)
    assert state is State.COMPLETE
    assert sorted(answers.asked) == questions(1, 2, 3, 4, 5)
    assert (driver.progress.done, driver.progress.total, driver.progress.failed) == (5, 5, 0)
    assert (driver.progress.sent, driver.progress.from_journal) == (5, 0)
    assert (driver.progress.input_tokens, driver.progress.output_tokens) == (50, 10)
    assert [(m.name, m.value, m.n) for m in driver.metrics()] == [("accuracy", 1.0, 5)]
    assert driver.progress.seconds >= 0
    assert driver.failure is None
    with world.read() as reader:
        assert reader.tally().rows == driver.progress.tally.rows
        assert {score.row: score.detail for score in reader.scores()} == {
            row: {"parsed": {"text": "yes"}} for row in range(1, 6)
        }


async def test_a_finished_run_asks_nothing_more(world: World) -> None:
    await world.drive(Answers(lambda call: Reply("yes", usage=Usage(10, 2))))
    answers = Answers()
    state, driver = await world.drive(answers)
    assert (state, answers.asked) == (State.COMPLETE, [])
    assert (
        driver.progress.done,
        driver.progress.total,
        driver.progress.sent,
        driver.progress.from_journal,
    ) == (5, 5, 0, 0)
    assert (driver.progress.input_tokens, driver.progress.output_tokens) == (50, 10)
    assert (driver.progress.seconds, driver.progress.rate()) == (0.0, 0.0)


async def test_a_run_without_samples_is_complete(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    state, driver = await world.drive(Answers())
    assert (state, driver.progress.total, driver.progress.done) == (State.COMPLETE, 0, 0)


async def test_a_reply_that_came_in_before_a_crash_is_not_asked_for_again(world: World) -> None:
    await world.drive(Answers())
    async with journal(world.path) as opened:
        opened.forget_scores([Outcome.OK])
    answers = Answers()
    state, driver = await world.drive(answers)
    assert (state, answers.asked) == (State.COMPLETE, [])
    assert (driver.progress.done, driver.progress.sent, driver.progress.from_journal) == (5, 0, 5)


async def test_no_more_samples_are_in_work_than_the_dispatcher_wants(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(200)
    answers = Answers(window=3)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 3)
        for _ in range(50):
            await asyncio.sleep(0)
        assert answers.inside == 3
        answers.set_concurrency(7)
        await until(lambda: answers.inside == 7)
        answers.gate.set()
        assert await driving is State.COMPLETE
    assert answers.most == 7
    assert Counter(answers.asked).most_common(1)[0][1] == 1
    assert len(answers.asked) == 200


async def test_samples_may_still_be_loaded_while_the_first_are_solved(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(2)
    answers = Answers()

    async with journal(world.path) as opened:

        def done(number: int) -> bool:
            return driver.progress.done >= number

        async def load() -> None:
            for number in range(3, 301):
                if number % 50 == 0:
                    await until(partial(done, number - 60))
                await opened.add_samples([(number, sample(number, f"question {number}"))])

        driver = world.driver(opened, answers)
        driver.open(expected=300)
        assert driver.progress.total == 300
        state = await driver.drive(asyncio.ensure_future(load()))
    assert (state, driver.progress.done) == (State.COMPLETE, 300)
    assert len(set(answers.asked)) == len(answers.asked) == 300


async def test_loading_that_fails_ends_the_run(world: World) -> None:
    async def load() -> None:
        raise DataError("no such row")

    async with journal(world.path) as opened:
        driver = world.driver(opened, Answers())
        with pytest.raises(DataError, match="no such row"):
            await driver.drive(asyncio.ensure_future(load()))


# -- epochs --------------------------------------------------------------------------


async def test_every_epoch_is_asked_and_scored_on_its_own(world: World) -> None:
    answers = Answers()
    state, driver = await world.drive(answers, epochs=3)
    assert (state, driver.progress.total, driver.progress.done) == (State.COMPLETE, 15, 15)
    assert set(Counter(answers.asked).values()) == {3}
    with world.read() as reader:
        assert [(s.row, s.epoch) for s in reader.scores()] == [
            (row, epoch) for row in range(1, 6) for epoch in range(3)
        ]
        assert {call.key.epoch for call in reader.calls(1)} == {0, 1, 2}


async def test_more_epochs_ask_only_the_new_ones(world: World) -> None:
    await world.drive(Answers(), epochs=2)
    answers = Answers()
    state, driver = await world.drive(answers, epochs=3)
    assert (state, driver.progress.done, len(answers.asked)) == (State.COMPLETE, 15, 5)


async def test_a_sample_counts_once_with_the_mean_of_its_epochs(world: World) -> None:
    async def half_right(of: Sample, ask: Ask) -> Score:
        reply = await ask("candidate", generate(of.inputs["question"]))
        return Score(Outcome.OK, {"accuracy": float(reply.text)})

    turns: Counter[str] = Counter()

    def answer(call: Call) -> Reply:
        text = call.prompt.messages[-1].text
        turns[text] += 1
        return Reply("1" if turns[text] == 1 else "0")

    _, driver = await world.drive(Answers(answer, window=1), half_right, epochs=4)
    means = driver.progress.tally.means
    assert means is not None
    assert means.sums("accuracy")[:2] == (5, 1.25)
    _, again = await world.drive(Answers(), half_right, epochs=4)
    assert again.progress.tally.means is not None
    assert again.progress.tally.means.rows == means.rows


# -- calls that failed -------------------------------------------------------------------


async def test_a_failed_call_fails_its_sample_alone_and_is_asked_again_later(
    world: World,
) -> None:
    state, driver = await world.drive(Answers(failing_on(2, 4)))
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 5, 2)
    assert driver.progress.errors == {"ServerFault": 2}
    assert world.outcomes() == {"ok": 3, "error": 2}
    with world.read() as reader:
        assert [s.detail for s in reader.scores() if s.row == 2] == [
            {"error": "ServerFault: broken"}
        ]
        assert [(e.kind, e.count, e.body) for e in reader.events()] == [
            ("sample-failed", 2, {"error": "ServerFault"})
        ]

    answers = Answers()
    state, driver = await world.drive(answers)
    assert sorted(answers.asked) == questions(2, 4)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 5, 0)
    assert world.outcomes() == {"ok": 5}
    first, second = world.calls(2)
    assert (first.reask, second.reask) == (0, 1)
    assert first.reply == error()
    assert second.reply == Reply("yes")


async def test_only_the_step_that_failed_is_asked_again(world: World) -> None:
    await world.drive(
        Answers(lambda c: error() if "?" in c.prompt.messages[-1].text else Reply("yes")),
        two_questions,
    )
    answers = Answers()
    state, driver = await world.drive(answers, two_questions)
    assert sorted(answers.asked) == [f"question {n} yes?" for n in range(1, 6)]
    assert (state, driver.progress.from_journal, driver.progress.sent) == (State.COMPLETE, 5, 5)
    assert [(c.key.step, c.reask) for c in world.calls(1)] == [
        ("first", 0),
        ("second", 0),
        ("second", 1),
    ]


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.TRUNCATED, Outcome.FILTERED])
async def test_refused_and_cut_answers_are_asked_again_only_on_request(
    world: World, outcome: Outcome
) -> None:
    await world.drive(Answers(lambda call: Reply("no", outcome)))
    again = Answers()
    await world.drive(again)
    assert again.asked == []
    wanted = Answers()
    _, driver = await world.drive(wanted, ask_again=frozenset({Outcome.ERROR, outcome}))
    assert sorted(wanted.asked) == questions(1, 2, 3, 4, 5)
    assert driver.progress.done == 5
    assert world.outcomes() == {"ok": 5}
    assert [(c.reask, c.reply.outcome) for c in world.calls(1) if c.reply] == [
        (0, outcome),
        (1, Outcome.OK),
    ]


async def test_a_question_in_other_words_is_asked_anew_beside_the_old_one(world: World) -> None:
    await world.drive(Answers())
    async with journal(world.path) as opened:
        opened.forget_scores([Outcome.OK])

    async def other_words(of: Sample, ask: Ask) -> Score:
        return await one_question(sample(1, f"other {of.inputs['question']}"), ask)

    answers = Answers()
    await world.drive(answers, other_words)
    assert sorted(answers.asked) == [f"other question {n}" for n in range(1, 6)]
    assert [(c.reask, c.prompt.messages[0].text) for c in world.calls(1)] == [
        (0, "question 1"),
        (1, "other question 1"),
    ]


async def test_many_calls_are_carried_through_when_one_fails(world: World) -> None:
    async def three(of: Sample, ask: Ask) -> Score:
        question = of.inputs["question"]
        asks = [("candidate", generate(f"{question}.{n}"), f"step {n}") for n in range(3)]
        replies = await ask.many(asks)
        return Score(Outcome.OK, {}, {"texts": [reply.text for reply in replies]})

    def answer(call: Call) -> Reply:
        text = call.prompt.messages[-1].text
        return error() if text == "question 1.0" else Reply(text)

    _, driver = await world.drive(Answers(answer), three)
    assert driver.progress.failed == 1
    kept = {call.key.step: call.reply for call in world.calls(1)}
    assert kept["step 0"] == error()
    assert (kept["step 1"], kept["step 2"]) == (Reply("question 1.1"), Reply("question 1.2"))
    again = Answers(lambda call: Reply(call.prompt.messages[-1].text))
    await world.drive(again, three)
    assert again.asked == ["question 1.0"]
    with world.read() as reader:
        texts = [score.detail["parsed"]["texts"] for score in reader.scores()]
    assert texts == [[f"question {row}.{n}" for n in range(3)] for row in range(1, 6)]


# -- faults of a benchmark ------------------------------------------------------------------


@pytest.mark.parametrize("fault", [ValueError("of {mine} %s"), KeyError("x"), SystemExit(3)])
async def test_a_fault_in_solve_fails_that_sample_alone(world: World, fault: BaseException) -> None:
    async def faulty(of: Sample, ask: Ask) -> Score:
        if of.inputs["question"] == "question 3":
            raise fault
        return await one_question(of, ask)

    state, driver = await world.drive(Answers(), faulty)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 5, 1)
    kind = type(fault).__name__
    assert driver.progress.errors == {kind: 1}
    with world.read() as reader:
        (failed,) = [s for s in reader.scores() if s.outcome is Outcome.ERROR]
    assert failed.row == 3
    assert failed.detail["error"].startswith(f"{kind}: {fault} (faulty:")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_a_score_that_is_no_number_fails_its_sample(world: World, value: float) -> None:
    async def odd(of: Sample, ask: Ask) -> Score:
        reply = await ask("candidate", generate(of.inputs["question"], max_tokens=4))
        return Score(reply.outcome, {"accuracy": value if of.inputs["question"][-1] == "3" else 1})

    state, driver = await world.drive(Answers(), odd)
    assert (state, driver.progress.done, driver.progress.failed) == (State.COMPLETE, 5, 1)
    with world.read() as reader:
        (failed,) = [s for s in reader.scores() if s.outcome is Outcome.ERROR]
        assert failed.values == {}
    assert f"the score 'accuracy' is {value}, not a finite number" in failed.detail["error"]


async def test_one_name_for_two_calls_ends_the_run(world: World) -> None:
    async def careless(of: Sample, ask: Ask) -> Score:
        await one_question(of, ask)
        return await one_question(of, ask)

    state, driver = await world.drive(Answers(), careless)
    assert state is State.FAILED
    assert isinstance(driver.failure, EvalbenchError)
    assert "asks 'candidate' twice in step 'answer'" in driver.failure.what
    assert "its own step or repeat" in driver.failure.hint


async def test_calls_that_differ_in_role_step_or_repeat_are_not_the_same(world: World) -> None:
    world.models = {**world.models, "judge": world.models["candidate"]}

    async def careful(of: Sample, ask: Ask) -> Score:
        prompt = generate(of.inputs["question"])
        await ask("candidate", prompt)
        await ask("candidate", prompt, repeat=1)
        await ask("candidate", prompt, step="second")
        await ask("judge", prompt)
        return Score(Outcome.OK, {})

    state, driver = await world.drive(Answers(), careful)
    assert (state, driver.progress.sent, len(world.calls(1))) == (State.COMPLETE, 20, 4)


async def test_a_role_that_nobody_plays_ends_the_run(world: World) -> None:
    async def ambitious(of: Sample, ask: Ask) -> Score:
        await ask("critic", generate("?"))
        raise AssertionError

    state, driver = await world.drive(Answers(), ambitious)
    assert state is State.FAILED
    assert "a role 'critic' that this run does not have" in str(driver.failure)


# -- ends before the end ------------------------------------------------------------------------


def open_gate_later(answers: Answers, driver: Driver, how: State) -> None:
    """Halt a driver whose calls are in flight, then let them end."""
    driver.halt(how)
    answers.gate.set()


async def test_a_pause_waits_for_calls_in_flight_and_sends_no_other(world: World) -> None:
    answers = Answers(window=2)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 2)
        driver.halt(State.PAUSING)
        await asyncio.sleep(0)
        assert not driving.done()
        answers.gate.set()
        assert await driving is State.PAUSED
    assert (len(answers.asked), driver.progress.done) == (2, 2)
    again = Answers()
    assert (await world.drive(again))[0] is State.COMPLETE
    assert sorted(answers.asked + again.asked) == questions(1, 2, 3, 4, 5)


async def test_a_pause_between_two_steps_keeps_the_first(world: World) -> None:
    answers = Answers(window=5)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers, two_questions)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 5)
        open_gate_later(answers, driver, State.PAUSING)
        assert await driving is State.PAUSED
    assert driver.progress.done == 0
    again = Answers()
    _, driver = await world.drive(again, two_questions)
    assert sorted(again.asked) == [f"question {n} yes?" for n in range(1, 6)]
    assert (driver.progress.from_journal, driver.progress.done) == (5, 5)


@pytest.mark.parametrize(("grace", "hurried"), [(0.0, False), (math.inf, True)])
async def test_a_stop_cuts_calls_that_do_not_end(
    world: World, monkeypatch: pytest.MonkeyPatch, grace: float, hurried: bool
) -> None:
    monkeypatch.setattr(module, "STOP_GRACE_S", grace)
    answers = Answers(window=2)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 2)
        driver.halt(State.STOPPING)
        if hurried:
            driver.hurry()
        assert await driving is State.STOPPED
    assert (answers.inside, answers.halted, driver.progress.done) == (0, True, 0)
    assert [call.reply for call in world.calls(1)] == [None]
    again = Answers()
    assert (await world.drive(again))[0] is State.COMPLETE
    assert sorted(again.asked) == questions(1, 2, 3, 4, 5)


async def test_a_halt_that_comes_too_late_changes_nothing(world: World) -> None:
    answers = Answers(window=9)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 5)
        open_gate_later(answers, driver, State.PAUSING)
        assert await driving is State.COMPLETE


async def test_a_run_halted_before_it_begins_sends_nothing(world: World) -> None:
    answers = Answers()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driver.halt(State.STOPPING)
        assert await driver.drive() is State.STOPPED
    assert answers.asked == []


async def test_a_run_for_some_samples_pauses_after_them(world: World) -> None:
    answers = Answers()
    state, driver = await world.drive(answers, rows=[2, 4])
    assert (state, sorted(answers.asked)) == (State.PAUSED, questions(2, 4))
    assert (driver.progress.done, driver.progress.total) == (2, 5)


async def test_what_concerns_every_call_ends_the_run(world: World) -> None:
    fatal = BadKey("the key is not accepted")
    answers = Answers(lambda call: fatal, window=1)
    state, driver = await world.drive(answers)
    assert (state, driver.failure) == (State.FAILED, fatal)
    assert (len(answers.asked), answers.halted, driver.progress.done) == (1, True, 0)
    again = Answers()
    assert (await world.drive(again))[0] is State.COMPLETE
    assert len(again.asked) == 5


async def test_a_fatal_end_keeps_what_else_was_in_flight(world: World) -> None:
    def answer(call: Call) -> Reply | BaseException:
        bad = call.prompt.messages[-1].text == "question 1"
        return RunFatal("no credit") if bad else Reply("yes")

    answers = Answers(answer, window=3)
    answers.gate.clear()
    async with journal(world.path) as opened:
        driver = world.driver(opened, answers)
        driving = asyncio.create_task(driver.drive())
        await until(lambda: answers.inside == 3)
        answers.gate.set()
        assert await driving is State.FAILED
    assert [bool(call.reply) for row in (1, 2, 3) for call in world.calls(row)] == [
        False,
        True,
        True,
    ]


async def test_a_budget_that_is_spent_brings_the_run_to_rest(world: World) -> None:
    answers = Answers(
        lambda c: BudgetSpent() if c.prompt.messages[-1].text == "question 3" else Reply("yes"),
        window=1,
    )
    state, driver = await world.drive(answers)
    assert (state, driver.progress.done, driver.failure) == (State.BUDGET, 2, None)


async def test_the_same_failure_from_the_start_ends_the_run(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(100)
    answers = Answers(lambda call: error("CallRejected: no such parameter"), window=4)
    state, driver = await world.drive(answers)
    assert state is State.FAILED
    assert isinstance(driver.failure, RunFatal)
    assert driver.failure.what == "the first 20 samples all failed in the same way"
    assert driver.failure.why == "CallRejected: no such parameter"
    assert SAME_FAILURES <= len(answers.asked) <= SAME_FAILURES + 4


@pytest.mark.parametrize("kind", ["one success", "different failures", "success before"])
async def test_failures_that_are_not_all_alike_do_not(tmp_path: Path, kind: str) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(60)

    def answer(call: Call) -> Reply:
        number = int(call.prompt.messages[-1].text.split()[1])
        if kind == "different failures":
            return error(f"Kind{number % 4}: broken")
        return Reply("yes") if number == 1 else error()

    if kind == "success before":
        await world.drive(Answers(), rows=[1])
    state, driver = await world.drive(Answers(answer, window=2))
    assert state is State.COMPLETE
    assert driver.progress.failed == (60 if kind == "different failures" else 59)


@pytest.mark.parametrize("answer", [Reply("yes"), ValueError("and a fault of its own")])
async def test_a_journal_that_cannot_be_written_ends_the_run(
    world: World, answer: Reply | Exception
) -> None:
    async with journal(world.path) as opened:

        def break_it(call: Call) -> Reply | Exception:
            opened.broken = JournalError("the disk is gone")
            return answer

        answers = Answers(break_it, window=1)
        driver = world.driver(opened, answers)
        with pytest.raises(JournalError, match="the disk is gone"):
            await driver.drive()
        assert len(answers.asked) == 1
        opened.broken = None


# -- parameters ----------------------------------------------------------------------------------


async def test_the_runs_parameters_go_over_the_benchmarks(world: World) -> None:
    answers = Answers()
    await world.drive(answers, overrides={"temperature": 0.5, "max_tokens": None})
    for params in (answers.calls[0].prompt.params, world.calls(1)[0].prompt.params):
        assert (params.temperature, params.max_tokens) == (0.5, 4)


async def test_what_became_of_parameters_is_told(world: World) -> None:
    def answer(call: Call) -> Reply:
        dropped = ParamNote("temperature", "dropped", "the model does not take it")
        refused = ParamNote("seed", "refused", "unknown field")
        first = call.prompt.messages[-1].text == "question 1"
        return Reply("yes", params=(dropped, refused) if first else (ParamNote("seed", "sent"),))

    _, driver = await world.drive(Answers(answer))
    expected = {
        "temperature": {"fate": "dropped", "reason": "the model does not take it"},
        "seed": {"fate": "refused", "reason": "unknown field"},
    }
    assert {
        name: note for name, note in driver.progress.notes.items() if note["fate"] != "sent"
    } == expected


# -- progress ------------------------------------------------------------------------------------


async def test_the_rate_is_that_of_the_last_seconds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    async with journal(world.path) as opened:
        driver = world.driver(opened, Answers())
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        rates = []
        for seconds, done in ((0, 0), (1, 4), (1, 8), (28, 8), (2, 9)):
            clock[0] += seconds
            driver.progress.tally.rows = {((), Outcome.OK, ()): done}
            rates.append(driver.progress.rate())
        assert rates == [0.0, 4.0, 4.0, 0.0, 0.5]


async def test_an_outage_begins_the_rate_anew(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    async with journal(world.path) as opened:
        answers = Answers()
        driver = world.driver(opened, answers)
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        rates = []
        for seconds, done, down in ((0, 0, 0), (5, 40, 0), (5, 40, 1), (9, 40, 1), (1, 48, 0)):
            clock[0] += seconds
            monkeypatch.setattr(answers, "gauges", lambda down=down: {"down": bool(down)})
            driver.progress.tally.rows = {((), Outcome.OK, ()): done}
            rates.append(driver.progress.rate())
        assert rates == [0.0, 8.0, 0.0, 0.0, 8.0]


async def test_the_clock_goes_on_until_the_last_sample_has_its_score(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with journal(world.path) as opened:
        progress = world.driver(opened, Answers()).progress
        monkeypatch.setattr(time, "monotonic", lambda: 130.0)
        progress.first_sent, progress.last_score, progress.total = 100.0, 105.0, 2
        for done, seconds in ((1, 30.0), (2, 5.0)):
            progress.tally.rows = {((), Outcome.OK, ()): done}
            assert progress.seconds == seconds


async def test_time_before_a_model_is_loaded_does_not_count(world: World) -> None:
    answers = Answers()
    answers.ready_at = None
    _, driver = await world.drive(answers)
    assert driver.progress.seconds == 0.0
    answers.ready_at = driver.progress.last_score
    assert driver.progress.seconds == 0.0
    answers.ready_at = 0.0
    assert driver.progress.seconds > 0.0

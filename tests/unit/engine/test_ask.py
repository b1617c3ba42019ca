"""Asking: the journal first, intent before sending, the reply stored before it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest

from evalbench.engine.benchmark import Ask, CallFailed, Sample, Score
from evalbench.engine.calls import (
    Call,
    ModelRef,
    Outcome,
    Params,
    Prompt,
    Reply,
    Usage,
    choose,
    generate,
)
from evalbench.engine.execution.ask import MissingReply, ReplayOnly, bind, newest
from evalbench.engine.journal import CallKey, CallRow
from evalbench.engine.runs.status import State
from tests.unit.engine.driving import Answers, World, error, one_question, right, until
from tests.unit.engine.journals import KEY, MODEL, journal

HI = generate("hi", max_tokens=4)


def row(prompt: Prompt, reply: Reply | None, key: CallKey = KEY, reask: int = 0) -> CallRow:
    """A call as the journal holds it."""
    return CallRow(1 << 20, 1, key, reask, Call(MODEL, prompt).content_hash, 0, prompt, reply)


@pytest.fixture
async def world(tmp_path: Path) -> World:
    """A run of one sample."""
    made = World(tmp_path / "journal.db")
    await made.fill(1)
    return made


# -- binding -------------------------------------------------------------------


def test_a_prompt_is_bound_with_the_runs_parameters_over_its_own() -> None:
    call = bind(HI, MODEL, {"temperature": 0.0, "top_p": None})
    assert call == Call(MODEL, replace(HI, params=Params(max_tokens=4, temperature=0.0)))


@pytest.mark.parametrize(
    ("overrides", "cap"),
    [
        ({"thinking_room": 100}, 104),
        ({"thinking_room": 0}, 4),
        ({"thinking_room": 100, "max_tokens": 9}, 9),
    ],
)
def test_room_to_think_comes_on_top_of_the_benchmarks_cap(
    overrides: dict[str, object], cap: int
) -> None:
    assert bind(HI, MODEL, overrides).prompt.params == Params(max_tokens=cap)


def test_without_parameters_of_the_run_it_stays_as_it_is() -> None:
    assert bind(HI, MODEL, {}) == Call(MODEL, HI)


def test_likelihoods_have_no_sampling_parameters() -> None:
    asked = choose("A", [" x"])
    assert bind(asked, MODEL, {"temperature": 0.0}) == Call(MODEL, asked)


def test_the_newest_re_ask_of_each_call_counts() -> None:
    other = KEY._replace(step="other")
    rows = [
        row(HI, Reply("first")),
        row(HI, Reply("third"), reask=2),
        row(HI, Reply("second"), reask=1),
        row(HI, None, other),
    ]
    assert newest(rows) == {KEY: rows[1], other: rows[3]}
    assert newest([]) == {}


# -- the order of things ---------------------------------------------------------


async def test_a_call_is_in_the_journal_before_it_leaves_and_its_reply_before_it_is_used(
    world: World,
) -> None:
    seen: list[bool] = []

    def answer(call: Call) -> Reply:
        seen.extend(held.reply is not None for held in world.calls(1))
        return Reply("yes")

    async def solve(of: Sample, ask: Ask) -> Score:
        reply = await ask("candidate", HI)
        seen.extend(held.reply == reply for held in world.calls(1))
        return right(reply)

    await world.drive(Answers(answer), solve)
    assert seen == [False, True]


async def test_a_call_that_was_cut_off_is_asked_again_under_the_same_number(world: World) -> None:
    class Cut(Answers):
        async def answer(
            self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
        ) -> Reply:
            await before_send()
            raise RuntimeError("the engine died")

    await world.drive(Cut())
    assert [(held.reask, held.reply) for held in world.calls(1)] == [(0, None)]
    await world.drive(Answers())
    assert [(held.reask, held.reply) for held in world.calls(1)] == [(0, Reply("yes"))]


async def test_a_reply_that_cannot_be_stored_as_it_is_is_used_as_it_was_stored(
    world: World,
) -> None:
    used: list[Reply] = []

    async def solve(of: Sample, ask: Ask) -> Score:
        used.append(await ask("candidate", HI))
        return right(used[0])

    state, _ = await world.drive(Answers(lambda call: Reply("half \ud83d", raw=object)), solve)
    assert state is State.COMPLETE
    assert used[0].text == "half \ufffd"
    assert [held.reply for held in world.calls(1)] == used


async def test_a_call_whose_turn_comes_as_the_run_halts_is_not_sent(world: World) -> None:
    class Late(Answers):
        async def answer(
            self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
        ) -> Reply:
            driver.halt(State.PAUSING)
            self.halted = False
            return await super().answer(call, key, before_send)

    async with journal(world.path) as opened:
        answers = Late()
        driver = world.driver(opened, answers)
        assert await driver.drive() is State.PAUSED
    assert answers.asked == []
    assert world.calls(1) == []


async def test_every_call_has_a_name_of_its_own_in_the_engine(world: World) -> None:
    names: list[str] = []

    class Named(Answers):
        async def answer(
            self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
        ) -> Reply:
            names.append(key)
            return await super().answer(call, key, before_send)

    await world.fill(3)
    await world.drive(Named(lambda call: error()), one_question, epochs=2)
    await world.drive(Named(), one_question, epochs=2)
    assert len(set(names)) == len(names) == 12


async def test_a_failed_call_can_be_told_from_a_fault(world: World) -> None:
    caught: list[Exception] = []

    async def solve(of: Sample, ask: Ask) -> Score:
        try:
            return right(await ask("candidate", HI))
        except CallFailed as failed:
            caught.append(failed)
            raise

    _, driver = await world.drive(Answers(lambda call: error("ServerFault: broken")), solve)
    assert [str(failed) for failed in caught] == ["ServerFault: broken"]
    assert driver.progress.errors == {"ServerFault": 1}


async def test_independent_questions_are_in_flight_together(world: World) -> None:
    answers = Answers(lambda call: Reply(call.prompt.messages[0].text.upper()))
    answers.gate.clear()
    texts = ["a", "b", "c"]

    async def solve(of: Sample, ask: Ask) -> Score:
        replies = await ask.many([("candidate", generate(text), text) for text in texts])
        return Score(Outcome.OK, {}, {"texts": [reply.text for reply in replies]})

    async def open_gate() -> None:
        await until(lambda: answers.inside == 3)
        answers.gate.set()

    opening = asyncio.create_task(open_gate())
    await world.drive(answers, solve)
    await opening
    with world.read() as reader:
        (score,) = reader.scores()
    assert score.detail["parsed"]["texts"] == ["A", "B", "C"]


# -- replay -------------------------------------------------------------------------


def replay(*rows: CallRow, overrides: dict[str, object] | None = None) -> ReplayOnly:
    return ReplayOnly(newest(rows), 0, {"candidate": (MODEL, overrides or {})})


async def test_a_replay_answers_from_the_journal() -> None:
    ask = replay(row(HI, Reply("yes")))
    assert await ask("candidate", HI) == Reply("yes")
    assert (ask.used, ask.changed) == ({KEY}, False)


async def test_a_replay_binds_the_runs_parameters_too() -> None:
    hot = replace(HI, params=replace(HI.params, temperature=1.0))
    ask = replay(row(hot, Reply("yes")), overrides={"temperature": 1.0})
    assert await ask("candidate", HI) == Reply("yes")


@pytest.mark.parametrize("held", [None, row(HI, None), row(HI, Reply("x"), KEY._replace(epoch=1))])
async def test_a_replay_asks_nobody(held: CallRow | None) -> None:
    ask = replay(*[held] if held else [])
    with pytest.raises(MissingReply):
        await ask("candidate", HI)
    assert (ask.used, ask.changed) == (set(), False)


async def test_a_replay_notices_another_question() -> None:
    ask = replay(row(HI, Reply("yes")))
    with pytest.raises(MissingReply):
        await ask("candidate", generate("hello", max_tokens=4))
    assert (ask.used, ask.changed) == (set(), True)


async def test_another_model_or_step_is_another_call_not_another_question() -> None:
    other = ReplayOnly(newest([row(HI, Reply("yes"))]), 0, {"candidate": (ModelRef("a", "b"), {})})
    for ask, step in ((other, "answer"), (replay(row(HI, Reply("yes"))), "second")):
        with pytest.raises(MissingReply):
            await ask("candidate", HI, step=step)
        assert not ask.changed


async def test_a_stored_error_fails_the_replay_as_it_failed_the_run() -> None:
    ask = replay(row(HI, error()))
    with pytest.raises(CallFailed) as caught:
        await ask("candidate", HI)
    assert caught.value.reply == error()


async def test_no_except_clause_of_a_benchmark_hides_a_missing_reply() -> None:
    assert not issubclass(MissingReply, Exception)


async def test_many_replies_are_replayed_in_order() -> None:
    ask = replay(*(row(generate(t), Reply(t), KEY._replace(step=t)) for t in "abc"))
    replies = await ask.many([("candidate", generate(t), t) for t in "cab"])
    assert [reply.text for reply in replies] == ["c", "a", "b"]
    assert len(ask.used) == 3


async def test_many_replies_are_all_looked_for_although_one_is_missing() -> None:
    ask = replay(*(row(generate(t), Reply(t), KEY._replace(step=t)) for t in "ac"))
    with pytest.raises(MissingReply):
        await ask.many([("candidate", generate(t), t) for t in "abc"])
    assert {key.step for key in ask.used} == {"a", "c"}


def test_every_epoch_and_repeat_has_a_seed_of_its_own() -> None:
    def seed(epoch: int, repeat: int, **overrides: object) -> int | None:
        return bind(HI, MODEL, overrides, epoch=epoch, repeat=repeat).prompt.params.seed

    seeds = [seed(epoch, repeat, seed=7) for epoch in (0, 1, 999) for repeat in (0, 1, 2)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 9
    assert seed(3, 2) is None


def test_a_benchmark_that_seeds_its_calls_keeps_its_seeds() -> None:
    def seed(own: int, epoch: int, repeat: int) -> int | None:
        prompt = generate("hi", seed=own)
        return bind(prompt, MODEL, {"seed": 7}, epoch=epoch, repeat=repeat).prompt.params.seed

    assert [seed(own, 0, repeat) for own, repeat in ((1007, 0), (1008, 1))] == [1007, 1008]
    assert len({seed(own, epoch, 0) for own in range(1000) for epoch in range(3)}) == 3000
    assert seed(2**31 - 1, 999, 0) in range(2**31)


def test_without_a_seed_epochs_ask_the_same() -> None:
    assert bind(HI, MODEL, {}, epoch=4) == bind(HI, MODEL, {})


# -- replies that the journal cannot hold as they are ------------------------------------


@pytest.mark.parametrize(
    "odd",
    [
        Reply("yes", cost=Decimal(10**40)),
        Reply("yes", possible_cost=Decimal("Infinity")),
        Reply("yes", raw={"huge": 2**80, "half": "\ud83d"}),
        Reply("yes", usage=Usage(10**30, -5)),
    ],
)
async def test_one_odd_reply_is_kept_and_ends_no_run(tmp_path: Path, odd: Reply) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(3)
    state, driver = await world.drive(
        Answers(lambda call: odd if "2" in call.prompt.messages[0].text else Reply("yes"))
    )
    assert (state, driver.failure) == (State.COMPLETE, None)
    assert world.outcomes() == {"ok": 3}
    kept = world.calls(2)[0].reply
    assert kept
    assert kept.text == "yes"
    # Whoever opens it again finds nothing wrong with it.
    answers = Answers()
    assert (await world.drive(answers))[0] is State.COMPLETE
    assert not answers.asked


async def test_a_reply_that_nothing_can_make_storable_fails_its_sample_alone(
    tmp_path: Path,
) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(3)
    odd = Reply("yes", outcome=cast("Outcome", "what is this"))
    state, driver = await world.drive(
        Answers(lambda call: odd if "2" in call.prompt.messages[0].text else Reply("yes"))
    )
    assert (state, driver.failure) == (State.COMPLETE, None)
    assert world.outcomes() == {"ok": 2, "error": 1}


async def test_a_failure_in_half_characters_fails_its_sample_alone(tmp_path: Path) -> None:
    world = World(tmp_path / "journal.db")
    await world.fill(2)

    async def solve(of: Sample, ask: Ask) -> Score:
        if of.inputs["question"].endswith("1"):
            raise ValueError("half a character: \ud83d")
        return await one_question(of, ask)

    state, _ = await world.drive(Answers(), solve)
    assert state is State.COMPLETE
    assert world.outcomes() == {"ok": 1, "error": 1}

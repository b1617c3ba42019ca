"""Benchmarks over programs, stopped after any call: resume asks the rest, a replay asks nobody."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import Ask, Sample, Score
from evalbench.engine.benchmarks.code_reasoning.choice import CodeChoice
from evalbench.engine.benchmarks.code_reasoning.common import CodeBenchmark
from evalbench.engine.benchmarks.code_reasoning.prediction import CodePrediction
from evalbench.engine.calls import Call, Reply
from evalbench.engine.dispatch.base import Halted
from evalbench.engine.execution.ask import MissingReply, ReplayOnly, newest
from evalbench.engine.journal import CallRow
from evalbench.engine.runs.status import State
from tests.unit.benchmarks.code_models import benchmark, problem
from tests.unit.engine.driving import Answers, World
from tests.unit.engine.journals import MODEL, journal

CASES = [
    (CodePrediction, {"generations": 1, "compare_effort": ("low,high",)}, 8),
    (CodeChoice, {"runs": 2}, 4),
]
SAMPLE = problem(["4", "5"], ["2", "3"], ["f(3)", "f(4)"])


def _reply(call: Call) -> Reply:
    text = call.prompt.messages[-1].text
    value = "4" if "f(3)" in text else "3"
    if "[PROGRAM_A]" in text:
        return Reply(json.dumps({"chosen_program": "A", "assertion": f"assert f(3) == {value}"}))
    return Reply(f"[ANSWER]assert f(3) == {value}[/ANSWER]", latency_s=0.25)


class Halting(Answers):
    """Lets so many calls go out, then ends the life of the engine."""

    def __init__(self, most: int | None) -> None:
        super().__init__(_reply)
        self.left = most
        self.end: Callable[[], None] = lambda: None

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        if self.left == 0:
            self.end()
            raise Halted
        if self.left is not None:
            self.left -= 1
        return await super().answer(call, key, before_send)


class Run:
    """One problem driven as often as a test likes, each time as by a new engine."""

    def __init__(self, path: Path, bench: CodeBenchmark) -> None:
        self.world = World(path)
        self.bench = bench

    async def drive(self, most: int | None = None) -> tuple[State, list[Call]]:
        """Drive to the end, or until so many calls went out."""
        if not self.world.path.exists():
            await self.world.fill(1)
        answers = Halting(most)
        async with journal(self.world.path) as opened:
            driver = self.world.driver(opened, answers, self._solve)
            answers.end = lambda: driver.halt(State.PAUSING)
            return await driver.drive(), answers.calls

    async def _solve(self, _: Sample, ask: Ask) -> Score:
        return await self.bench.solve(SAMPLE, ask)

    def stored(self) -> list[CallRow]:
        return self.world.calls(1)

    def score(self) -> Any:
        with self.world.read() as reader:
            return list(reader.scores())


def _seeds_and_texts(calls: list[Call]) -> set[tuple[Any, ...]]:
    return {
        (call.prompt.params.seed, tuple(message.text for message in call.prompt.messages))
        for call in calls
    }


@pytest.mark.parametrize(("cls", "given", "calls"), CASES)
async def test_stopped_after_any_call_only_the_rest_is_asked(
    tmp_path: Path, cls: type[CodeBenchmark], given: dict[str, Any], calls: int
) -> None:
    whole = Run(tmp_path / "whole.db", benchmark(cls, **given))
    _, every = await whole.drive()
    assert len(every) == calls
    for parked in range(1, calls + 1):
        run = Run(tmp_path / f"{parked}.db", benchmark(cls, **given))
        state, first = await run.drive(parked)
        assert len(first) == parked
        assert state is (State.PAUSED if parked < calls else State.COMPLETE)
        state, rest = await run.drive()
        assert state is State.COMPLETE
        assert len(first) + len(rest) == calls
        assert _seeds_and_texts(first + rest) == _seeds_and_texts(every)
        assert run.score() == whole.score()


@pytest.mark.parametrize(("cls", "given", "calls"), CASES)
async def test_a_replay_of_all_calls_gives_the_score_and_one_of_fewer_asks_nobody(
    tmp_path: Path, cls: type[CodeBenchmark], given: dict[str, Any], calls: int
) -> None:
    run = Run(tmp_path / "run.db", benchmark(cls, **given))
    await run.drive()
    stored = run.stored()

    async def replay(rows: list[CallRow]) -> tuple[ReplayOnly, Score]:
        ask = ReplayOnly(newest(rows), 0, {"candidate": (MODEL, {})})
        return ask, await run.bench.solve(SAMPLE, ask)

    ask, score = await replay(stored)
    assert len(ask.used) == calls
    [held] = run.score()
    assert (score.outcome, score.values) == (held.outcome, held.values)
    for missing in range(calls):
        with pytest.raises(MissingReply):
            await replay(stored[:missing] + stored[missing + 1 :])

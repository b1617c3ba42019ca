"""A run without a process: samples, a benchmark and a dispatcher in a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Ask, Benchmark, DataSet, DataSource, Sample, Score
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate
from evalbench.engine.dispatch.base import Dispatcher, Halted
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.execution.driver import Driver, DriverOptions
from evalbench.engine.journal import CallRow, Journal, JournalReader
from evalbench.engine.record_schemas import Gauges
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.tally import Metric, Tally
from tests.unit.engine.journals import MODEL, journal, sample

Solve = Callable[[Sample, Ask], Awaitable[Score]]


class Solving(Benchmark):
    """A benchmark that solves as a test says."""

    name = "solving"
    version = "1"
    title = "Solving"
    summary = "as a test says"

    def __init__(self, solve: Solve) -> None:
        super().__init__({})
        self._solve = solve

    def prepare(self, source: DataSource) -> DataSet:
        return DataSet(iter(()))

    async def solve(self, sample: Sample, ask: Ask) -> Score:
        return await self._solve(sample, ask)

    def metrics(self, tally: Tally) -> list[Metric]:
        n, total, _, _ = tally.sums("accuracy")
        return [Metric("accuracy", total / n if n else None, k=total, n=n)]


def right(reply: Reply) -> Score:
    """The score of a reply that is right."""
    return Score(reply.outcome, {"accuracy": 1.0}, {"text": reply.text})


async def one_question(of: Sample, ask: Ask) -> Score:
    """Ask the sample's own question."""
    return right(await ask("candidate", generate(of.inputs["question"], max_tokens=4)))


async def two_questions(of: Sample, ask: Ask) -> Score:
    """Ask it, then ask about the answer."""
    question = of.inputs["question"]
    first = await ask("candidate", generate(question, max_tokens=4), step="first")
    return right(await ask("candidate", generate(f"{question} {first.text}?"), step="second"))


class Answers:
    """A dispatcher that answers on the spot.

    ``answer`` gives the reply to a call, or the error to be raised; ``asked``
    holds the last message of every call that was sent. While ``gate`` is
    closed, calls stay in flight.
    """

    def __init__(
        self,
        answer: Callable[[Call], Reply | BaseException] = lambda call: Reply("yes"),
        *,
        window: int = 4,
    ) -> None:
        self._answer = answer
        self.window = window
        self.ready_at: float | None = 0.0
        self.asked: list[str] = []
        self.calls: list[Call] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.inside = 0
        self.most = 0
        self.halted = False

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        if self.halted:
            raise Halted
        await before_send()
        self.calls.append(call)
        self.asked.append(call.prompt.messages[-1].text)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gate.wait()
        finally:
            self.inside -= 1
        reply = self._answer(call)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def halt(self) -> None:
        self.halted = True

    def set_concurrency(self, calls: int | None) -> None:
        self.window = calls or self.window

    def gauges(self) -> Gauges:
        return {}

    async def close(self) -> None: ...


@dataclass
class World:
    """One run's journal, driven as often as a test likes, each time as by a new engine."""

    path: Path
    models: Mapping[str, ModelRef] = field(default_factory=lambda: {"candidate": MODEL})

    async def fill(self, count: int) -> None:
        """Store samples; rows are counted from 1."""
        async with journal(self.path) as opened:
            await opened.add_samples(
                (n, sample(n, f"question {n}", group="ab"[n % 2])) for n in range(1, count + 1)
            )

    def driver(
        self,
        opened: Journal,
        answers: Dispatcher,
        solve: Solve = one_question,
        *,
        overrides: Mapping[str, object] | None = None,
        **options: Any,
    ) -> Driver:
        """A driver that has read the journal."""
        models = {
            role: BoundModel(model, answers, overrides or {}) for role, model in self.models.items()
        }
        made = Driver(opened, Solving(solve), models, DriverOptions(**options))
        made.open()
        return made

    async def drive(
        self, answers: Answers, solve: Solve = one_question, **more: Any
    ) -> tuple[State, Driver]:
        """Drive to the end."""
        async with journal(self.path) as opened:
            driver = self.driver(opened, answers, solve, **more)
            return await driver.drive(), driver

    @contextmanager
    def read(self) -> Any:
        """The journal, as anybody reads it."""
        with JournalReader(self.path) as reader:
            yield reader

    def calls(self, row: int) -> list[CallRow]:
        """All calls of one sample, by step and re-ask number."""
        with JournalReader(self.path) as reader:
            return sorted(reader.calls(row), key=lambda call: (call.key.step, call.reask))

    def outcomes(self) -> dict[str, int]:
        """Scores by outcome, without those that do not occur."""
        with JournalReader(self.path) as reader:
            return {name: count for name, count in reader.tally().outcomes().items() if count}


def error(text: str = "ServerFault: broken") -> Reply:
    """The reply that stands for a failed call."""
    return Reply(outcome=Outcome.ERROR, error=text)


async def until(condition: Callable[[], Any]) -> None:
    """Let others go on until something holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)

"""A run on disk with calls of a candidate and a judge, and a collector to tell about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, ModelRef, Outcome, Prompt, Reply, Usage, generate
from evalbench.engine.config.traces import OTLP, Destination
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.telemetry.exporter import Exporter
from evalbench.engine.telemetry.otlp import OtlpSender
from tests.pretending import PretendEngine, pretend
from tests.simulator.collector import Collector, collecting

CANDIDATE_MODEL = "openai/gpt-4.1-mini"
JUDGE_MODEL = "anthropic/claude-haiku-4-5"
QUESTION = "What does the SECRET-QUESTION hide?"
ANSWER = "It hides the SECRET-ANSWER."
GOOD = Reply(
    ANSWER,
    stop_reason="stop",
    usage=Usage(11, 7, cache_read_tokens=3, cache_write_tokens=2, reasoning_tokens=5),
    latency_s=0.25,
    provider_model="gpt-4.1-mini-2025",
    request_id="req_1",
    attempts=3,
    cost=Decimal("0.0015"),
)


@dataclass
class Story:
    """A run that a test writes, call by call."""

    engine: PretendEngine
    samples: dict[int, Sample] = field(default_factory=dict)

    @property
    def folder(self) -> RunFolder:
        """Of the run."""
        return self.engine.folder

    async def call(
        self,
        row: int,
        reply: Reply | None = GOOD,
        *,
        role: str = "candidate",
        epoch: int = 0,
        step: str = "answer",
        reask: int = 0,
        prompt: Prompt | None = None,
    ) -> None:
        """A call with its reply; None: it is in flight."""
        model = CANDIDATE_MODEL if role == "candidate" else JUDGE_MODEL
        journal = Journal(self.folder.journal)
        sample = Sample(f"{row:016x}.1", {"question": QUESTION}, "B", {"group": "one"})
        if row not in self.samples:
            self.samples[row] = sample
            await journal.add_samples([(row, sample)])
        key = CallKey(epoch, role, model, step, 0)
        asked = prompt or generate(QUESTION, max_tokens=64, temperature=0.5, seed=3, stop=("END",))
        call = Call(ModelRef.parse(model), asked)
        await journal.intend(row, key, reask, call, call.content_hash, quotable(sample))
        if reply:
            await journal.store_reply(row, key, reask, reply)
        await journal.close()

    async def score(
        self, row: int, outcome: Outcome = Outcome.OK, *, epoch: int = 0, **values: float
    ) -> None:
        """The score of a sample."""
        journal = Journal(self.folder.journal)
        journal.store_score(row, epoch, {"group": "one"}, outcome, values, {})
        await journal.close()

    async def unscore(self, *outcomes: Outcome) -> None:
        """What an engine does first that asks again."""
        journal = Journal(self.folder.journal)
        journal.forget_scores(outcomes)
        await journal.close()

    async def finished(self, row: int, **values: float) -> None:
        """A sample with a candidate's and a judge's call, and a score."""
        await self.call(row)
        await self.call(row, Reply("8", usage=Usage(20, 1)), role="judge", step="verdict")
        await self.score(row, Outcome.OK, epoch=0, **values or {"accuracy": 1.0})


@pytest.fixture
def story(home: Any) -> Story:
    """A run of MT-bench without any call yet."""
    told = pretend("mt-bench", CANDIDATE_MODEL, judge=[JUDGE_MODEL])
    told.event("started", at_ms=0)
    return Story(told)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector that takes everything."""
    with collecting() as found:
        yield found


def destination(collector: Collector, *, content: bool = False) -> Destination:
    """The collector as a destination."""
    return Destination(OTLP, f"{collector.address}/v1/traces", content)


def make_exporter(story: Story, to: Destination, headers: str = "", anew: str = "") -> Exporter:
    """Who tells this run."""
    return Exporter(story.folder, to, OtlpSender(to.endpoint, headers, {}, {}), anew=anew)

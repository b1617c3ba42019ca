"""Together under load, through the engine's own dispatcher: storms, and limits that move."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, generate
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.base import SendLog
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from tests.contract.providers.conftest import Make
from tests.simulator.handle import Handle

MODEL = ModelRef.parse("together/meta-llama/Llama-3.3-70B-Instruct-Turbo")


async def ask_all(
    provider: Any, calls: int, *, concurrency: int | None = None, qps: float | None = None
) -> list[Reply]:
    """So many different questions, all at once as far as the limiter lets them."""
    gentle = provider.capabilities(MODEL.name).gentle
    realtime = RealtimeDispatcher(
        provider,
        Limiter(concurrency=concurrency, qps=qps, gentle=gentle),
        CostMeter(Budget(), None),
        attempts=8,
        report=lambda kind, **body: None,
    )

    async def ask(number: int) -> Reply:
        call = Call(MODEL, generate(f"Riddle {number}?", max_tokens=64))
        return await realtime.answer(call, str(number), SendLog())

    return await asyncio.gather(*(ask(number) for number in range(calls)))


async def test_a_storm_ends_with_one_answer_each(sim: Handle, make: Make) -> None:
    sim.fault(status=429, retry_after=0.3, share=0.2, path="chat")
    sim.fault(status=500, share=0.05, path="chat")
    sim.latency(0.01)
    replies = await ask_all(make("together"), 150, concurrency=32)
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    sent = [entry for entry in sim.entries() if entry["method"] == "POST"]
    # What the engine knows of is all that was sent: the SDK tried nothing by itself.
    assert len(sent) == sum(reply.attempts for reply in replies)
    assert len(sent) <= 1.4 * 150
    verdicts = sim.summary()["verdicts"]
    assert not {"before_retry_after", "no_backoff", "storm", "asked_after_answer"} & set(verdicts)


async def test_a_true_rate_below_the_limit_is_never_refused(sim: Handle, make: Make) -> None:
    sim.limits("together", requests=600)
    replies = await ask_all(make("together"), 16, concurrency=8, qps=8)
    assert {(reply.outcome, reply.attempts) for reply in replies} == {(Outcome.OK, 1)}
    assert set(sim.summary()["statuses"]) == {"200"}


@pytest.mark.parametrize("concurrency", [1, None])
async def test_one_after_the_other_where_the_limit_is_very_low(
    sim: Handle, make: Make, concurrency: int | None
) -> None:
    # One call in half a second: without a pause every second one would be refused.
    sim.limits("together", requests=120)
    sim.latency(0.02)
    replies = await ask_all(make("together"), 5, concurrency=concurrency)
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    refused = sim.summary()["statuses"].get("429", 0)
    assert refused <= 2

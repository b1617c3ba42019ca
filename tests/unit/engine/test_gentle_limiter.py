"""Limits that a steady load raises and a burst does not: few calls first, then slowly more."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.shared_limits import MOST
from evalbench.engine.errors import Overloaded, RateLimited
from tests.unit.engine.virtual_time import now, virtual_time


async def keep_busy(
    limiter: Limiter, seconds: float, call: Callable[[], Awaitable[None]], workers: int = 300
) -> None:
    """Many who all want to ask, for so long; a refused one waits before it asks again."""
    end = now() + seconds

    async def worker() -> None:
        while now() < end:
            try:
                async with limiter.turn() as permit:
                    permit.sent()
                    await call()
                    limiter.succeeded(None)
            except (RateLimited, Overloaded) as refusal:
                limiter.refused(refusal)
                await asyncio.sleep(2)

    tasks = [asyncio.create_task(worker()) for _ in range(workers)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def taking(seconds: float) -> None:
    await asyncio.sleep(seconds)


@virtual_time
async def test_the_first_call_goes_alone() -> None:
    limiter = Limiter(concurrency=None, gentle=True)
    async with limiter.turn():
        second = asyncio.create_task(limiter.semaphore.take())
        await asyncio.sleep(60)
        assert not second.done()
    await second


@pytest.mark.parametrize("latency", [0.1, 1.0])
@virtual_time
async def test_it_takes_its_time_however_quick_the_answers_are(latency: float) -> None:
    limiter, sizes = Limiter(concurrency=None, gentle=True), []
    busy = asyncio.create_task(keep_busy(limiter, 61, lambda: taking(latency)))
    for _ in range(4):
        await asyncio.sleep(15)
        sizes.append(limiter.semaphore.size)
    await busy
    assert sizes[0] <= 10
    assert all(before < after <= 2.2 * before for before, after in itertools.pairwise(sizes))
    assert sizes[-1] >= 25


@virtual_time
async def test_slow_answers_double_it_each_round_at_most() -> None:
    limiter = Limiter(concurrency=None, gentle=True)
    busy = asyncio.create_task(keep_busy(limiter, 200, lambda: taking(30)))
    for most in (1, 2, 4, 8):
        assert limiter.semaphore.size <= most
        await asyncio.sleep(30.5)
    assert limiter.semaphore.size == 16
    await busy


@virtual_time
async def test_no_capacity_is_not_this_keys_fault_but_a_refusal_is() -> None:
    limiter = Limiter(concurrency=None, gentle=True)
    limiter.semaphore.resize(40)
    for _ in range(5):
        limiter.refused(Overloaded("full"))
        await asyncio.sleep(3)
    assert limiter.semaphore.size == 40
    limiter.refused(RateLimited("slow down"))
    assert limiter.semaphore.size == 28


@virtual_time
async def test_it_never_grows_beyond_reason() -> None:
    limiter = Limiter(concurrency=None, gentle=True)
    await keep_busy(limiter, 300, lambda: taking(5))
    assert limiter.semaphore.size == MOST


class Rising:
    """A rate that a steady load raises: above it calls are refused, and that raises nothing."""

    def __init__(self, rate: float) -> None:
        self.rate = self.level = rate
        self.at = self.since = now()
        self.answered = self.refused = self.refused_in_all = 0

    async def call(self) -> None:
        if now() - self.since >= 10:
            if not self.refused and self.answered >= 5 * self.rate:
                self.rate *= 1.5
            self.since, self.answered, self.refused = now(), 0, 0
        self.level = min(self.rate, self.level + (now() - self.at) * self.rate)
        self.at = now()
        if self.level < 1:
            self.refused += 1
            self.refused_in_all += 1
            raise RateLimited("above the dynamic rate")
        self.level -= 1
        self.answered += 1
        await asyncio.sleep(1)


@virtual_time
async def test_a_slow_rise_is_refused_less_than_a_quick_one() -> None:
    slow, quick = Rising(8), Rising(8)
    await keep_busy(Limiter(concurrency=None, gentle=True), 90, slow.call)
    quick.since = now()
    await keep_busy(Limiter(concurrency=None), 90, quick.call)
    assert slow.refused_in_all < quick.refused_in_all / 2
    assert slow.rate > 8

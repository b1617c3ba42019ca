"""What the watchdog takes for one step: it looks a hundred times a second here."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator

import pytest

from evalbench.engine.benchmark import ScoringTimeout
from evalbench.engine.execution import scoring_watchdog
from evalbench.engine.execution.scoring_watchdog import Interrupted, ScoringWatchdog

LOOKS = 10
"""A step that is seen so often is too long."""
LONG_S = 0.5
SHORT_S = 0.02


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScoringWatchdog]:
    before = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    monkeypatch.setattr(scoring_watchdog, "_EVERY_S", 0.01)
    with ScoringWatchdog() as watch:
        yield watch
    assert signal.getsignal(signal.SIGALRM) == before[0]
    signal.setitimer(signal.ITIMER_REAL, *before[1])


def busy(seconds: float) -> None:
    """Run Python for so many seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        pass


async def scored(watch: ScoringWatchdog, steps: int, seconds: float) -> str:
    """A sample whose scoring takes some steps."""

    async def solve() -> str:
        for _ in range(steps):
            await asyncio.sleep(0)
            busy(seconds)
        return "scored"

    return await watch.solve(1, solve(), LOOKS)


async def test_a_long_step_fails_its_sample_alone(watch: ScoringWatchdog) -> None:
    long = asyncio.create_task(scored(watch, 1, 60))
    others = [asyncio.create_task(scored(watch, 2, 0.001)) for _ in range(3)]
    with pytest.raises(ScoringTimeout, match="longer than 10 s"):
        await long
    assert await asyncio.gather(*others) == ["scored"] * 3


async def test_a_long_step_is_told_with_its_sample(watch: ScoringWatchdog) -> None:
    told: list[tuple[int, int]] = []

    async def solve() -> None:
        busy(60)

    with pytest.raises(ScoringTimeout):
        await watch.solve(7, solve(), LOOKS, lambda row, looks: told.append((row, looks)))
    assert told == [(7, looks) for looks in range(3, LOOKS + 1)]


async def test_many_short_steps_of_a_sample_are_not_long(watch: ScoringWatchdog) -> None:
    steps = round(LONG_S / SHORT_S)
    assert await scored(watch, steps, SHORT_S) == "scored"


async def test_many_samples_in_one_turn_of_the_loop_are_not_long(watch: ScoringWatchdog) -> None:
    async def solve() -> str:
        busy(SHORT_S)
        return "scored"

    # As when their replies are all in the journal: nothing lets the loop turn.
    for row in range(round(LONG_S / SHORT_S)):
        assert await watch.solve(row, solve(), LOOKS) == "scored"


async def test_a_stop_interrupts_a_step_that_is_long(watch: ScoringWatchdog) -> None:
    watch.stop_soon()
    with pytest.raises(Interrupted):
        await watch.solve(1, _endless(), 10**6)


async def _endless() -> None:
    busy(60)

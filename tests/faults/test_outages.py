"""A provider that refuses everything for ten minutes or is down for an hour, in virtual time."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from evalbench.engine.calls import Call, ModelRef, Outcome, Reply, Usage, generate
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.base import Halted, SendLog
from evalbench.engine.dispatch.circuit_breaker import LONGEST_S, UNREACHED_S
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import (
    ConnectionFailed,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RunFatal,
    ServerFault,
)
from tests.unit.engine.test_realtime import Acted
from tests.unit.engine.virtual_time import now, virtual_time

CALLS = 300
MINUTE, HOUR = 60.0, 3600.0
A_DOLLAR_A_TOKEN = UnitPrices(Rates(Decimal(0), Decimal(1_000_000)))


class Weather:
    """A provider that takes a second for an answer and fails for a while, asked by a dispatcher."""

    def __init__(
        self,
        error: Callable[[], ProviderError],
        *,
        lasts: float,
        begins: float = 2.5,
        concurrency: int | None = None,
        wait_s: float | None = None,
        fails_s: float = 0.0,
    ) -> None:
        self.fails_s = fails_s
        self.begins, self.ends = begins, begins + lasts
        self._error = error
        self.provider = Acted({"answer": self._answer})
        self.answered: Counter[str] = Counter()
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.budget = Budget()
        self.limiter = Limiter(concurrency=concurrency)
        self.realtime = RealtimeDispatcher(
            self.provider,
            self.limiter,
            CostMeter(self.budget, A_DOLLAR_A_TOKEN),
            attempts=8,
            report=lambda kind, **body: self.events.append((kind, body)),
            wait_s=wait_s,
        )

    async def _answer(self, text: str, number: int) -> Reply:
        if self.begins <= now() < self.ends:
            if self.fails_s:
                await asyncio.sleep(self.fails_s)
            raise self._error()
        await asyncio.sleep(1)
        self.answered[text] += 1
        return Reply("A", usage=Usage(5, 1))

    def ask(self, calls: int = CALLS) -> list[asyncio.Task[Reply]]:
        """Ask so many questions at once."""

        def one(text: str) -> asyncio.Task[Reply]:
            call = Call(ModelRef("acted", "m"), generate(text, max_tokens=4))
            return asyncio.create_task(self.realtime.answer(call, text, SendLog()))

        return [one(f"q{n}") for n in range(calls)]

    def tries(self, after: float = 0.0) -> int:
        """How many attempts met the trouble, from so many seconds after its beginning."""
        return sum(self.begins + after <= at < self.ends for _, at in self.provider.sent)

    def all_answered_once(self, replies: list[Reply]) -> bool:
        return (
            [reply.outcome for reply in replies] == [Outcome.OK] * len(replies)
            and {*self.answered.values()} == {1}
            and (self.budget.spent, self.budget.reserved) == (Decimal(len(replies)), Decimal(0))
        )


DOWN = [
    lambda: ConnectionFailed("cannot reach it"),
    lambda: Overloaded("no capacity", status=503),
    lambda: ServerFault("bad gateway", status=502, possibly_billed=True),
]


@pytest.mark.parametrize("error", DOWN, ids=["unreachable", "full", "bad gateway"])
@virtual_time
async def test_an_hour_of_downtime_is_waited_for_and_fails_no_call(
    error: Callable[[], ProviderError],
) -> None:
    weather = Weather(error, lasts=HOUR)
    replies = await asyncio.gather(*weather.ask())
    assert weather.all_answered_once(replies)
    # After some seconds of it one probe tests for all, in the end once a minute.
    assert weather.tries(after=MINUTE) <= 65
    # It is noticed soon that the provider is back.
    assert now() < weather.ends + 2 * MINUTE
    assert [kind for kind, _ in weather.events if kind != "wait"] == [
        "provider-down",
        "provider-back",
    ]


@pytest.mark.parametrize("retry_after", [None, 20.0])
@virtual_time
async def test_ten_minutes_of_refusals_are_no_storm_of_ours(retry_after: float | None) -> None:
    weather = Weather(lambda: RateLimited("slow down", retry_after=retry_after), lasts=10 * MINUTE)
    replies = await asyncio.gather(*weather.ask())
    assert weather.all_answered_once(replies)
    assert weather.tries(after=MINUTE) <= 35
    assert now() < weather.ends + 2 * MINUTE
    assert weather.budget.possible == 0


@virtual_time
async def test_a_fixed_concurrency_is_the_same_after_an_outage() -> None:
    weather = Weather(DOWN[1], lasts=HOUR, concurrency=20)
    replies = await asyncio.gather(*weather.ask())
    assert weather.all_answered_once(replies)
    assert weather.limiter.semaphore.size == 20
    assert weather.provider.most == 20


@pytest.mark.parametrize("calls", [1, 3])
@virtual_time
async def test_the_last_calls_of_a_run_wait_as_well(calls: int) -> None:
    weather = Weather(DOWN[0], lasts=HOUR, begins=1.5)
    (first,) = await asyncio.gather(*weather.ask(1))
    await asyncio.sleep(1)
    assert first.outcome is Outcome.OK
    weather.answered.clear()
    weather.budget.spent = Decimal(0)
    assert weather.all_answered_once(await asyncio.gather(*weather.ask(calls)))


@virtual_time
async def test_while_a_probe_is_in_flight_no_limit_is_shown() -> None:
    weather = Weather(DOWN[1], lasts=HOUR, fails_s=5.0)
    calls = weather.ask()
    await asyncio.sleep(MINUTE)
    shown = []
    for _ in range(60):
        await asyncio.sleep(1)
        gauges = weather.realtime.gauges()
        shown.append((gauges["in_flight"], gauges["paused_s"] > 0, gauges["limited_by"]))
        assert gauges["down"]
        assert gauges["paused_why"].startswith("provider down: ")
    # A pause of less than a twentieth of a second is rounded to none.
    assert {*shown} - {(0, False, "")} == {(0, True, ""), (1, False, "")}
    weather.realtime.halt()
    await asyncio.gather(*calls, return_exceptions=True)


@virtual_time
async def test_a_provider_that_is_told_down_is_shown_so() -> None:
    weather = Weather(DOWN[0], lasts=HOUR)
    calls = weather.ask()
    await asyncio.sleep(10 * MINUTE)
    gauges = weather.realtime.gauges()
    assert 0 < gauges["paused_s"] <= 60
    assert "cannot reach it" in gauges["paused_why"]
    await asyncio.gather(*calls)
    assert weather.realtime.gauges()["paused_why"] == ""


@virtual_time
async def test_a_stop_does_not_wait_for_the_provider() -> None:
    weather = Weather(DOWN[0], lasts=HOUR)
    calls = weather.ask()
    await asyncio.sleep(10 * MINUTE)
    weather.realtime.halt()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert now() < weather.begins + 10 * MINUTE + 1
    assert {type(end) for end in ends} == {Reply, Halted}
    assert all(end.outcome is Outcome.OK for end in ends if isinstance(end, Reply))
    assert weather.budget.reserved == 0


@virtual_time
async def test_an_outage_without_end_ends_the_run_and_fails_no_sample() -> None:
    weather = Weather(DOWN[0], lasts=24 * HOUR)
    with pytest.raises(RunFatal, match="the provider did not respond for 2 hours") as caught:
        await asyncio.gather(*weather.ask())
    assert now() <= weather.begins + LONGEST_S
    assert "resume" in caught.value.hint


@virtual_time
async def test_refusals_without_end_end_the_run_at_the_time_that_was_told() -> None:
    began = time.time()
    weather = Weather(lambda: RateLimited("slow down"), lasts=24 * HOUR, begins=0.0)
    with pytest.raises(RunFatal, match="the provider did not respond for 2 hours"):
        await asyncio.gather(*weather.ask())
    assert 0.9 * LONGEST_S < now() <= LONGEST_S
    told = next(body["until"] for kind, body in weather.events if kind == "provider-down")
    assert began + 0.9 * LONGEST_S < told <= time.time() + LONGEST_S
    assert len(weather.provider.sent) < 300
    assert weather.budget.possible == 0


@virtual_time
async def test_until_when_is_tried_is_shown() -> None:
    weather = Weather(lambda: RateLimited("slow down"), lasts=HOUR)
    calls = weather.ask()
    await asyncio.sleep(10 * MINUTE)
    assert re.search(r"until [-\d ]*\d\d:\d\d$", weather.realtime.gauges()["paused_why"])
    await asyncio.gather(*calls)


@pytest.mark.share(3)
@pytest.mark.parametrize("begins", [0.0, 2.5])
@pytest.mark.parametrize("asked", [301.0, 900.0, 3_000.0])
@virtual_time
async def test_a_long_wait_that_is_asked_for_is_waited_for_and_fails_no_call(
    begins: float, asked: float
) -> None:
    ends = begins + asked - 10
    weather = Weather(
        lambda: RateLimited("slow down", retry_after=asked), lasts=ends - begins, begins=begins
    )
    replies = await asyncio.gather(*weather.ask())
    assert weather.all_answered_once(replies)
    assert now() < ends + asked + 2 * MINUTE


@virtual_time
async def test_a_long_wait_of_one_call_holds_up_no_other() -> None:
    async def answer(text: str, number: int) -> Reply:
        if text == "q7" and number < 3:
            raise RateLimited("slow down", retry_after=360)
        await asyncio.sleep(1)
        return Reply("A", usage=Usage(5, 1))

    weather = Weather(DOWN[0], lasts=0)
    weather.provider._answer = answer
    calls = weather.ask(50)
    others = await asyncio.gather(*(call for n, call in enumerate(calls) if n != 7))
    assert {reply.outcome for reply in others} == {Outcome.OK}
    assert now() < MINUTE
    assert (await calls[7]).outcome is Outcome.OK
    assert 720 < now() < 800


@pytest.mark.parametrize("begins", [0.0, 2.5])
@virtual_time
async def test_a_wait_that_is_too_long_ends_the_run_and_is_named(begins: float) -> None:
    asked = 5 * HOUR + 20.2 * MINUTE
    weather = Weather(
        lambda: Overloaded("no capacity", retry_after=asked), lasts=24 * HOUR, begins=begins
    )
    calls = weather.ask()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    failures = [end for end in ends if not isinstance(end, Reply)]
    assert all(end.outcome is Outcome.OK for end in ends if isinstance(end, Reply))
    assert failures
    assert {type(end) for end in failures} == {QuotaExhausted}
    assert "5 h 21 min" in str(failures[0])
    assert re.search(r"resume the run after .*\d\d:\d\d", str(failures[0]))


@virtual_time
async def test_a_server_that_was_never_reached_ends_the_run_at_once() -> None:
    weather = Weather(
        lambda: ConnectionFailed("cannot reach it", why="refused", hint="start it"),
        lasts=HOUR,
        begins=0.0,
    )
    ends = await asyncio.gather(*weather.ask(20), return_exceptions=True)
    assert {type(end) for end in ends} <= {RunFatal, Halted, asyncio.CancelledError}
    (fatal, *_) = [end for end in ends if isinstance(end, RunFatal)]
    assert (fatal.what, fatal.why) == ("cannot reach it", "refused")
    assert fatal.hint.startswith("start it; ")
    assert "--wait-for-server" in fatal.hint
    assert now() <= UNREACHED_S
    # Told once, whatever was tried.
    assert [kind for kind, _ in weather.events] == ["server-unreached"]


@virtual_time
async def test_a_server_that_is_waited_for_may_come_late() -> None:
    weather = Weather(
        lambda: ConnectionFailed("cannot reach it"),
        lasts=5 * MINUTE,
        begins=0.0,
        wait_s=10 * MINUTE,
    )
    replies = await asyncio.gather(*weather.ask(20))
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    assert now() < 6 * MINUTE
    assert [kind for kind, _ in weather.events] == ["server-unreached", "provider-back"]


@virtual_time
async def test_a_gateway_with_nobody_behind_it_fails_calls() -> None:
    weather = Weather(lambda: ServerFault("bad gateway", status=502), lasts=HOUR, begins=0.0)
    replies = await asyncio.gather(*weather.ask(20))
    assert {reply.outcome for reply in replies} == {Outcome.ERROR}
    assert now() < 10 * MINUTE


@pytest.mark.parametrize(("lasts", "most_failed"), [(10 * MINUTE, 0), (HOUR, 20)])
def test_while_all_connections_are_cut_hardly_anything_is_sent(
    lasts: float, most_failed: int
) -> None:
    @virtual_time
    async def check() -> None:
        weather = Weather(
            lambda: ConnectionFailed("cut", possibly_billed=True), lasts=lasts, begins=1.5
        )
        replies = await asyncio.gather(*weather.ask(60))
        # Each attempt may be billed, so it counts, and a call that was the probe too often fails.
        failed = sum(reply.outcome is Outcome.ERROR for reply in replies)
        assert failed <= most_failed
        assert weather.tries(after=5) < 100
        assert now() < lasts + 2 * MINUTE
        # What had been sent before is still answered, so that it may seem to be back at first.
        ended = [body["after_s"] for kind, body in weather.events if kind == "provider-back"]
        assert ended[-1] >= lasts - 5
        assert all(seconds < 1 for seconds in ended[:-1])

    check()

"""Answers over the network as they come: places, retries, failures and halting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from evalbench.engine.calls import (
    Call,
    Capabilities,
    KeyNeed,
    MediaPart,
    ModelInfo,
    ModelRef,
    Outcome,
    Provider,
    RateLimits,
    Reply,
    Usage,
    generate,
    user,
)
from evalbench.engine.calls.options import Option
from evalbench.engine.cost.budget import Budget
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.dispatch.base import BudgetSpent, Halted, SendLog
from evalbench.engine.dispatch.limiter import START, Limiter
from evalbench.engine.dispatch.realtime import RealtimeDispatcher
from evalbench.engine.errors import (
    BadKey,
    CallRejected,
    ConnectionFailed,
    ProviderError,
    RateLimited,
    RunFatal,
    ServerFault,
)
from tests.unit.engine.virtual_time import now, settle, virtual_time

Answer = Callable[[str, int], Awaitable[Reply]]


class Acted(Provider):
    """A provider that answers as a test says; ``sent`` holds (text, second) of every attempt."""

    name: ClassVar[str] = "acted"
    title: ClassVar[str] = "Acted"
    options: ClassVar[tuple[Option, ...]] = ()
    key: ClassVar[KeyNeed | None] = None

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        self._answer: Answer = settings["answer"]
        self.sent: list[tuple[str, float]] = []
        self.inside = 0
        self.most = 0
        self.closed = False
        self.able = Capabilities()

    def capabilities(self, model: str) -> Capabilities:
        return self.able

    def check_model(self, model: str) -> None: ...

    async def models(self) -> Sequence[ModelInfo]:
        return []

    async def check_key(self) -> str:
        return ""

    async def answer(self, call: Call) -> Reply:
        text = call.prompt.messages[0].text
        self.sent.append((text, now()))
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            return await self._answer(text, sum(name == text for name, _ in self.sent))
        finally:
            self.inside -= 1

    async def close(self) -> None:
        self.closed = True


class Desk:
    """A dispatcher over an acted provider."""

    def __init__(
        self,
        answer: Answer,
        *,
        concurrency: int | None = 5,
        qps: float | None = None,
        attempts: int = 8,
        budget: Budget | None = None,
        prices: UnitPrices | None = None,
    ) -> None:
        self.provider = Acted({"answer": answer})
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.begun: list[str] = []
        self.limiter = Limiter(concurrency=concurrency, qps=qps)
        self.realtime = RealtimeDispatcher(
            self.provider,
            self.limiter,
            CostMeter(budget or Budget(), prices),
            attempts=attempts,
            report=lambda kind, **body: self.events.append((kind, body)),
        )

    def ask(self, text: str, *parts: MediaPart) -> asyncio.Task[Reply]:
        """Ask a question."""
        begun = self.begun

        class Leaving(SendLog):
            async def __call__(self) -> None:
                begun.append(text)

        call = Call(ModelRef("acted", "m"), generate([user([text, *parts])], max_tokens=4))
        return asyncio.create_task(self.realtime.answer(call, text, Leaving()))


async def at_once(text: str, number: int) -> Reply:
    return Reply(text.upper())


async def after_a_second(text: str, number: int) -> Reply:
    await asyncio.sleep(1)
    return Reply(text.upper())


def failing(error: ProviderError, times: int = 1) -> Answer:
    """Fails so many times for each question, then answers."""

    async def answer(text: str, number: int) -> Reply:
        if number <= times:
            raise error
        return Reply(text.upper())

    return answer


# -- places ---------------------------------------------------------------------


@virtual_time
async def test_never_more_calls_are_in_flight_than_allowed() -> None:
    desk = Desk(after_a_second, concurrency=3)
    replies = await asyncio.gather(*(desk.ask(f"q{n}") for n in range(10)))
    assert [reply.text for reply in replies] == [f"Q{n}" for n in range(10)]
    assert desk.provider.most == 3
    assert now() == 4
    assert [text for text, _ in desk.provider.sent] == [f"q{n}" for n in range(10)]
    assert desk.realtime.gauges()["in_flight"] == 0


@virtual_time
async def test_the_number_in_flight_can_be_changed_meanwhile() -> None:
    desk = Desk(after_a_second, concurrency=1)
    calls = [desk.ask(f"q{n}") for n in range(6)]
    await settle()
    assert desk.provider.inside == 1
    desk.realtime.set_concurrency(5)
    await settle()
    assert desk.provider.inside == 5
    await asyncio.gather(*calls)
    assert now() == 2


@virtual_time
async def test_left_alone_it_finds_its_own_number() -> None:
    desk = Desk(after_a_second, concurrency=None)
    await asyncio.gather(*(desk.ask(f"q{n}") for n in range(100)))
    assert desk.provider.most > 30


@virtual_time
async def test_large_images_are_not_in_memory_all_at_once() -> None:
    desk = Desk(after_a_second, concurrency=5)
    picture = MediaPart("image/png", bytes(100 * 1024 * 1024), "sha")
    await asyncio.gather(*(desk.ask(f"q{n}", picture) for n in range(3)))
    assert desk.provider.most == 1


@virtual_time
async def test_what_it_shows_and_how_many_samples_it_wants() -> None:
    desk = Desk(failing(RateLimited("slow down", retry_after=5)), concurrency=3)
    assert desk.realtime.window == 6
    calls = [desk.ask(f"q{n}") for n in range(4)]
    await settle()
    assert desk.realtime.gauges() == {
        "in_flight": 0,
        "concurrency": 3,
        "fixed": True,
        "limited_by": "",
        "rate_limit": None,
        "unfunded": 0,
        "waiting": 4,
        "retries": 4,
        "down": False,
        "paused_s": 0.0,
        "paused_why": "",
        "headroom": {},
    }
    assert desk.realtime.window == 10
    await asyncio.gather(*calls)
    assert (desk.realtime.gauges()["waiting"], desk.realtime.window) == (0, 6)


@virtual_time
async def test_what_a_reply_says_of_its_limits_pauses_the_key() -> None:
    async def answer(text: str, number: int) -> Reply:
        left = 0 if text == "first" else 5
        limits = RateLimits(requests_remaining=left, requests_reset_s=9, requests_limit=60)
        return Reply(limits=limits)

    desk = Desk(answer)
    await desk.ask("first")
    gauges = desk.realtime.gauges()
    assert (gauges["paused_s"], gauges["paused_why"]) == (9.0, "no requests left")
    assert gauges["headroom"] == {"requests": [0, 60]}
    await desk.ask("second")
    assert desk.provider.sent == [("first", 0), ("second", 9)]
    gauges = desk.realtime.gauges()
    assert (gauges["paused_s"], gauges["paused_why"]) == (0.0, "")


# -- retries -----------------------------------------------------------------------


@virtual_time
async def test_a_retry_after_is_waited_for_outside_the_place() -> None:
    async def answer(text: str, number: int) -> Reply:
        if text == "refused" and number == 1:
            raise RateLimited("slow down", retry_after=30)
        await asyncio.sleep(1)
        return Reply(text)

    desk = Desk(answer, concurrency=1)
    refused = desk.ask("refused")
    others = [desk.ask(f"q{n}") for n in range(3)]
    await asyncio.gather(*others)
    assert now() == 3, "the others did not wait"
    assert (await refused).attempts == 2
    assert desk.provider.sent[-1] == ("refused", 30)
    assert desk.events == [
        ("wait", {"reason": "RateLimited", "what": "slow down", "asked": 30}),
    ]


@virtual_time
async def test_a_call_that_succeeds_in_the_end_says_how_often_it_was_sent() -> None:
    desk = Desk(failing(ServerFault("broken", retry_after=1), times=3))
    reply = await desk.ask("q")
    assert (reply.text, reply.attempts, reply.possibly_billed) == ("Q", 4, False)
    assert desk.begun == ["q"], "it is begun once, however often it is sent"
    assert [second for _, second in desk.provider.sent] == [0, 1, 2, 3]


@virtual_time
async def test_an_earlier_attempt_that_may_have_been_billed_is_remembered() -> None:
    fault = ServerFault("cut", retry_after=1, possibly_billed=True)
    reply = await Desk(failing(fault)).ask("q")
    assert (reply.outcome, reply.attempts, reply.possibly_billed) == (Outcome.OK, 2, True)


@virtual_time
async def test_a_call_whose_tries_are_used_up_is_an_error() -> None:
    async def answer(text: str, number: int) -> Reply:
        raise ServerFault(
            f"broken {number}", status=502, body="<html>", possibly_billed=number == 1
        )

    desk = Desk(answer, attempts=3)
    reply = await desk.ask("q")
    assert (reply.outcome, reply.error) == (Outcome.ERROR, "ServerFault: broken 3")
    assert (reply.attempts, reply.possibly_billed) == (3, True)
    assert reply.raw == {"status": 502, "body": "<html>"}
    assert len(desk.provider.sent) == 3


@virtual_time
async def test_a_rejected_call_is_not_tried_again() -> None:
    desk = Desk(failing(CallRejected("bad request", why="no such field", status=400)))
    reply = await desk.ask("q")
    assert reply.outcome is Outcome.ERROR
    assert reply.error == "CallRejected: bad request\n  why: no such field"
    assert (reply.attempts, reply.raw) == (1, {"status": 400, "body": ""})
    assert len(desk.provider.sent) == 1
    assert desk.events == []


@virtual_time
async def test_an_error_without_a_status_has_no_raw_body() -> None:
    assert (await Desk(failing(CallRejected("no"))).ask("q")).raw is None


@pytest.mark.parametrize("kind", [RunFatal, BadKey])
def test_what_concerns_every_call_is_raised_at_once(kind: type[RunFatal]) -> None:
    @virtual_time
    async def run() -> None:
        desk = Desk(failing(kind("not with this key")), concurrency=1)
        one, two = desk.ask("one"), desk.ask("two")
        for call in (one, two):
            with pytest.raises(kind, match="not with this key"):
                await call
        assert len(desk.provider.sent) == 2
        assert desk.realtime.gauges()["in_flight"] == 0

    run()


@virtual_time
async def test_a_fault_of_the_provider_itself_frees_its_place() -> None:
    async def answer(text: str, number: int) -> Reply:
        raise KeyError("choices")

    desk = Desk(answer, concurrency=1)
    for text in ("one", "two"):
        with pytest.raises(KeyError, match="choices"):
            await desk.ask(text)
    assert desk.realtime.gauges()["in_flight"] == 0


@virtual_time
async def test_a_latency_that_the_provider_measured_is_kept() -> None:
    async def measured(text: str, number: int) -> Reply:
        return Reply(text, latency_s=12.5)

    assert (await Desk(measured).ask("q")).latency_s == 12.5
    taken = (await Desk(at_once).ask("q")).latency_s
    assert 0 < taken < 60


@virtual_time
async def test_an_answer_is_otherwise_handed_on_as_it_is() -> None:
    given = Reply("text", Outcome.REFUSED, "thought", "stop", request_id="r", latency_s=1.0)

    async def answer(text: str, number: int) -> Reply:
        return given

    assert await Desk(answer).ask("q") == given


# -- before it is sent ------------------------------------------------------------------


@virtual_time
async def test_a_call_is_begun_only_when_it_has_its_place() -> None:
    desk = Desk(after_a_second, concurrency=1)
    calls = [desk.ask(f"q{n}") for n in range(3)]
    await settle()
    assert desk.begun == ["q0"]
    await asyncio.gather(*calls)
    assert desk.begun == ["q0", "q1", "q2"]


@virtual_time
async def test_a_call_that_cannot_be_begun_is_not_sent_and_frees_its_place() -> None:
    desk = Desk(at_once, concurrency=1)

    class Refusing(SendLog):
        async def __call__(self) -> None:
            raise Halted

    call = Call(ModelRef("acted", "m"), generate("q"))
    with pytest.raises(Halted):
        await desk.realtime.answer(call, "q", Refusing())
    assert desk.provider.sent == []
    assert (await desk.ask("next")).text == "NEXT"


# -- money ---------------------------------------------------------------------------------

A_DOLLAR_A_TOKEN = UnitPrices(Rates(Decimal(0), Decimal(1_000_000)))
"""A call here may write four tokens."""


def writing(tokens: int) -> Answer:
    """Takes a second for so many tokens."""

    async def answer(text: str, number: int) -> Reply:
        await asyncio.sleep(1)
        return Reply(text, usage=Usage(5, tokens))

    return answer


def held(budget: Budget) -> tuple[Decimal | int, ...]:
    """What was spent, may have been, and is reserved."""
    return budget.spent, budget.possible, budget.reserved


@virtual_time
async def test_no_more_calls_are_in_flight_than_the_budget_could_pay() -> None:
    budget = Budget(Decimal(10))
    desk = Desk(writing(1), budget=budget, prices=A_DOLLAR_A_TOKEN)
    replies = await asyncio.gather(*(desk.ask(f"q{n}") for n in range(5)))
    assert [reply.cost for reply in replies] == [1] * 5
    assert (desk.provider.most, budget.spent, budget.reserved) == (2, Decimal(5), Decimal(0))


@virtual_time
async def test_calls_that_wait_for_money_are_not_in_flight_and_raise_no_concurrency() -> None:
    budget = Budget(Decimal(100))
    desk = Desk(after_a_second, concurrency=None, budget=budget, prices=A_DOLLAR_A_TOKEN)
    calls = [desk.ask(f"q{n}") for n in range(10)]
    await settle()
    gauges = desk.realtime.gauges()
    assert gauges["in_flight"] == budget.in_flight == desk.provider.inside < START
    assert gauges["in_flight"] + gauges["unfunded"] == START
    assert gauges["limited_by"] == "budget"
    await asyncio.gather(*calls)
    gauges = desk.realtime.gauges()
    assert (gauges["in_flight"], gauges["unfunded"], gauges["limited_by"]) == (0, 0, "")
    assert gauges["concurrency"] == START


@virtual_time
async def test_a_budget_that_is_spent_ends_what_waits_for_it() -> None:
    budget = Budget(Decimal(10))
    desk = Desk(writing(4), budget=budget, prices=A_DOLLAR_A_TOKEN)
    calls = [desk.ask(f"q{n}") for n in range(9)]
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(end) for end in ended] == [Reply, Reply, *[BudgetSpent] * 7]
    assert desk.begun == ["q0", "q1"]
    ((kind, told),) = desk.events
    assert (kind, *map(Decimal, told.values())) == ("budget-reached", 4, 2)
    assert (budget.spent, budget.reserved) == (Decimal(8), Decimal(0))


@virtual_time
async def test_an_attempt_that_may_have_been_billed_is_paid_at_its_worst() -> None:
    async def answer(text: str, number: int) -> Reply:
        if number < 4:
            raise ServerFault("cut", retry_after=1, possibly_billed=number != 2)
        return Reply(text, usage=Usage(5, 1))

    budget = Budget(Decimal(100))
    reply = await Desk(answer, budget=budget, prices=A_DOLLAR_A_TOKEN).ask("q")
    assert (reply.cost, reply.possible_cost) == (Decimal(1), Decimal(8))
    assert held(budget) == (1, 8, 0)


@virtual_time
async def test_a_call_cut_on_the_wire_may_have_been_billed_and_one_before_it_not() -> None:
    budget = Budget(Decimal(100))
    desk = Desk(after_a_second, concurrency=1, budget=budget, prices=A_DOLLAR_A_TOKEN)
    on_the_wire, waiting = desk.ask("one"), desk.ask("two")
    await settle()
    waiting.cancel()
    on_the_wire.cancel()
    await asyncio.wait([waiting, on_the_wire])
    assert held(budget) == (0, 4, 0)


@virtual_time
async def test_a_call_that_waits_for_money_is_not_sent_after_a_halt() -> None:
    budget = Budget(Decimal(5))
    desk = Desk(writing(1), budget=budget, prices=A_DOLLAR_A_TOKEN)
    first, second = desk.ask("one"), desk.ask("two")
    await settle()
    desk.realtime.halt()
    assert [await outcome(first), await outcome(second)] == ["one", "halted"]
    assert (desk.begun, desk.events) == (["one"], [])
    assert held(budget) == (1, 0, 0)


# -- halting ---------------------------------------------------------------------------------


async def outcome(task: asyncio.Task[Reply]) -> str:
    """What became of a call."""
    try:
        return (await task).text
    except Halted:
        return "halted"


@virtual_time
async def test_halting_lets_calls_in_flight_end_and_sends_no_other() -> None:
    desk = Desk(after_a_second, concurrency=2)
    calls = [desk.ask(f"q{n}") for n in range(5)]
    await settle()
    desk.realtime.halt()
    assert [await outcome(call) for call in calls] == ["Q0", "Q1", "halted", "halted", "halted"]
    assert now() == 1
    assert desk.begun == ["q0", "q1"]
    assert await outcome(desk.ask("later")) == "halted"
    assert len(desk.provider.sent) == 2


@virtual_time
async def test_halting_wakes_calls_that_wait_for_another_try() -> None:
    desk = Desk(failing(RateLimited("slow down", retry_after=200)))
    call = desk.ask("q")
    await asyncio.sleep(3)
    desk.realtime.halt()
    assert await outcome(call) == "halted"
    assert now() == 3
    assert desk.realtime.gauges()["waiting"] == 0


@virtual_time
async def test_halting_wakes_calls_that_wait_for_the_key() -> None:
    desk = Desk(at_once)
    desk.limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=300))
    call = desk.ask("q")
    await asyncio.sleep(3)
    desk.realtime.halt()
    assert await outcome(call) == "halted"
    assert now() == 3
    assert desk.provider.sent == []


@virtual_time
async def test_closing_closes_the_provider() -> None:
    desk = Desk(at_once)
    await desk.realtime.close()
    assert desk.provider.closed


@virtual_time
async def test_no_turn_is_taken_before_the_provider_is_ready() -> None:
    desk = Desk(at_once, concurrency=64, qps=2)
    ready: list[float] = []

    async def get_ready(call: Call) -> None:
        await asyncio.sleep(3)
        ready.append(now())

    desk.provider.get_ready = get_ready  # type: ignore[method-assign]
    await asyncio.gather(*(desk.ask(f"q{n}") for n in range(4)))
    await desk.ask("later")
    assert [at for _, at in desk.provider.sent] == [3, 3.5, 4, 4.5, 5]
    assert set(ready) == {3.0}


# -- money that a provider tells ---------------------------------------------------


@pytest.mark.parametrize("charge", ["-1", "NaN", "Infinity", "1e18"])
@virtual_time
async def test_a_charge_that_can_be_none_is_not_believed(charge: str) -> None:
    async def answer(text: str, number: int) -> Reply:
        return Reply("B", usage=Usage(10, 20), billed=Decimal(charge))

    budget = Budget(Decimal(5))
    desk = Desk(answer, budget=budget, prices=UnitPrices(Rates(Decimal(1), Decimal(2))))
    reply = await desk.ask("q")
    assert reply.cost == budget.spent == Decimal("0.00005")


# -- connections that are cut ------------------------------------------------------------


def cut() -> ConnectionFailed:
    return ConnectionFailed("the connection was cut", possibly_billed=True)


@virtual_time
async def test_a_minute_of_cut_connections_fails_no_call_and_sends_hardly_any() -> None:
    async def answer(text: str, number: int) -> Reply:
        await asyncio.sleep(0.3)
        if 2 < now() < 62:
            raise cut()
        return Reply(text.upper(), usage=Usage(1, 1))

    prices = UnitPrices(Rates(Decimal(1), Decimal(1)))
    budget = Budget()
    desk = Desk(answer, concurrency=8, budget=budget, prices=prices)
    replies = await asyncio.gather(*(desk.ask(f"q{n}") for n in range(200)))
    assert {reply.outcome for reply in replies} == {Outcome.OK}
    down = [at for _, at in desk.provider.sent if 1.7 < at < 61.7]
    # Two or three times those in flight, and about twenty probes.
    assert 8 * 2 < len(down) < 8 * 3 + 25
    worst = desk.realtime.meter.worst_case(
        Call(ModelRef("acted", "m"), generate([user(["q100"])], max_tokens=4))
    )
    assert budget.possible <= len(down) * worst
    assert [kind for kind, _ in desk.events if kind != "wait"] == ["provider-down", "provider-back"]
    assert now() < 90


async def cuts_bad_ones(text: str, number: int) -> Reply:
    await asyncio.sleep(0.3)
    if text.startswith("bad"):
        raise cut()
    return Reply(text.upper())


@virtual_time
async def test_calls_that_are_cut_each_time_fail_and_the_others_are_answered() -> None:
    desk = Desk(cuts_bad_ones, concurrency=5)
    assert (await desk.ask("first")).outcome is Outcome.OK
    bad = [desk.ask(f"bad{n}") for n in range(5)]
    good = [desk.ask(f"q{n}") for n in range(20)]
    for reply in await asyncio.gather(*good):
        assert reply.outcome is Outcome.OK
    for reply in await asyncio.gather(*bad):
        assert (reply.outcome, reply.attempts) == (Outcome.ERROR, 8)
        assert reply.possibly_billed
    assert now() < 1800


@virtual_time
async def test_two_calls_that_are_cut_are_no_outage() -> None:
    desk = Desk(cuts_bad_ones, concurrency=2)
    assert (await desk.ask("first")).outcome is Outcome.OK
    for reply in await asyncio.gather(desk.ask("bad1"), desk.ask("bad2")):
        assert reply.attempts == 8
    assert "provider-down" not in [kind for kind, _ in desk.events]

"""One call fills a provider's prompt cache, the others wait for it, and nobody for long."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from evalbench.engine.calls import (
    Call,
    Capabilities,
    ModelRef,
    Reply,
    TextPart,
    generate,
    system,
    user,
)
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix, unshared
from evalbench.engine.dispatch.base import Halted, SendLog
from evalbench.engine.errors import ServerFault
from tests.unit.engine.test_realtime import Answer, Desk
from tests.unit.engine.virtual_time import now, settle, virtual_time

LONG = "An example that every question of this subject shows.\n" * 80
SHORT = "Answer with a letter."


def question(number: int, shared: str = LONG) -> Call:
    asked = user([TextPart(shared, shared=True), f"Question {number}?"])
    return Call(ModelRef("acted", "m"), generate([asked], max_tokens=4))


class CachingDesk(Desk):
    """A dispatcher whose provider caches prefixes of 1,024 tokens and more for five minutes.

    ``at`` holds by question the second in which it left, ``marked`` whether as shared.
    """

    def __init__(self, answer: Answer, *, concurrency: int = 16, cached_from: int = 1024) -> None:
        async def noted(text: str, number: int) -> Reply:
            self.at.setdefault(int(text.rpartition(" ")[2].rstrip("?")), []).append(now())
            return await answer(text, number)

        super().__init__(noted, concurrency=concurrency)
        self.at: dict[int, list[float]] = {}
        self.marked: list[bool] = []
        self.provider.able = Capabilities(cached_from=cached_from, cached_for_s=300)
        plain = self.provider.answer

        async def watched(call: Call) -> Reply:
            self.marked.append(shared_prefix(call.prompt.messages) is not None)
            return await plain(call)

        self.provider.answer = watched  # type: ignore[method-assign]

    def put(self, call: Call) -> asyncio.Task[Reply]:
        return asyncio.create_task(
            self.realtime.answer(call, call.prompt.messages[0].text, SendLog())
        )


async def in_two_seconds(text: str, number: int) -> Reply:
    await asyncio.sleep(2)
    return Reply("B")


@virtual_time
async def test_the_first_goes_alone_and_the_rest_after_its_reply() -> None:
    desk = CachingDesk(in_two_seconds)
    await asyncio.gather(*(desk.put(question(n)) for n in range(16)))
    assert desk.at == {0: [0.0]} | {n: [2.0] for n in range(1, 16)}
    assert all(desk.marked)
    assert now() == 4
    assert [body["reason"] for kind, body in desk.events if kind == "wait"] == ["Warming"]


@virtual_time
async def test_every_prefix_has_its_own_first_call() -> None:
    desk = CachingDesk(in_two_seconds)
    other = LONG.upper()
    await asyncio.gather(
        *(desk.put(question(n)) for n in (0, 1)), *(desk.put(question(n, other)) for n in (2, 3))
    )
    assert desk.at == {0: [0.0], 2: [0.0], 1: [2.0], 3: [2.0]}


@pytest.mark.parametrize(("shared", "cached_from"), [(SHORT, 1024), (LONG, 0)])
@virtual_time
async def test_nobody_waits_where_nothing_is_cached(shared: str, cached_from: int) -> None:
    desk = CachingDesk(in_two_seconds, cached_from=cached_from)
    await asyncio.gather(*(desk.put(question(n, shared)) for n in range(16)))
    assert now() == 2


@virtual_time
async def test_when_it_fails_the_next_takes_its_place() -> None:
    async def answer(text: str, number: int) -> Reply:
        await asyncio.sleep(1)
        if text.endswith(" 0?") and number == 1:
            raise ServerFault("broken", retry_after=30)
        return Reply("B")

    desk = CachingDesk(answer)
    await asyncio.gather(*(desk.put(question(n)) for n in range(6)))
    assert desk.at[1] == [1.0]
    assert [desk.at[n] for n in range(2, 6)] == [[2.0]] * 4
    assert desk.at[0] == [0.0, 31.0]


@virtual_time
async def test_a_server_that_only_fails_holds_nobody_back_for_long() -> None:
    async def answer(text: str, number: int) -> Reply:
        await asyncio.sleep(3)
        raise ServerFault("broken", retry_after=100)

    desk = CachingDesk(answer)
    asks = [desk.put(question(n)) for n in range(40)]
    await asyncio.sleep(60)
    assert len(desk.at) == 40
    for ask in asks:
        ask.cancel()
    await asyncio.gather(*asks, return_exceptions=True)


@virtual_time
async def test_a_slow_first_reply_is_not_waited_for_to_its_end() -> None:
    async def answer(text: str, number: int) -> Reply:
        await asyncio.sleep(600)
        return Reply("B")

    desk = CachingDesk(answer)
    await asyncio.gather(*(desk.put(question(n)) for n in range(6)))
    assert all(at[0] <= 40 for at in desk.at.values())
    assert sorted(at[0] for at in desk.at.values())[1] >= 20


@virtual_time
async def test_a_cut_first_call_leaves_its_place_to_the_next() -> None:
    desk = CachingDesk(in_two_seconds)
    first, *others = [desk.put(question(n)) for n in range(4)]
    await settle()
    first.cancel()
    await asyncio.gather(*others)
    assert (desk.at[1], desk.at[2]) == ([0.0], [2.0])


@pytest.mark.parametrize("turns", range(4))
@virtual_time
async def test_a_first_call_can_be_cut_at_any_moment(turns: int) -> None:
    desk = CachingDesk(in_two_seconds)
    first, *others = [desk.put(question(n)) for n in range(4)]
    await settle(turns)
    first.cancel()
    await asyncio.gather(*others)
    assert now() == 4


@virtual_time
async def test_a_lone_call_writes_nothing_that_nobody_reads() -> None:
    desk = CachingDesk(in_two_seconds)
    await desk.put(question(0))
    await desk.put(question(1))
    await desk.put(question(2))
    assert desk.marked == [False, True, True]


@virtual_time
async def test_after_the_caches_life_one_call_goes_first_again() -> None:
    desk = CachingDesk(in_two_seconds)
    await asyncio.gather(*(desk.put(question(n)) for n in range(3)))
    await asyncio.sleep(400)
    await asyncio.gather(*(desk.put(question(n)) for n in range(3, 6)))
    assert [desk.at[n] for n in (3, 4, 5)] == [[404.0], [406.0], [406.0]]


@virtual_time
async def test_a_halt_lets_go_of_those_that_wait() -> None:
    desk = CachingDesk(in_two_seconds)
    asks = [desk.put(question(n)) for n in range(4)]
    await settle()
    desk.realtime.halt()
    first, *others = await asyncio.gather(*asks, return_exceptions=True)
    assert isinstance(first, Reply)
    assert all(isinstance(one, Halted) for one in others)
    assert now() == 2


def test_a_prefix_is_named_by_model_and_content() -> None:
    one, two = question(1), question(2)

    def name(call: Call) -> str:
        prefix = shared_prefix(call.prompt.messages)
        assert prefix
        return prefix_name(call.model, call.prompt.messages, prefix)

    assert name(one) == name(two)
    assert name(question(1, LONG + "!")) != name(one)
    assert name(replace(one, model=ModelRef("acted", "n"))) != name(one)
    bare = unshared(one)
    assert shared_prefix(bare.prompt.messages) is None
    assert bare.content_hash == one.content_hash


def test_a_prefix_ends_before_what_is_the_callers_own() -> None:
    rubric = TextPart("rubric " * 10, shared=True)
    turns = [system("Be brief."), user([rubric, "Mine.", rubric])]
    prefix = shared_prefix(turns)
    assert prefix
    assert (prefix.message, prefix.part) == (1, 0)
    assert prefix.tokens == pytest.approx((9 + 70) / 3)
    assert shared_prefix([user(["Mine.", rubric])]) is None
    assert shared_prefix([system("Be brief."), user("Mine.")]) is None

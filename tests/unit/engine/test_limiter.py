"""When a call may leave: places, growth and shrinking, pauses, the rate, and sharing."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random

import pytest

from evalbench.engine.calls import RateLimits
from evalbench.engine.dispatch.limiter import START, Limiter
from evalbench.engine.dispatch.resizable_semaphore import ResizableSemaphore
from evalbench.engine.dispatch.shared_limits import MOST
from evalbench.engine.errors import ConnectionFailed, Overloaded, ProviderError, RateLimited
from tests.unit.engine.virtual_time import now, settle, virtual_time

MEGABYTE = 1024 * 1024


class Gate:
    """Tasks that stand at a gate; ``inside`` names those that were let in, in order."""

    def __init__(self, slots: ResizableSemaphore) -> None:
        self.semaphore = slots
        self.inside: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str, weight: int = 0) -> None:
        for name in names:
            self.tasks[name] = asyncio.create_task(self._enter(name, weight))
        await settle()

    async def _enter(self, name: str, weight: int) -> None:
        await self.semaphore.take(weight)
        self.inside.append(name)

    async def leave(self, name: str, weight: int = 0) -> None:
        self.inside.remove(name)
        self.semaphore.give(weight)
        await settle()


# -- places ---------------------------------------------------------------------


@virtual_time
async def test_no_more_enter_than_there_are_places_and_in_order() -> None:
    gate = Gate(ResizableSemaphore(2))
    await gate.come("a", "b", "c", "d")
    assert (gate.inside, gate.semaphore.taken, gate.semaphore.waiting) == (["a", "b"], 2, 2)
    await gate.leave("b")
    assert gate.inside == ["a", "c"]
    await gate.leave("a")
    await gate.leave("c")
    assert (gate.inside, gate.semaphore.taken, gate.semaphore.waiting) == (["d"], 1, 0)


@virtual_time
async def test_a_place_goes_to_who_waited_not_to_who_comes_just_then() -> None:
    slots = ResizableSemaphore(1)
    gate = Gate(slots)
    await slots.take()
    await gate.come("waited")
    slots.give()
    await gate.come("came")
    again = asyncio.create_task(slots.take())
    await settle()
    assert gate.inside == ["waited"]
    await gate.leave("waited")
    assert gate.inside == ["came"]
    await gate.leave("came")
    assert again.done()


@virtual_time
async def test_one_that_leaves_and_comes_back_at_once_stands_behind() -> None:
    slots = ResizableSemaphore(1)
    order: list[str] = []

    async def greedy() -> None:
        for _ in range(3):
            await slots.take()
            order.append("greedy")
            slots.give()

    async def other() -> None:
        await slots.take()
        order.append("other")
        slots.give()

    await slots.take()
    tasks = [asyncio.create_task(greedy()), asyncio.create_task(other())]
    await settle()
    slots.give()
    await asyncio.gather(*tasks)
    assert order == ["greedy", "other", "greedy", "greedy"]


@virtual_time
async def test_a_larger_gate_lets_more_in_and_a_smaller_one_waits_for_leavers() -> None:
    gate = Gate(ResizableSemaphore(1))
    await gate.come(*"abcde")
    gate.semaphore.resize(3)
    await settle()
    assert gate.inside == ["a", "b", "c"]
    gate.semaphore.resize(1)
    await gate.leave("a")
    await gate.leave("b")
    assert gate.inside == ["c"]
    await gate.leave("c")
    assert gate.inside == ["d"]


@virtual_time
async def test_heavy_calls_share_the_bytes_in_flight() -> None:
    gate = Gate(ResizableSemaphore(10))
    await gate.come("a", "b", "c", weight=100 * MEGABYTE)
    assert gate.inside == ["a", "b"]
    await gate.leave("a", 100 * MEGABYTE)
    assert gate.inside == ["b", "c"]


@virtual_time
async def test_a_call_heavier_than_everything_goes_alone() -> None:
    gate = Gate(ResizableSemaphore(10))
    await gate.come("small", weight=1)
    await gate.come("giant", weight=10**10)
    assert gate.inside == ["small"]
    await gate.leave("small", 1)
    assert gate.inside == ["giant"]
    await gate.come("next", weight=1)
    assert gate.inside == ["giant"]
    await gate.leave("giant", 10**10)
    assert gate.inside == ["next"]


@virtual_time
async def test_a_heavy_call_is_not_overtaken_by_light_ones() -> None:
    gate = Gate(ResizableSemaphore(10))
    await gate.come("first", weight=200 * MEGABYTE)
    await gate.come("heavy", weight=200 * MEGABYTE)
    await gate.come("light")
    assert gate.inside == ["first"]
    await gate.leave("first", 200 * MEGABYTE)
    assert gate.inside == ["heavy", "light"]


@virtual_time
async def test_one_that_goes_away_while_it_waits_holds_nobody_up() -> None:
    gate = Gate(ResizableSemaphore(10))
    await gate.come("first", weight=200 * MEGABYTE)
    await gate.come("heavy", weight=200 * MEGABYTE)
    await gate.come("light")
    gate.tasks["heavy"].cancel()
    await settle()
    assert (gate.inside, gate.semaphore.waiting) == (["first", "light"], 0)


@virtual_time
async def test_one_that_goes_away_as_it_is_let_in_passes_its_place_on() -> None:
    slots = ResizableSemaphore(1)
    await slots.take(5)
    gone, next_one = (asyncio.create_task(slots.take(weight)) for weight in (7, 9))
    await settle()
    slots.give(5)
    gone.cancel()
    await next_one
    assert gone.cancelled()
    assert (slots.taken, slots.weight) == (1, 9)


@virtual_time
async def test_one_that_goes_away_just_before_it_is_let_in_takes_nothing() -> None:
    slots = ResizableSemaphore(1)
    await slots.take()
    gone, next_one = (asyncio.create_task(slots.take()) for _ in range(2))
    await settle()
    gone.cancel()
    slots.give()
    await next_one
    assert gone.cancelled()
    assert (slots.taken, slots.waiting) == (1, 0)


@pytest.mark.parametrize("seed", range(5))
@virtual_time
async def test_whatever_happens_every_place_is_given_back(seed: int) -> None:
    draw = random.Random(seed)
    slots = ResizableSemaphore(3)
    most = 0

    async def visit() -> None:
        nonlocal most
        weight = draw.choice([0, 100, 150, 300]) * MEGABYTE
        await slots.take(weight)
        try:
            most = max(most, slots.taken)
            assert slots.taken == 1 or slots.weight <= 256 * MEGABYTE
            await asyncio.sleep(draw.random())
        finally:
            slots.give(weight)

    tasks = [asyncio.create_task(visit()) for _ in range(60)]
    for _ in range(40):
        await asyncio.sleep(draw.random() / 10)
        draw.choice(tasks).cancel()
        slots.resize(draw.randint(1, 4))
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(task.cancelled() or task.exception() is None for task in tasks)
    assert (slots.taken, slots.weight, slots.waiting) == (0, 0, 0)
    assert 1 < most <= 4


# -- growth and shrinking ----------------------------------------------------------


class Crowd:
    """Calls that hold their places until told otherwise, with more always waiting."""

    def __init__(self, limiter: Limiter, size: int = 2000) -> None:
        self.limiter = limiter
        self.go = asyncio.Event()
        self.tasks = [asyncio.create_task(self._call()) for _ in range(size)]

    async def _call(self) -> None:
        async with self.limiter.turn() as permit:
            permit.sent()
            await self.go.wait()

    async def end(self) -> None:
        self.go.set()
        await asyncio.gather(*self.tasks)


async def answer(limiter: Limiter, until: float, takes_s: float) -> None:
    """Two thousand workers that send calls of such a length, one after another."""

    async def worker() -> None:
        while now() < until:
            async with limiter.turn() as permit:
                permit.sent()
                await asyncio.sleep(takes_s)
                limiter.succeeded(None, takes_s)

    await asyncio.gather(*(worker() for _ in range(2000)))


async def sizes_at(limiter: Limiter, takes_s: float, *moments: float) -> list[int]:
    """The concurrency at these moments, while all calls are answered."""
    calls = asyncio.create_task(answer(limiter, moments[-1] + 1, takes_s))
    sizes = []
    for moment in moments:
        await asyncio.sleep(moment - now())
        sizes.append(limiter.semaphore.size)
    calls.cancel()
    return sizes


@virtual_time
async def test_it_starts_small_and_doubles_each_round_while_calls_wait() -> None:
    limiter = Limiter(concurrency=None)
    assert await sizes_at(limiter, 0.1, 0.05, 0.15, 0.22) == [START, 2 * START, 4 * START]


@virtual_time
async def test_it_never_grows_beyond_reason() -> None:
    assert await sizes_at(Limiter(concurrency=None), 0.1, 10) == [MOST]


@virtual_time
async def test_it_does_not_wait_for_slow_answers_to_grow() -> None:
    # Ten seconds for an answer would be a minute until it has grown.
    unanswered, all_sent = await sizes_at(Limiter(concurrency=None), 10, 9.9, 16)
    assert unanswered == 16, "they may all be in one queue"
    assert all_sent > 150


@virtual_time
async def test_it_does_not_grow_ahead_of_a_server_that_answers_one_after_another() -> None:
    limiter, server = Limiter(concurrency=None), asyncio.Lock()

    async def call() -> None:
        async with limiter.turn() as permit:
            permit.sent()
            async with server:
                await asyncio.sleep(10)
            limiter.succeeded(None, 10)

    calls = [asyncio.create_task(call()) for _ in range(100)]
    await asyncio.sleep(61)
    # Two minutes' work at that rate would be less.
    assert limiter.semaphore.size <= 16 + 6
    for task in calls:
        task.cancel()


@virtual_time
async def test_it_does_not_grow_when_nobody_waits() -> None:
    limiter = Limiter(concurrency=None)
    for _ in range(100):
        limiter.succeeded(None)
    assert limiter.semaphore.size == START


@pytest.mark.parametrize("limit", ["qps", "tpm", "headroom"])
@virtual_time
async def test_it_does_not_grow_while_something_else_limits_it(limit: str) -> None:
    told = RateLimits(requests_remaining=2, requests_reset_s=30)
    limiter = Limiter(
        concurrency=None,
        qps=2 if limit == "qps" else None,
        tpm=12_000 if limit == "tpm" else None,
    )
    limiter.succeeded(None, tokens=100)
    if limit == "headroom":
        refusal = RateLimited("slow down")
        refusal.limits = told
        limiter.refused(refusal)
    crowd = Crowd(limiter, 100)
    await settle()
    assert limiter.limited_by == limit
    assert limiter.rate_limit == {"qps": 2, "tpm": 2, "headroom": None}[limit]
    for _ in range(10):
        limiter.succeeded(told if limit == "headroom" else None, tokens=100)
    assert limiter.semaphore.size == START
    for task in crowd.tasks:
        task.cancel()


async def refuse(limiter: Limiter, calls: int, of: int) -> None:
    """Send ``of`` calls at once, of which so many are refused; the others are in flight then."""

    async def one(number: int) -> None:
        async with limiter.turn() as permit:
            permit.sent()
            await asyncio.sleep(0.01)
            if number >= calls:
                await asyncio.sleep(10)
                return
            error = Overloaded("full")
            limiter.refused(error)
            raise error

    for number in range(of):
        asyncio.create_task(one(number)).add_done_callback(lambda task: task.exception())
    await asyncio.sleep(0.02)


@virtual_time
async def test_many_refusals_shrink_it_and_a_few_do_not() -> None:
    for refused, size in ((31, 100), (32, 68)):
        limiter = Limiter(concurrency=None)
        limiter.semaphore.resize(100)
        await refuse(limiter, refused, 100)
        assert limiter.semaphore.size == size


@virtual_time
async def test_a_refused_call_keeps_its_place_until_others_of_its_age_were_accepted() -> None:
    async def refused_call(limiter: Limiter) -> float:
        """Seconds for which its place stays taken."""
        limiter.semaphore.resize(1)
        with contextlib.suppress(RateLimited):
            async with limiter.turn() as permit:
                permit.sent()
                limiter.refused(RateLimited("slow down"))
                raise RateLimited("slow down")
        assert (limiter.in_flight, limiter.semaphore.taken) == (0, 1)
        return await left_at(limiter) - began

    for takes_s, kept_s in ((0.2, 0.2), (2.0, 0.5)):
        began, limiter = now(), Limiter(concurrency=None)
        limiter.succeeded(None, takes_s)
        assert await refused_call(limiter) == pytest.approx(kept_s)
    # Where the run is to stop, nobody waits for it.
    began = now()
    asyncio.get_running_loop().call_later(0.1, limiter.wake)
    assert await refused_call(limiter) == pytest.approx(0.1)


@virtual_time
async def test_a_fixed_size_never_changes_by_itself() -> None:
    limiter = Limiter(concurrency=7)
    crowd = Crowd(limiter, 50)
    await settle()
    for _ in range(30):
        limiter.refused(RateLimited("slow down"))
        await asyncio.sleep(3)
        for _ in range(50):
            limiter.succeeded(None)
    assert limiter.semaphore.size == 7
    await crowd.end()


@virtual_time
async def test_a_size_that_is_set_stays() -> None:
    limiter = Limiter(concurrency=None)
    limiter.resize(12)
    limiter.refused(RateLimited("slow down"))
    assert limiter.semaphore.size == 12


@virtual_time
async def test_a_size_that_is_let_go_changes_again_from_where_it_was() -> None:
    limiter = Limiter(concurrency=12)
    limiter.resize(None)
    assert limiter.semaphore.size == 12
    await refuse(limiter, 6, 12)
    assert limiter.semaphore.size == 6


@virtual_time
async def test_other_failures_are_no_refusals() -> None:
    limiter = Limiter(concurrency=None)
    for error in (ConnectionFailed("cut"), ProviderError("odd")):
        for _ in range(30):
            limiter.refused(error)
    assert (limiter.semaphore.size, limiter.paused_for()) == (START, 0)


# -- pauses -----------------------------------------------------------------------------


async def left_at(limiter: Limiter) -> float:
    """When the next call may leave."""
    async with limiter.turn():
        return now()


@pytest.mark.parametrize(
    ("told", "seconds", "why"),
    [
        (RateLimits(requests_remaining=0, requests_reset_s=12), 12, "no requests left"),
        (RateLimits(tokens_remaining=0, tokens_reset_s=7.5), 7.5, "no tokens left"),
        (RateLimits(requests_remaining=1, requests_reset_s=12), 0, ""),
        (RateLimits(requests_remaining=0), 0, ""),
        (RateLimits(), 0, ""),
    ],
)
def test_the_key_pauses_when_nothing_is_left(told: RateLimits, seconds: float, why: str) -> None:
    @virtual_time
    async def after_an_answer() -> None:
        limiter = Limiter(concurrency=5)
        limiter.succeeded(told)
        assert (limiter.paused_for(), limiter.why) == (seconds, why)
        assert await left_at(limiter) == seconds
        assert limiter.paused_for() == 0

    @virtual_time
    async def after_a_refusal() -> None:
        limiter = Limiter(concurrency=5)
        error = RateLimited("slow down", retry_after=99)
        error.limits = told
        limiter.refused(error)
        assert await left_at(limiter) == seconds

    after_an_answer()
    after_a_refusal()


@virtual_time
async def test_the_longer_of_two_pauses_holds() -> None:
    limiter = Limiter(concurrency=5)
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=12))
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=3))
    assert await left_at(limiter) == 12


@virtual_time
async def test_a_pause_that_comes_while_another_is_waited_for_counts_too() -> None:
    limiter = Limiter(concurrency=5)
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=3))
    leaving = asyncio.create_task(left_at(limiter))
    await asyncio.sleep(1)
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=5))
    assert await leaving == 6


@virtual_time
async def test_one_refusal_with_a_retry_after_stops_nobody_else() -> None:
    limiter = Limiter(concurrency=5)
    limiter.refused(RateLimited("slow down", retry_after=60))
    assert await left_at(limiter) == 0


@virtual_time
async def test_the_key_pauses_when_most_calls_are_refused() -> None:
    limiter = Limiter(concurrency=5)
    for _ in range(9):
        limiter.succeeded(None)
    for _ in range(10):
        limiter.refused(RateLimited("slow down", retry_after=30))
    assert limiter.paused_for() == 0
    limiter.refused(RateLimited("slow down", retry_after=30))
    assert (limiter.paused_for(), limiter.why) == (30, "most calls are refused")
    assert await left_at(limiter) == 30
    limiter.refused(RateLimited("slow down", retry_after=30))
    assert limiter.paused_for() == 0


@virtual_time
async def test_without_a_hint_the_pause_is_a_second() -> None:
    limiter = Limiter(concurrency=5)
    for _ in range(20):
        limiter.refused(Overloaded("full"))
    assert await left_at(limiter) == 1


@virtual_time
async def test_who_need_not_wait_any_more_does_not() -> None:
    limiter = Limiter(concurrency=5, qps=0.01)
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=300))
    stop = asyncio.Event()

    async def stand() -> float:
        async with limiter.turn(unless=stop):
            return now()

    paused = asyncio.create_task(stand())
    await asyncio.sleep(2)
    stop.set()
    assert await paused == 2
    assert await stand() == 2


# -- the rate ------------------------------------------------------------------------------


@virtual_time
async def test_calls_start_evenly_at_the_wanted_rate() -> None:
    limiter = Limiter(concurrency=100, qps=4)
    times = await asyncio.gather(*(left_at(limiter) for _ in range(9)))
    assert times == [n * 0.25 for n in range(9)]


@virtual_time
async def test_idle_time_is_not_saved_up() -> None:
    limiter = Limiter(concurrency=100, qps=4)
    await left_at(limiter)
    await asyncio.sleep(10)
    times = await asyncio.gather(*(left_at(limiter) for _ in range(3)))
    assert times == [10, 10.25, 10.5]


@virtual_time
async def test_after_a_pause_the_rate_still_holds() -> None:
    limiter = Limiter(concurrency=100, qps=1)
    calls = [asyncio.create_task(left_at(limiter)) for _ in range(6)]
    await asyncio.sleep(1.5)
    limiter.succeeded(RateLimits(requests_remaining=0, requests_reset_s=18.5))
    times = sorted(await asyncio.gather(*calls))
    assert times[:2] == [0, 1]
    assert times[2] >= 20
    assert all(later - sooner >= 1 for sooner, later in itertools.pairwise(times))


@virtual_time
async def test_tokens_a_minute_space_calls_by_what_replies_took() -> None:
    limiter = Limiter(concurrency=100, tpm=6000)
    assert limiter.wants_sizes
    limiter.expect(200)
    # 200 tokens at 100 a second.
    assert [await left_at(limiter) for _ in range(3)] == [0, 2, 4]
    limiter.succeeded(None, 1.0, 50)
    assert not limiter.wants_sizes
    # The turn that was taken is paid for; from then on, what a reply took.
    assert [await left_at(limiter) for _ in range(3)] == [6, 6.5, 7]
    limiter.succeeded(None, 1.0, 1050)
    assert await left_at(limiter) == 7.5
    assert await left_at(limiter) == 9
    both = Limiter(concurrency=100, qps=0.5, tpm=6_000_000)
    both.expect(10)
    assert [await left_at(both) for _ in range(2)] == [9, 11]

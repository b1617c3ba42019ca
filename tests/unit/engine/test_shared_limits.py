"""What engines on one key share: pauses, the rate, and the concurrency that they find."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.engine.calls import RateLimits
from evalbench.engine.dispatch import shared_limits as module
from evalbench.engine.dispatch.limiter import START, Limiter
from evalbench.engine.dispatch.shared_limits import MOST, SharedLimits, allot
from evalbench.engine.errors import RateLimited
from tests.unit.engine.virtual_time import now, virtual_time


class WallClock:
    """Stands in for the machine's time, which shared files are written in."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def time(self) -> float:
        return self.seconds


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    clock = WallClock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[], SharedLimits]:
    """Makes the view of one more engine on the same key."""
    return lambda: SharedLimits(tmp_path, "key", "m")


Engines = Callable[[], SharedLimits]

OTHER_PROCESS = """
import sys
from pathlib import Path
from evalbench.engine.dispatch.shared_limits import SharedLimits
limits = SharedLimits(Path(sys.argv[1]), "key", "m")
exec(sys.argv[2])
print("done", flush=True)
sys.stdin.read()
"""


@contextmanager
def in_another_process(folder: Path, what: str) -> Iterator[subprocess.Popen[str]]:
    """An engine of another process that has done something and lives on until killed."""
    words = [sys.executable, "-c", OTHER_PROCESS, str(folder), what]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "done\n"
        try:
            yield process
        finally:
            process.kill()
            process.wait()


# -- pauses -------------------------------------------------------------------------


def test_a_pause_reaches_the_other_engine(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    assert two.paused_until(100.0) == 100.0
    one.pause(30, "no tokens left")
    assert one.paused_until(100.0) == 130.0
    assert two.paused_until(100.2) == 100.2, "it looks four times a second"
    assert two.paused_until(100.25) == 130.25
    assert two.why == "no tokens left"
    wall.seconds += 10
    assert two.paused_until(110.25) == pytest.approx(130.25)
    wall.seconds += 25
    assert two.paused_until(140.0) == 140.0


def test_a_shorter_pause_does_not_end_a_longer_one(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    one.pause(30, "long")
    two.pause(5, "short")
    assert one.paused_until(0.0) == two.paused_until(0.0) == 30.0
    assert two.why == "long"


def test_a_clock_that_is_set_back_makes_nobody_wait_for_it(
    engine: Engines, wall: WallClock
) -> None:
    one, two = engine(), engine()
    assert one.next_slot(1.0) == 0.0
    one.pause(30, "before")
    wall.seconds -= 3600
    assert two.next_slot(1.0) == 0.0
    assert two.next_slot(1.0) == 1.0
    assert two.paused_until(0.0) == 0.0
    two.pause(5, "after")
    assert one.paused_until(10.0) == 15.0
    assert one.why == "after"


# -- the rate -----------------------------------------------------------------------


def test_engines_take_turns_at_one_rate(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    begun = wall.seconds
    times = []
    for shared_limits in (one, two, one, two):
        while (wait := shared_limits.next_slot(2.0)) > 0:
            wall.seconds += wait
        times.append(wall.seconds - begun)
    assert times == [0.0, 0.5, 1.0, 1.5]
    wall.seconds += 60
    assert two.next_slot(2.0) == 0.0
    assert one.next_slot(2.0) == 0.5, "idle time is not saved up"


def test_a_turn_is_given_to_one_only(engine: Engines, wall: WallClock) -> None:
    assert [engine().next_slot(1.0) for _ in range(50)].count(0.0) == 1


def test_a_killed_engine_at_a_low_rate_holds_nobody_up(
    tmp_path: Path, engine: Engines, wall: WallClock
) -> None:
    one = engine()
    with in_another_process(tmp_path, "assert limits.next_slot(0.001) == 0"):
        state = json.loads((tmp_path / "key-m.json").read_bytes())
        wall.seconds = state["last"] + 3
        assert one.next_slot(1.0) == 5.0, "it looks again soon, however long the turn is away"
    assert one.next_slot(1.0) == 0.0
    assert one.next_slot(1.0) == 1.0


def test_a_resumed_engine_keeps_the_rate_of_the_killed_one(
    tmp_path: Path, engine: Engines, wall: WallClock
) -> None:
    with in_another_process(tmp_path, "assert limits.next_slot(0.5) == 0"):
        pass
    wall.seconds = json.loads((tmp_path / "key-m.json").read_bytes())["last"] + 0.5
    assert engine().next_slot(0.5) == pytest.approx(1.5)


# -- concurrency ----------------------------------------------------------------------


@given(st.integers(1, 300), st.dictionaries(st.text(max_size=3), st.integers(0, 400), min_size=1))
def test_parts_are_fair_and_never_exceed_the_whole(level: int, wants: dict[str, int]) -> None:
    parts = allot(level, wants)
    assert parts.keys() == wants.keys()
    assert min(parts.values()) >= 1
    assert sum(parts.values()) == max(level, len(wants)) or sum(parts.values()) <= level + len(
        wants
    )
    if level >= len(wants):
        assert sum(parts.values()) == level
        even = level // len(wants)
        assert all(part >= min(wants[name], even) for name, part in parts.items())


def test_alone_it_keeps_what_it_found(engine: Engines, wall: WallClock) -> None:
    one = engine()
    part = one.share(size=40, wanted=80)
    assert (part.size, part.level, part.alone) == (40, 40, True)


def test_a_second_engine_gets_its_half_and_gives_it_back(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    one.share(size=40, wanted=80)
    assert two.share(size=8, wanted=8).size == 8
    assert one.share(size=40, wanted=80).size == 32
    assert two.share(size=8, wanted=60).size == 20
    assert one.share(size=32, wanted=80).size == 20
    assert two.share(size=20, wanted=0).size == 1
    assert one.share(size=20, wanted=80).size == 39
    two.share(size=1, wanted=80)
    assert one.share(size=39, wanted=80).size == 20
    two.leave()
    back = one.share(size=20, wanted=80)
    assert (back.size, back.alone) == (40, True)


def test_a_dead_engine_gives_its_part_back(
    tmp_path: Path, engine: Engines, wall: WallClock
) -> None:
    one = engine()
    one.share(size=40, wanted=80)
    with in_another_process(tmp_path, "limits.share(size=8, wanted=80)"):
        assert one.share(size=40, wanted=80).size == 20
    part = one.share(size=20, wanted=80)
    assert (part.size, part.alone) == (40, True)


def test_together_they_grow_and_shrink_once_a_burst(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    one.share(size=40, wanted=100)
    two.share(size=8, wanted=100)
    assert one.share(size=20, wanted=100, grown=6).level == 46
    assert one.share(size=20, wanted=100, grown=1000).level == 66, "it doubles at most"
    assert two.share(size=33, wanted=100, refused=True).level == 46
    assert one.share(size=33, wanted=100, refused=True).level == 46
    assert not one.share(size=23, wanted=100).ramping
    wall.seconds += 3
    assert one.share(size=23, wanted=100, refused=True).level == 32
    for _ in range(20):
        part = one.share(size=200, wanted=1000, grown=200)
    assert part.level == MOST


def test_the_first_cut_counts_whatever_the_clock_says(engine: Engines, wall: WallClock) -> None:
    wall.seconds = 0.5
    one, two = engine(), engine()
    one.share(size=40, wanted=100)
    assert two.share(size=20, wanted=100, refused=True, left=0.5).level == 20


def test_the_next_lone_engine_begins_small_again(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    one.share(size=40, wanted=100)
    two.share(size=8, wanted=100)
    one.leave()
    two.leave()
    part = engine().share(size=START, wanted=START)
    assert (part.size, part.ramping) == (START, True)


def test_engines_share_the_rate_that_they_find(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    assert one.found_rate(inf, inf) == inf
    assert two.found_rate(50.0, inf) == 50.0
    assert one.found_rate(inf, inf) == 50.0
    # Both change it before they hear of each other.
    assert one.found_rate(40.0, 50.0) == pytest.approx(40.0)
    assert two.found_rate(60.0, 50.0) == pytest.approx(48.0)
    assert one.found_rate(inf, 40.0) == inf, "it was no limit after all"
    assert two.found_rate(48.0, 48.0) == inf


def test_a_lone_engine_forgets_the_rate_that_others_found(engine: Engines, wall: WallClock) -> None:
    one = engine()
    one.found_rate(50.0, inf)
    one.leave()
    two = engine()
    two.share(size=START, wanted=START)
    assert two.found_rate(inf, inf) == inf


def test_refused_calls_of_all_engines_count_together(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    one.share(size=8, wanted=8)
    two.share(size=8, wanted=8)
    assert one.refusals(2) == 2
    assert two.refusals(3) == 5
    one.share(size=4, wanted=8)
    assert two.refusals(1) == 3
    one.leave()
    assert two.refusals(1) == 1


def test_an_engine_knows_its_part(engine: Engines, wall: WallClock) -> None:
    one, two = engine(), engine()
    assert one.share(size=12, wanted=100).part == 1.0
    assert two.share(size=12, wanted=100).part == 0.5


# -- the file -------------------------------------------------------------------------


def test_other_keys_and_models_are_apart(tmp_path: Path, wall: WallClock) -> None:
    SharedLimits(tmp_path, "key", "org/m:free").pause(30, "x")
    assert SharedLimits(tmp_path, "key", "org/n").paused_until(0.0) == 0.0
    assert SharedLimits(tmp_path, "other", "org/m:free").paused_until(0.0) == 0.0
    assert SharedLimits(tmp_path, "key", "org/m:free").paused_until(0.0) == 30.0


def test_the_file_is_the_owners_alone_and_small(tmp_path: Path, wall: WallClock) -> None:
    folder = tmp_path / "deep" / "limits"
    for _ in range(10):
        shared_limits = SharedLimits(folder, "f1ngerprint", "org/m")
        shared_limits.pause(30, "no tokens left")
        shared_limits.next_slot(1.0)
        shared_limits.share(size=8, wanted=8)
    (file,) = folder.iterdir()
    assert file.name == "f1ngerprint-org-m.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_size < 1500


def test_a_file_caught_half_written_changes_nothing(tmp_path: Path, wall: WallClock) -> None:
    shared_limits = SharedLimits(tmp_path, "key", "m")
    shared_limits.pause(30, "x")
    assert shared_limits.paused_until(0.0) == 30.0
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"")
    assert shared_limits.paused_until(1.0) == 31.0
    file.unlink()
    assert shared_limits.paused_until(2.0) == 2.0


@pytest.mark.parametrize(
    "body", [b"{broken", b"[]", b'{"engines": {"a": 7}, "by": "x", "next": 1}']
)
def test_a_damaged_file_is_begun_anew(tmp_path: Path, wall: WallClock, body: bytes) -> None:
    shared_limits = SharedLimits(tmp_path, "key", "m")
    (tmp_path / "key-m.json").write_bytes(body)
    assert shared_limits.paused_until(0.0) == 0.0
    assert shared_limits.next_slot(1.0) == 0.0
    assert shared_limits.next_slot(1.0) == 1.0
    assert shared_limits.share(size=8, wanted=8).size == 8


# -- limiters -------------------------------------------------------------------------


def with_one_clock(test: Callable[..., object]) -> Callable[..., None]:
    """Run an async test in virtual time, with the wall clock going with the loop's."""

    def run(engine: Engines) -> None:
        async def body() -> None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "time", asyncio.get_running_loop())
                await test(engine)  # type: ignore[misc]

        virtual_time(body)()

    run.__name__ = test.__name__
    return run


async def left_at(limiter: Limiter) -> float:
    async with limiter.turn():
        return now()


@with_one_clock
async def test_limiters_of_two_engines_share_pauses_and_rate(engine: Engines) -> None:
    one, two = (Limiter(concurrency=9, qps=2, shared_limits=engine()) for _ in range(2))
    times = await asyncio.gather(*(left_at(x) for x in (one, two, one, two)))
    assert sorted(times) == [0, 0.5, 1, 1.5]
    one.succeeded(RateLimits(requests_remaining=0, requests_reset_s=20))
    await asyncio.sleep(0.25)
    assert two.paused_for() == pytest.approx(19.75)
    assert two.why == "no requests left"
    assert await left_at(two) == pytest.approx(21.5)


class Key:
    """A key that bears so many calls at once and refuses what is more."""

    def __init__(self, bears: int) -> None:
        self.bears = bears
        self.inside = 0
        self.refused = 0
        self.most: dict[int, int] = {}

    async def call(self, limiter: Limiter) -> bool:
        """Ask; whether it was answered. A refusal comes at once."""
        try:
            async with limiter.turn() as permit:
                permit.sent()
                if self.inside >= self.bears:
                    self.refused += 1
                    await asyncio.sleep(0.01)
                    error = RateLimited("too many")
                    limiter.refused(error)
                    raise error
                self.inside += 1
                second = int(now())
                self.most[second] = max(self.inside, self.most.get(second, 0))
                await asyncio.sleep(0.1)
                self.inside -= 1
                limiter.succeeded(None, 0.1)
                return True
        except RateLimited:
            return False


async def keep_busy(key: Key, limiter: Limiter, until: float) -> int:
    """Calls that were made by a run with always more to ask."""
    done = 0

    async def worker() -> None:
        nonlocal done
        while now() < until:
            if await key.call(limiter):
                done += 1
            else:
                await asyncio.sleep(1)

    await asyncio.gather(*(worker() for _ in range(200)))
    return done


@with_one_clock
async def test_two_engines_find_together_what_the_key_bears(engine: Engines) -> None:
    alone, shared = Key(40), Key(40)
    lone = await keep_busy(alone, Limiter(concurrency=None), 60)
    one, two = (Limiter(concurrency=None, shared_limits=engine()) for _ in range(2))
    done = await asyncio.gather(keep_busy(shared, one, 120), keep_busy(shared, two, 120))
    assert min(done) > 0.7 * max(done), "neither starves"
    assert sum(done) > 0.8 * lone, "the key is used as well as by one"
    assert alone.refused < 0.05 * lone
    assert shared.refused < 0.05 * sum(done)


@with_one_clock
async def test_what_one_engine_does_not_need_the_other_gets(engine: Engines) -> None:
    key = Key(40)
    one, two = (Limiter(concurrency=None, shared_limits=engine()) for _ in range(2))
    await asyncio.gather(keep_busy(key, one, 30), keep_busy(key, two, 10))
    two.close()
    await keep_busy(key, one, 40)
    assert max(most for second, most in key.most.items() if second > 30) > 35


@with_one_clock
async def test_a_fixed_concurrency_is_nobodys_share(engine: Engines) -> None:
    fixed = Limiter(concurrency=64, shared_limits=engine())
    one = Limiter(concurrency=None, shared_limits=engine())
    key = Key(1000)
    await asyncio.gather(keep_busy(key, one, 5), keep_busy(key, fixed, 5))
    assert fixed.semaphore.size == 64
    assert one.semaphore.size > START
    one.resize(3)
    fixed.resize(None)
    await keep_busy(key, fixed, 10)
    assert (one.semaphore.size, fixed.semaphore.size > 64) == (3, True)

"""The concurrency that a model bears is found, whatever its refusals come from."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median

import pytest

from evalbench.engine.dispatch.number_limit import Sent
from evalbench.engine.dispatch.steering import Refusal, Steering


class World:
    """A model that answers rounds of calls; ``refuses`` says with what chance it refuses one.

    ``sizes`` are how many were sent in a round: as many as the concurrency and the pace allow.
    """

    def __init__(
        self, refuses: Callable[[int], float], size: int = 8, seed: int = 1, now: float = 0.0
    ) -> None:
        self.refuses = refuses
        self.size = size
        self.steering = Steering()
        self.dice = random.Random(seed)
        self.now = now
        self.asked = self.refused = 0

    def rounds(self, count: int) -> list[int]:
        """How many were sent in each of so many rounds, a second each."""
        sizes = []
        for _ in range(count):
            paced = self.steering.pace.rate < self.size
            size = max(1, round(min(self.size, self.steering.pace.rate)))
            for number in range(size):
                now = self.now + number / size
                share = self.refuses(max(1, round(min(size, self.steering.pace.rate))))
                answered = self.dice.random() >= share
                self.asked += 1
                self.refused += not answered
                self.steering.sent(now)
                if answered:
                    self.steering.was_accepted(size, paced=paced)
                    if known := self.steering.outage_before(now, now):
                        self.change(self.steering.resume(known, self.size, now))
                elif paced:
                    self.change(
                        self.steering.was_refused(
                            Refusal(Sent(now, 0, paced), 1, size), self.size, now, paced=paced
                        )
                    )
                self.change(
                    self.steering.heard(
                        accepted=answered, sent=now, size=self.size, wanted=self.size < 256,
                        now=now, undecided=size, paced=paced,
                    )
                )  # fmt: skip
            self.now += 1
            sizes.append(size)
        return sizes

    def change(self, by: int) -> None:
        """Change the concurrency."""
        self.size = max(1, min(256, self.size + by))


def over(limit: int) -> Callable[[int], float]:
    """A model that answers ``limit`` calls a round."""
    return lambda size: max(0.0, 1 - limit / size)


def test_without_refusals_it_grows_to_the_most() -> None:
    assert World(lambda size: 0.0).rounds(6)[-1] == 256


def test_a_limit_is_found_and_kept_with_few_refusals() -> None:
    for limit in (6, 30, 100):
        world = World(over(limit))
        world.rounds(40)
        world.asked = world.refused = 0
        sizes = world.rounds(200)
        assert sum(sizes) / len(sizes) > 0.9 * limit
        assert world.refused / world.asked < 0.05


def test_what_a_clock_says_at_first_means_nothing() -> None:
    for refuses in (over(6), over(30), lambda size: 0.5, lambda size: 0.2):
        for seed in range(8):
            at_zero, later = (World(refuses, seed=seed, now=now) for now in (0.0, 2.0**14))
            assert at_zero.rounds(30) == later.rounds(30)
            assert later.steering.pace.rate == pytest.approx(at_zero.steering.pace.rate)


def test_a_limit_that_moves_is_followed() -> None:
    limit = 40
    world = World(lambda size: over(limit)(size))
    world.rounds(60)
    limit = 10
    assert world.rounds(60)[-1] <= 13
    limit = 80
    assert world.rounds(120)[-1] >= 60


def test_refusals_that_come_whatever_is_sent_hold_nothing_up() -> None:
    reached = []
    for seed in range(10):
        world = World(lambda size: 0.2, seed=seed)
        world.rounds(60)
        reached.append(world.size)
        assert world.steering.always > 0.1 or world.size > 200
    assert sorted(reached)[5] > 200


def test_a_limit_behind_such_refusals_is_found_too() -> None:
    reached = []
    for seed in range(11):
        world = World(lambda size: 1 - 0.8 * min(1.0, 50 / size), seed=seed)
        world.rounds(100)
        reached.append(sum(world.rounds(100)) / 100)
    assert 35 < median(reached) < 90


def test_refusals_that_cease_are_forgotten() -> None:
    chance = 0.3
    world = World(lambda size: chance)
    world.rounds(60)
    chance = 0.0
    world.rounds(40)
    assert world.steering.always < 0.03


def test_a_model_that_answers_nobody_gets_back_what_it_had() -> None:
    down = 0.0
    world = World(lambda size: max(down, over(40)(size)))
    before = world.rounds(60)[-1]
    down = 1.0
    world.rounds(10)
    assert world.steering.pace.rate < 0.9 * before
    down = 0.0
    assert world.rounds(2)[-1] >= 0.95 * before


def test_a_limit_on_calls_in_flight_is_told_from_one_on_their_rate() -> None:
    for accepted_since in (False, True):
        steering = Steering()
        steering.pace.begin(30.0, 0.0)
        for beside in range(16):
            steering.was_accepted(beside, paced=False)

        def refuse(at: float, beside: int, steering: Steering = steering) -> int:
            refusal = Refusal(Sent(at, beside, paced=True), refused=1, of=24)
            return steering.was_refused(refusal, 24, at + 0.01, paced=True)

        # Beside fewer than were accepted before: it is the rate.
        assert refuse(1.0, 12) == 0
        assert steering.pace.rate < 30.0
        # Beside more it may be their number, or chance, as in a rate that is about kept.
        assert [refuse(2 + n / 10, 16) for n in range(5)] == [0] * 5
        if accepted_since:
            steering.was_accepted(16, paced=True)
            assert refuse(2.6, 16) == 0
            assert steering.pace.found
        else:
            assert refuse(2.6, 16) == 16 - 24
            assert not steering.pace.found

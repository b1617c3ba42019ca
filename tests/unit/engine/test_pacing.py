"""A request rate is found from what is refused, and kept just above the limit."""

from __future__ import annotations

from math import inf

import pytest

from evalbench.engine.dispatch.pacing import Pace


def taking(limit: float, pace: Pace, seconds: float, now: float = 0.0) -> tuple[float, float]:
    """Send at the pace to a model that answers so many calls a second: rate, share refused."""
    held, asked, refused, end = 1.0, 0, 0, now + seconds
    while now < end:
        if wait := pace.wait(now):
            held = min(limit, held + wait * limit)
            now += wait
            continue
        asked += 1
        if held >= 1:
            held -= 1
            pace.accepted(0.0)
        else:
            refused += 1
            pace.refused(now, now, 0.0)
    return asked / seconds, refused / asked


@pytest.mark.parametrize("limit", [2.0, 50.0, 700.0])
@pytest.mark.parametrize("begun", [0.5, 1.0, 2.0])
def test_a_limit_is_found_from_below_and_above_and_used_whole(limit: float, begun: float) -> None:
    pace = Pace()
    pace.begin(begun * limit, 0.0)
    taking(limit, pace, 1000 / limit)
    rate, refused = taking(limit, pace, 2000 / limit, 1000 / limit)
    assert limit <= rate <= 1.05 * limit
    assert 0 < refused < 0.03


def test_a_limit_that_rises_is_noticed_and_one_that_falls_is_kept_to() -> None:
    pace = Pace()
    pace.begin(50.0, 0.0)
    taking(50.0, pace, 60.0)
    taking(200.0, pace, 60.0, 60.0)
    assert pace.rate > 180
    taking(25.0, pace, 10.0, 120.0)
    assert pace.rate < 30


def test_refusals_of_what_was_sent_before_a_fall_do_not_lower_the_rate_again() -> None:
    pace = Pace()
    pace.begin(100.0, 10.0)
    pace.refused(now=10.5, sent=9.9, always=0.0)
    assert pace.rate == 100.0
    pace.refused(now=10.5, sent=10.4, always=0.0)
    lowered = pace.rate
    assert lowered < 100.0
    pace.refused(now=10.6, sent=10.4, always=0.0)
    assert pace.rate == lowered


def test_a_model_that_answers_nobody_does_not_stop_it() -> None:
    pace = Pace()
    pace.begin(100.0, 0.0)
    for second in range(1, 100):
        pace.refused(now=second, sent=second, always=0.0)
        pace.judged()
    assert pace.rate > 30


def test_refusals_that_come_at_any_load_leave_the_rate_where_it_is() -> None:
    pace = Pace()
    pace.begin(100.0, 0.0)
    for number in range(1, 5001):
        if number % 5:
            pace.accepted(0.2)
        else:
            pace.refused(now=number, sent=number, always=0.2)
    assert 50 < pace.rate < 1000


def test_engines_on_a_key_take_their_parts_of_its_rate() -> None:
    pace = Pace(part=0.25)
    pace.follow(40.0, 0.0)
    assert pace.wait(100.0) == 0.0
    assert pace.wait(100.0) == pytest.approx(0.1 - 0.05)


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace()
    assert (pace.found, pace.rate, pace.wait(0.0)) == (False, inf, 0.0)


def test_a_rate_that_limits_nothing_does_not_rise_for_ever() -> None:
    pace = Pace()
    pace.begin(50.0, 0.0)
    pace.judged(sent=30.0)
    for _ in range(1000):
        pace.accepted(0.0)
    assert pace.rate == 60.0
    pace.judged(sent=20.0)
    pace.accepted(0.0)
    assert pace.rate == 60.0, "it is not lowered either"
    pace.judged(sent=60.0)
    pace.accepted(0.0)
    assert pace.rate > 60.0

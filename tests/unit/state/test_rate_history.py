"""How fast a run went and what is left, from what was done when."""

from __future__ import annotations

import pytest

from evalbench.tui.state.rate_history import RateHistory


def steady(rate: float, seconds: int, begun: float = 1000.0) -> RateHistory:
    pace = RateHistory()
    for second in range(seconds + 1):
        pace.tell(begun + second, round(rate * second))
    return pace


def test_a_steady_run_has_an_even_history() -> None:
    assert steady(10, 30).history(60) == [10.0] * 30


def test_a_long_history_fits_into_few_columns_and_keeps_its_sum() -> None:
    pace = steady(4, 1000)
    history = pace.history(60)
    assert 30 <= len(history) <= 60
    assert history == pytest.approx([4.0] * len(history), rel=0.15)


def test_from_one_second_to_the_next_only_the_newest_changes() -> None:
    pace = RateHistory()
    done = 0
    for second in range(200):
        done += second % 7
        pace.tell(float(second), done)
    before = pace.history(60)
    pace.tell(200.0, done + 50)
    assert pace.history(60)[: len(before) - 1] == before[:-1]


def test_what_was_before_is_taken_from_the_journal() -> None:
    pace = RateHistory()
    pace.restore([(10, 20), (11, 40), (14, 20)], 2.0, 100)
    assert pace.history(5) == [10.0, 20.0, 0.0, 0.0, 10.0]
    pace.tell(31.0, 130)
    assert pace.history(20)[-1] == 30.0


def test_scores_that_are_taken_back_begin_it_anew() -> None:
    pace = steady(10, 30)
    pace.tell(1031.0, 5)
    assert pace.history(60) == []


def test_little_is_said_before_anything_moved() -> None:
    assert RateHistory().history(60) == []
    assert RateHistory().left(100, 0.0) is None
    assert steady(10, 30).left(0, 10.0) is None


def test_a_fresh_run_has_no_range() -> None:
    left = steady(10, 10).left(600, 10.0)
    assert left == (60.0, None, None)


def test_a_steady_run_has_a_narrow_range() -> None:
    left = steady(10, 120).left(600, 10.0)
    assert left is not None
    assert (left.seconds, left.low, left.high) == pytest.approx((60.0, 60.0, 60.0))


def test_an_outage_is_no_part_of_the_range() -> None:
    pace = steady(10, 120)
    for second in range(60):
        pace.tell(1121.0 + second, 1200, down=True)
    assert pace.left(600, 10.0) == (60.0, None, None)
    for second in range(40):
        pace.tell(1181.0 + second, 1200 + 10 * second)
    left = pace.left(600, 10.0)
    assert left is not None
    assert (left.low, left.high) == pytest.approx((60.0, 60.0), rel=0.06)


def test_the_range_spans_the_recent_best_and_worst() -> None:
    pace = RateHistory()
    done = 0
    for second in range(121):
        pace.tell(float(second), done)
        done += 20 if second // 30 % 2 else 5
    left = pace.left(1000, 12.5)
    assert left is not None
    assert left.low == pytest.approx(50, rel=0.1)
    assert left.high == pytest.approx(200, rel=0.1)


def test_a_run_that_stood_still_for_a_while_may_take_any_time() -> None:
    pace = steady(10, 40)
    for second in range(41, 121):
        pace.tell(1000.0 + second, 400)
    left = pace.left(100, 0.5)
    assert left is not None
    assert left.high is None


def test_a_very_long_run_is_told_by_fewer_points() -> None:
    history = steady(3, 5000).history(10_000)
    assert len(history) == 5000
    assert sum(history) == pytest.approx(15_000, rel=0.01)
    assert history[-1] == pytest.approx(3.0, rel=0.2)

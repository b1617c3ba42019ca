"""Rates pooled over samples of several answers: counts, intervals, bounds; and pass@k."""

from __future__ import annotations

from itertools import combinations

import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring.pooled import clustered_wilson, pooled
from evalbench.engine.scoring.statistics import pass_at_k, wilson
from evalbench.engine.scoring.tally import Metric, Tally


def _tally(*samples: tuple[int, int], failed: int = 0) -> Tally:
    tally = Tally()
    for right, answers in samples:
        tally.add({}, Outcome.OK, {"right": float(right), "answers": float(answers)})
    tally.add({}, Outcome.ERROR, {}, failed)
    return tally


def _rate(tally: Tally) -> Metric:
    return pooled(tally, lambda v: (v["right"], v["answers"]), "rate", "Rate", "Group")


def test_counts_are_added_and_rates_are_not_averaged() -> None:
    rate = _rate(_tally((1, 1), (0, 9)))
    assert (rate.value, rate.k, rate.n, rate.share) == (0.1, 1, 10, True)


def test_nothing_in_the_denominator_has_no_value() -> None:
    for tally in (_tally(), _tally((0, 0)), _tally(failed=3)):
        rate = _rate(tally)
        assert (rate.value, rate.low, rate.bound_low, rate.n) == (None, None, None, 0)


def test_single_answers_have_wilsons_interval() -> None:
    rate = _rate(_tally((1, 1), (0, 1), (1, 1), (0, 0)))
    assert (rate.low, rate.high) == wilson(2, 3)
    assert rate.interval == "Wilson 95 %"


def test_answers_that_are_all_alike_in_a_sample_count_once() -> None:
    # p = 1/2, v = 2/1 · (2.5² + 2.5²) / 10² = 1/4, so p(1-p)/v = 1 answer.
    rate = _rate(_tally((5, 5), (0, 5)))
    assert (rate.low, rate.high) == pytest.approx(wilson(0.5, 1))
    assert rate.interval == "clustered by sample, 95 %"


def test_samples_that_are_all_alike_lend_every_answer_its_weight() -> None:
    assert clustered_wilson([(2, 4, 10)]) == pytest.approx(wilson(20, 40))


@pytest.mark.parametrize("right", [0, 5])
def test_where_nothing_varies_a_sample_counts_as_one_answer(right: int) -> None:
    assert clustered_wilson([(right, 5, 8)]) == pytest.approx(wilson(8 * right / 5, 8))


def test_one_sample_alone_counts_as_one_answer() -> None:
    assert clustered_wilson([(3, 5, 1)]) == pytest.approx(wilson(0.6, 1))


def test_failed_samples_open_the_bounds_as_wide_as_the_largest_sample() -> None:
    rate = _rate(_tally((1, 2), (2, 3), failed=1))
    assert (rate.value, rate.n) == (0.6, 5)
    assert (rate.bound_low, rate.bound_high) == (3 / 8, 6 / 8)


def test_with_epochs_the_interval_rests_on_the_means_of_samples() -> None:
    tally = _tally((1, 1), (0, 1), (1, 1), (1, 1))
    tally.epochs = 2
    assert _rate(tally).interval == ""
    tally.means = Tally()
    tally.means.add({}, Outcome.OK, {"right": 0.5, "answers": 1.0})
    tally.means.add({}, Outcome.OK, {"right": 1.0, "answers": 1.0})
    rate = _rate(tally)
    assert (rate.k, rate.n) == (3, 4)
    assert (rate.low, rate.high) == pytest.approx(clustered_wilson([(0.5, 1, 1), (1, 1, 1)]))


@pytest.mark.parametrize(("n", "c"), [(1, 0), (1, 1), (5, 2), (6, 6), (7, 0), (8, 3)])
def test_pass_at_k_is_the_share_of_choices_with_a_right_answer(n: int, c: int) -> None:
    answers = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        choices = [any(choice) for choice in combinations(answers, k)]
        assert pass_at_k(n, c, k) == pytest.approx(sum(choices) / len(choices))

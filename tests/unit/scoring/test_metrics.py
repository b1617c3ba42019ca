"""Metrics: what is in a numerator, what in a denominator, and what failures do."""

from __future__ import annotations

import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring import metrics
from evalbench.engine.scoring.statistics import mean_interval, wilson
from evalbench.engine.scoring.tally import Metric, Tally


@pytest.fixture
def tally() -> Tally:
    """8 right of 10 in anatomy; 1 of 2 in virology with one unread; one failed in each of two."""
    counts = Tally()
    counts.add({"subject": "anatomy"}, Outcome.OK, {"right": 1.0}, 8)
    counts.add({"subject": "anatomy"}, Outcome.OK, {"right": 0.0}, 1)
    counts.add({"subject": "anatomy"}, Outcome.REFUSED, {"right": 0.0}, 1)
    counts.add({"subject": "virology"}, Outcome.OK, {"right": 1.0}, 1)
    counts.add({"subject": "virology"}, Outcome.UNPARSED, {"right": 0.0}, 1)
    counts.add({"subject": "virology"}, Outcome.ERROR, {}, 2)
    counts.add({"subject": "sociology"}, Outcome.ERROR, {}, 1)
    return counts


def test_rate_counts_unread_and_refused_and_leaves_failures_out(tally: Tally) -> None:
    metric = metrics.rate(tally, "right", "accuracy", "Accuracy", "main")
    assert (metric.k, metric.n, metric.value) == (9, 12, 0.75)
    assert (metric.low, metric.high) == wilson(9, 12)
    assert (metric.bound_low, metric.bound_high) == (9 / 15, 12 / 15)
    assert (metric.name, metric.title, metric.group) == ("accuracy", "Accuracy", "main")
    assert metric.interval == metrics.WILSON


def test_bounds_equal_the_value_when_nothing_failed() -> None:
    counts = Tally()
    counts.add({}, Outcome.OK, {"right": 1.0}, 3)
    metric = metrics.rate(counts, "right", "accuracy")
    assert metric.value == metric.bound_low == metric.bound_high == 1.0


def test_nothing_scored_has_no_value() -> None:
    counts = Tally()
    assert metrics.rate(counts, "right", "accuracy").value is None
    assert metrics.macro(counts, "right", "subject", "macro").bound_low is None
    counts.add({"subject": "anatomy"}, Outcome.ERROR, {}, 2)
    for metric in (
        metrics.rate(counts, "right", "accuracy"),
        metrics.macro(counts, "right", "subject", "macro"),
    ):
        assert (metric.value, metric.low, metric.n, metric.interval) == (None, None, 0, "")
        assert (metric.bound_low, metric.bound_high) == (0.0, 1.0)


def test_macro_is_the_plain_mean_of_groups(tally: Tally) -> None:
    metric = metrics.macro(tally, "right", "subject", "accuracy_macro")
    assert metric.value == pytest.approx((0.8 + 0.5) / 2)
    assert metric.k == pytest.approx(1.3)
    assert metric.n == 2
    assert metric.bound_low == pytest.approx((0.8 + 1 / 4 + 0) / 3)
    assert metric.bound_high == pytest.approx((0.8 + 3 / 4 + 1) / 3)
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low < 0.65 < metric.high


def test_share_of_an_outcome(tally: Tally) -> None:
    metric = metrics.share(tally, (Outcome.UNPARSED, Outcome.REFUSED), "unread")
    assert (metric.k, metric.n) == (2, 12)
    assert metric.bound_high == 5 / 15


def test_rate_among_read_answers_keeps_the_failures_for_its_bounds(tally: Tally) -> None:
    metric = metrics.rate(metrics.scored_ok(tally), "right", "accuracy_parsed")
    assert (metric.k, metric.n) == (9, 10)
    assert metric.bound_high == 12 / 13


def test_table_has_one_row_a_group(tally: Tally) -> None:
    rows = metrics.table(
        tally, "subject", "accuracy", lambda part, name, tag: metrics.rate(part, "right", name, tag)
    )
    assert [(row.name, row.title, row.k, row.n) for row in rows] == [
        ("accuracy/subject=anatomy", "anatomy", 8, 10),
        ("accuracy/subject=sociology", "sociology", 0, 0),
        ("accuracy/subject=virology", "virology", 1, 2),
    ]


def test_mean_of_ratings() -> None:
    counts = Tally()
    for rating in (2.0, 4.0, 9.0):
        counts.add({}, Outcome.OK, {"rating": rating})
    plain = metrics.mean(counts, "rating", "rating")
    assert (plain.value, plain.n, plain.k) == (5.0, 3, 15.0)
    assert (plain.low, plain.high) == mean_interval(3, 15.0, 101.0)
    assert (plain.bound_low, plain.bound_high) == (5.0, 5.0)
    counts.add({}, Outcome.ERROR, {}, 1)
    unbounded = metrics.mean(counts, "rating", "rating")
    assert (unbounded.value, unbounded.bound_low, unbounded.bound_high) == (5.0, None, None)
    bounded = metrics.mean(counts, "rating", "rating", scale=(1, 10))
    assert (bounded.bound_low, bounded.bound_high) == (16 / 4, 25 / 4)


def test_equal_means_have_no_interval_but_at_an_end_of_the_scale() -> None:
    """Two questions that both average 7 do not show that every question would."""
    for sums in ([(14.0, 2, 1), (14.0, 2, 1)], [(7.0, 1, 1), (21.0, 3, 4)]):
        pooled = metrics.pooled_mean(sums, 0, (1, 10), "rating", "rating")
        assert (pooled.value, pooled.low, pooled.high, pooled.interval) == (7.0, None, None, "")
    best = metrics.pooled_mean([(20.0, 2, 8)], 0, (1, 10), "rating", "rating")
    low, high = wilson(8, 8)
    assert (best.low, best.high) == pytest.approx((1 + 9 * low, 1 + 9 * high))
    counts = Tally()
    for _ in range(8):
        counts.add({}, Outcome.OK, {"rating": 7.0, "top": 10.0})
    even = metrics.mean(counts, "rating", "rating", scale=(1, 10))
    assert (even.value, even.low, even.high, even.interval) == (7.0, None, None, "")
    top = metrics.mean(counts, "top", "top", scale=(1, 10))
    assert (top.low, top.high) == (best.low, best.high)


def test_right_in_every_epoch_is_as_uncertain_as_right_once() -> None:
    tally = Tally(epochs=2, means=Tally())
    for _ in range(5):
        scores = [(Outcome.OK, {"right": 1.0})] * 2
        for outcome, values in scores:
            tally.add({}, outcome, values)
        assert tally.means is not None
        tally.means.add_sample({}, scores)
    metric = metrics.rate(tally, "right", "accuracy")
    assert (metric.low, metric.high) == wilson(5, 5)


def _asked_twice() -> Tally:
    """Three samples in two epochs: right twice, right once, wrong and failed."""
    tally = Tally(epochs=2, means=Tally())
    for name, scores in {
        "a": [(Outcome.OK, {"right": 1.0}), (Outcome.OK, {"right": 1.0})],
        "b": [(Outcome.OK, {"right": 1.0}), (Outcome.OK, {"right": 0.0})],
        "c": [(Outcome.OK, {"right": 0.0}), (Outcome.ERROR, {})],
    }.items():
        tags = {"subject": name}
        for outcome, values in scores:
            tally.add(tags, outcome, values)
        assert tally.means is not None
        tally.means.add_sample(tags, scores)
    return tally


def test_epochs_count_answers_but_the_interval_rests_on_samples() -> None:
    metric = metrics.rate(_asked_twice(), "right", "accuracy")
    assert (metric.k, metric.n) == (3, 5)
    assert metric.interval == metrics.CLUSTERED
    # Three samples say little: the normal interval goes beyond what a share can be.
    low, high = mean_interval(3, 1.5, 1.25) or (0.0, 0.0)
    assert low < 0 < 1 < high
    assert (metric.low, metric.high) == (0.0, 1.0)


def test_repeating_equal_answers_does_not_narrow_the_interval() -> None:
    def asked(epochs: int) -> Metric:
        tally = Tally(epochs=epochs, means=Tally())
        for number in range(10):
            score = (Outcome.OK, {"right": float(number < 7)})
            tally.add({}, *score, epochs)
            assert tally.means is not None
            tally.means.add_sample({}, [score] * epochs)
        return metrics.rate(tally, "right", "accuracy")

    assert (asked(2).low, asked(2).high) == (asked(9).low, asked(9).high)


def test_macro_over_epochs_weighs_samples() -> None:
    metric = metrics.macro(_asked_twice(), "right", "subject", "macro")
    assert metric.value == pytest.approx(0.5)
    assert (metric.bound_low, metric.bound_high) == pytest.approx((0.5, 0.5 + 1 / 6))


def test_a_share_of_answers_over_epochs_has_no_interval() -> None:
    metric = metrics.share(_asked_twice(), (Outcome.OK,), "read")
    assert (metric.value, metric.low, metric.interval) == (1.0, None, "")


def test_an_interval_of_a_share_stays_a_share() -> None:
    tally = Tally(epochs=2)
    tally.means = Tally()
    for value in (1.0, 1.0, 1.0, 0.5):
        scores = [(Outcome.OK, {"accuracy": 1.0}), (Outcome.OK, {"accuracy": 2 * value - 1})]
        tally.means.add_sample({}, scores)
        for outcome, values in scores:
            tally.add({}, outcome, values)
    metric = metrics.rate(tally, "accuracy", "accuracy")
    assert metric.value == 0.875
    assert metric.high == 1.0
    assert metric.low is not None
    assert 0.0 < metric.low < 0.875

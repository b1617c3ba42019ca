"""Intervals and estimators against published values and their own limits."""

from __future__ import annotations

import random
from math import sqrt

import pytest

from evalbench.engine.scoring.statistics import (
    Z95,
    equal_interval,
    mean_interval,
    mean_of_rates_interval,
    scaled_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_agrees_with_the_published_table(k: int, n: int, low: float, high: float) -> None:
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_is_symmetric_and_stays_inside() -> None:
    for n in range(1, 40):
        for k in range(n + 1):
            low, high = wilson(k, n)
            assert 0 <= low <= k / n <= high <= 1
            assert low < high
            assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low))


def test_mean_interval_is_the_normal_one() -> None:
    values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]  # mean 5, sample variance 32/7
    half = Z95 * sqrt(32 / 7 / 8)
    interval = mean_interval(8, sum(values), sum(v * v for v in values))
    assert interval == pytest.approx((5 - half, 5 + half))


def test_one_value_has_no_interval() -> None:
    assert mean_interval(1, 3.0, 9.0) is None


def test_equal_values_say_nothing_about_their_spread_in_spite_of_rounding() -> None:
    for n in (2, 3, 7, 1000):
        for value in (0.1, 7.3, 1e6, 0.0):
            values = [value] * n
            assert mean_interval(n, sum(values), sum(v * v for v in values)) is None


def test_equal_values_at_an_end_of_a_scale_are_like_right_answers() -> None:
    low, high = wilson(8, 8)
    assert equal_interval(10.0, 8, (1.0, 10.0)) == pytest.approx((1 + 9 * low, 1 + 9 * high))
    assert equal_interval(0.0, 8, (0.0, 1.0)) == pytest.approx(wilson(0, 8))
    assert equal_interval(7.0, 8, (1.0, 10.0)) is None


def test_mean_of_one_rate_is_its_wilson_interval() -> None:
    assert mean_of_rates_interval([(7, 20)]) == pytest.approx(wilson(7, 20))


def test_mean_of_large_groups_is_the_delta_method() -> None:
    groups = [(300_000, 1_000_000), (450_000, 500_000)]
    variance = sum(k / n * (1 - k / n) / n for k, n in groups) / 4
    half = Z95 * sqrt(variance)
    assert mean_of_rates_interval(groups) == pytest.approx((0.6 - half, 0.6 + half), abs=1e-6)


def test_mean_of_perfect_small_groups_keeps_its_uncertainty() -> None:
    low, high = mean_of_rates_interval([(1, 1), (1, 1)])
    assert high == 1
    assert low < 0.5


def test_mean_of_rates_covers_about_95_percent() -> None:
    rng = random.Random(7)
    truth = [0.1, 0.5, 0.9, 0.7]
    mean = sum(truth) / len(truth)
    hits = 0
    for _ in range(2000):
        groups = [(sum(rng.random() < p for _ in range(30)), 30) for p in truth]
        low, high = mean_of_rates_interval(groups)
        hits += low <= mean <= high
    assert 0.93 <= hits / 2000 <= 0.98


@pytest.mark.parametrize("scale", [(1.0, 10.0), (0.0, 1.0)])
def test_an_interval_on_a_scale_never_leaves_it(scale: tuple[float, float]) -> None:
    low, high = scale
    width = high - low
    for place in (0.001, 0.3, 0.5, 0.97):
        for error in (0.001, 0.05, 0.4, 3.0):
            value = low + place * width
            found = scaled_interval(value, (error * width) ** 2, scale)
            assert found is not None
            assert low <= found[0] <= value <= found[1] <= high
    # In the middle and with a small error it is the normal one.
    value, error = low + width / 2, width / 200
    found = scaled_interval(value, error * error, scale)
    assert found == pytest.approx((value - Z95 * error, value + Z95 * error), rel=1e-3)
    assert scaled_interval(high + width, 1.0, scale) is None

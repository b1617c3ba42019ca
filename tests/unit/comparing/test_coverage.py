"""Of 10,000 simulated pairs of runs, 94 to 96 % of the intervals hold the true difference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from evalbench.engine.compare.bootstrap import bootstrap
from evalbench.engine.compare.significance import cluster_sums, clustered_t, paired_t, tango

PAIRS = 10_000


def covered(intervals: list[Any], truth: float) -> float:
    """The share of intervals that hold the truth."""
    return sum(low <= truth <= high for low, high in intervals) / len(intervals)


@pytest.mark.parametrize(
    ("n", "chances"),
    [
        (100, (0.6, 0.1, 0.1, 0.2)),
        (200, (0.6, 0.15, 0.05, 0.2)),
        (500, (0.85, 0.03, 0.02, 0.1)),
        (14_042, (0.5, 0.2, 0.1, 0.2)),
    ],
)
def test_of_right_or_wrong_scores(n: int, chances: tuple[float, ...]) -> None:
    """``chances`` are of both right, only the second, only the first, and neither."""
    draws = np.random.default_rng(20_261_128).multinomial(n, chances, size=PAIRS)
    between = cache(tango)
    intervals = [between(int(first), int(second), n) for _, second, first, _ in draws]
    assert 0.94 <= covered(intervals, chances[1] - chances[2]) <= 0.96


def test_of_means_over_epochs() -> None:
    """Three answers to each of 150 questions, some of which are harder than others."""
    draw = np.random.default_rng(20_261_128)
    ease = draw.beta(2, 1, size=(PAIRS, 150))
    first: Any = draw.binomial(3, ease) / 3
    second: Any = draw.binomial(3, 0.9 * ease) / 3
    intervals = [(found.low, found.high) for gaps in second - first for found in [paired_t(gaps)]]
    assert 0.94 <= covered(intervals, -0.1 * 2 / 3) <= 0.96


def test_of_clustered_samples() -> None:
    """40 subjects of unlike size, each with a difference of its own around the true one."""
    draw = np.random.default_rng(20_261_128)
    clusters: Any = np.repeat(np.arange(40), np.arange(10, 50))
    own = draw.normal(0.1, 0.15, size=(2_000, 40))
    intervals = []
    for shifts in own:
        gaps = shifts[clusters] + draw.normal(0, 0.5, len(clusters))
        found = clustered_t(*cluster_sums(gaps, clusters))
        intervals.append((found.low, found.high))
    assert 0.935 <= covered(intervals, 0.1) <= 0.965


@pytest.mark.slow
def test_of_judges_ratings_by_the_bootstrap() -> None:
    """Ratings from 1 to 10 of 160 samples, skewed towards high ones."""
    draw = np.random.default_rng(20_261_128)
    steps = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0])
    chances = np.array([0.03, 0.07, 0.15, 0.45, 0.2, 0.1])
    draws = draw.multinomial(160, chances / chances.sum(), size=PAIRS)
    truth = float(steps @ chances / chances.sum())
    intervals = []
    for seed, counts in enumerate(draws):
        gaps: Any = np.repeat(steps, counts)
        found = bootstrap(gaps, np.ones(160), resamples=999, seed=seed)
        intervals.append(found)
    assert 0.94 <= covered(intervals, truth) <= 0.96

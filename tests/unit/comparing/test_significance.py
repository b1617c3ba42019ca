"""Statistics of paired scores against statsmodels, SciPy and published figures.

Both are imported by the tests that need them: it takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evalbench.engine.compare.bootstrap import bootstrap
from evalbench.engine.compare.significance import (
    Mean,
    benjamini_hochberg,
    cluster_sums,
    clustered_t,
    detectable,
    holm,
    mcnemar,
    paired_t,
    tango,
    wilcoxon,
)
from evalbench.engine.scoring.statistics import Z95

TABLES = [(7, 1, 21), (6, 16, 161), (0, 5, 40), (834, 1158, 14_004), (3, 3, 20)]
"""Only the first right, only the second right, all pairs."""


def ratings(seed: int = 3, n: int = 120) -> Any:
    """Differences of two judges' ratings, many of them equal."""
    draw = np.random.default_rng(seed)
    return np.round(draw.normal(0.4, 1.6, n))


def test_tango_is_what_was_published() -> None:
    # Airway responses of Bentur et al. (2009) in Fagerland, Lydersen and Laake (2014).
    low, high = tango(7, 1, 21)
    assert (round(low, 3), round(high, 3)) == (-0.517, -0.026)


@pytest.mark.parametrize(("first", "second", "n"), TABLES)
def test_at_tangos_limits_the_score_statistic_is_at_its_quantile(
    first: int, second: int, n: int
) -> None:
    """The nuisance chance is found by maximising the likelihood, not by Tango's formula."""
    from scipy import optimize

    def score(d: float) -> float:
        def unlikely(q: float) -> float:
            chances = [(q + d, second), (q, first), (1 - 2 * q - d, n - first - second)]
            return -sum(k * np.log(max(p, 1e-300)) for p, k in chances)

        ends = max(0.0, -d) + 1e-12, (1 - d) / 2 - 1e-12
        q = optimize.minimize_scalar(
            unlikely, bounds=ends, method="bounded", options={"xatol": 1e-12}
        ).x
        return float((second - first - n * d) / np.sqrt(n * (2 * q + d - d * d)))

    low, high = tango(first, second, n)
    assert score(low) == pytest.approx(Z95, abs=2e-3)
    assert score(high) == pytest.approx(-Z95, abs=2e-3)


def test_tango_keeps_a_width_where_nothing_differs() -> None:
    low, high = tango(0, 0, 100)
    assert low == pytest.approx(-high)
    # Both limits are where n·d² = Z95²·(d - d²).
    assert high == pytest.approx(Z95**2 / (100 + Z95**2), abs=1e-9)
    assert tango(0, 30, 30)[1] == pytest.approx(1.0)
    assert tango(30, 0, 30)[0] == pytest.approx(-1.0)


@pytest.mark.parametrize(("first", "second", "n"), TABLES)
def test_tango_of_exchanged_runs_is_the_mirror_image(first: int, second: int, n: int) -> None:
    low, high = tango(first, second, n)
    assert tango(second, first, n) == pytest.approx((-high, -low), abs=1e-12)


@pytest.mark.parametrize(("first", "second", "n"), TABLES)
def test_mcnemar_is_that_of_statsmodels(first: int, second: int, n: int) -> None:
    table = [[n - first - second, first], [second, 0]]
    from statsmodels.stats import contingency_tables

    expected = contingency_tables.mcnemar(table, exact=True).pvalue
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_no_differing_pair_finds_nothing() -> None:
    assert mcnemar(0, 0) == 1.0


def test_paired_t_is_that_of_scipy() -> None:
    draw = np.random.default_rng(5)
    first = draw.uniform(0, 1, 60)
    second = first + draw.normal(0.05, 0.2, 60)
    from scipy import stats

    expected = stats.ttest_rel(second, first)
    found = paired_t(second - first)
    assert found.p == pytest.approx(expected.pvalue)
    between = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((between.low, between.high))


def test_clustered_t_is_the_cluster_robust_one_of_statsmodels() -> None:
    draw = np.random.default_rng(8)
    clusters = draw.integers(0, 17, 400)
    gaps = draw.choice([-1.0, 0.0, 1.0], 400, p=[0.1, 0.7, 0.2]) + draw.normal(0, 0.3, 17)[clusters]
    from statsmodels.regression.linear_model import OLS

    fit = OLS(gaps, np.ones(400)).fit(
        cov_type="cluster",
        cov_kwds={"groups": clusters, "use_correction": True, "df_correction": True},
        use_t=True,
    )
    found = clustered_t(*cluster_sums(gaps, clusters))
    assert found.p == pytest.approx(fit.pvalues[0])
    # OLS multiplies by (n - 1)/(n - k) too, which is 1 for a mean alone.
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))


def test_wilcoxon_of_darwins_plants() -> None:
    # The example in the documentation of SciPy, exact.
    gaps = np.array([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75], dtype=float)
    assert wilcoxon(gaps) == pytest.approx(0.041259765625)
    assert wilcoxon(np.zeros(9)) == 1.0


def test_the_detectable_difference_is_what_statsmodels_needs_for_80_percent_power() -> None:
    gaps = ratings()
    from statsmodels.stats.power import NormalIndPower

    effect = NormalIndPower(ddof=0).solve_power(
        nobs1=len(gaps), alpha=0.05, power=0.8, ratio=0, alternative="two-sided"
    )
    assert detectable(gaps) == pytest.approx(effect * np.std(gaps, ddof=1), rel=1e-4)
    assert detectable(np.zeros(50)) is None
    assert detectable(np.ones(1)) is None


P_VALUES = [0.001, 0.04, 0.03, 0.2, 0.04, 0.9, 0.0005, 1.0]


@pytest.mark.parametrize(
    ("ours", "theirs"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")], ids=["holm", "bh"]
)
def test_corrections_are_those_of_statsmodels(
    ours: Callable[[list[float]], list[float]], theirs: str
) -> None:
    from statsmodels.stats.multitest import multipletests

    assert ours(P_VALUES) == pytest.approx(list(multipletests(P_VALUES, method=theirs)[1]))
    assert ours([0.03]) == [0.03]
    assert ours([]) == []


def test_the_bootstrap_is_that_of_scipy() -> None:
    gaps = ratings()
    from scipy import stats

    expected = stats.bootstrap(
        (gaps,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    found = bootstrap(gaps, np.ones(len(gaps)), resamples=20_000)
    assert found == pytest.approx((expected.low, expected.high), abs=0.02)


def test_many_kinds_of_differences_are_drawn_as_few_are() -> None:
    draw = np.random.default_rng(4)
    gaps = draw.exponential(1, 3_000) - 0.8
    found = bootstrap(gaps, np.ones(3_000), resamples=4_000)
    mean, half = gaps.mean(), Z95 * gaps.std(ddof=1) / np.sqrt(3_000)
    assert found == pytest.approx((mean - half, mean + half), abs=0.15 * half)


def test_the_bootstrap_of_clusters_is_that_of_scipy() -> None:
    draw = np.random.default_rng(8)
    sizes = draw.integers(3, 40, 30).astype(float)
    sums = np.round(sizes * draw.normal(0.1, 0.15, 30), 1)
    from scipy import stats

    expected = stats.bootstrap(
        (sums, sizes),
        lambda a, b, axis: np.sum(a, axis=axis) / np.sum(b, axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method="BCa",
        rng=np.random.default_rng(2),
    ).confidence_interval
    found = bootstrap(sums, sizes, resamples=20_000)
    assert found == pytest.approx((expected.low, expected.high), abs=0.004)


def test_the_bootstrap_says_nothing_where_no_draw_can_differ() -> None:
    assert bootstrap(np.zeros(40), np.ones(40)) is None
    assert bootstrap(np.ones(1), np.ones(1)) is None


def test_equal_differences_leave_nothing_to_go_by() -> None:
    assert paired_t(np.full(10, 0.1)) == Mean(None, None, None)
    assert paired_t(np.zeros(10)) == Mean(None, None, 1.0)
    assert paired_t(np.ones(1)) == Mean(None, None, None)
    assert clustered_t(np.full(5, 3.0), np.full(5, 10.0)) == Mean(None, None, None)
    assert clustered_t(np.ones(1), np.ones(1)) == Mean(None, None, None)

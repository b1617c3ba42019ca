"""Differences between two sets of scores of the same samples: size, significance, corrections.

Every interval is two-sided at 95 %, every p-value two-sided. A difference is always the second
minus the first. P-values of several comparisons are corrected, as some are small by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from evalbench.engine.scoring.statistics import Z95, Interval

Array = Any
"""A NumPy array of numbers."""

Z80 = 0.8416212335729143
"""The 80 % quantile of the standard normal distribution."""

TANGO = "paired score interval (Tango), 95 %"
PAIRED_T = "paired t, 95 %"
MCNEMAR = "McNemar's exact test"
T_TEST = "paired t-test"
WILCOXON = "Wilcoxon's signed-rank test"


def tango(first_only: int, second_only: int, n: int) -> Interval:
    """Score interval of the difference of two paired proportions.

    With b pairs in which only the second is right and c in which only the first
    is, the limits are the differences D at which the score statistic
    ``(b - c - n·D) / sqrt(n·(2q + D·(1 - D)))`` is ±Z95. There q is the chance of
    the c kind under D, the larger root of
    ``2n·q² + ((2n - b + c)·D - b - c)·q - c·D·(1 - D) = 0``. Unlike the normal
    interval it keeps a width at b = c = 0, and it covers well from some twenty
    pairs on.

    Source: T. Tango, "Equivalence test and confidence interval for the difference
    in proportions for the paired-sample design", Statistics in Medicine 17 (1998)
    891-908; recommended by M. Fagerland, S. Lydersen and P. Laake, Statistics in
    Medicine 33 (2014) 2850-2875.

    Args:
        first_only: pairs in which only the first is right.
        second_only: pairs in which only the second is right.
        n: all pairs, at least 1.
    """
    b, c = second_only, first_only
    found = (b - c) / n

    def score(d: float) -> float:
        linear = -b - c + (2 * n - b + c) * d
        root = sqrt(max(0.0, linear * linear + 8 * n * c * d * (1 - d)))
        q = (root - linear) / (4 * n)
        variance = n * (2 * q + d * (1 - d))
        gap = b - c - n * d
        if variance <= 0:
            return 0.0 if gap == 0 else float("inf") if gap > 0 else float("-inf")
        return float(gap / sqrt(variance))

    # The statistic falls as d rises, so both limits are found by bisection.
    return _where(score, Z95, -1.0, found), _where(score, -Z95, found, 1.0)


def _where(score: Any, target: float, low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        if score(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mcnemar(first_only: int, second_only: int) -> float:
    """McNemar's exact p-value: of the pairs that differ, is either kind more frequent?

    ``min(1, 2·P(X ≤ min(b, c)))`` with X binomial of b + c trials and chance ½.

    Source: Q. McNemar, Psychometrika 12 (1947) 153-157; the exact form:
    A. Agresti, "Categorical Data Analysis", 3rd edition, section 11.1.
    """
    from scipy.special import bdtr

    differing = first_only + second_only
    if not differing:
        return 1.0
    return min(1.0, float(2 * bdtr(min(first_only, second_only), differing, 0.5)))


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean difference with its interval and p-value; None if they cannot be determined."""

    low: float | None
    high: float | None
    p: float | None


def paired_t(differences: Array) -> Mean:
    """Mean of the differences with Student's t: ``mean ± t(n-1)·s/sqrt(n)``.

    Source: Student, Biometrika 6 (1908) 1-25; for evaluations of language models
    as the paired analysis of E. Miller, "Adding error bars to evals", arXiv
    2411.00640, section 4.2.
    """
    import numpy as np

    n = len(differences)
    if n < 2:
        return Mean(None, None, None)
    return _by_t(float(np.mean(differences)), float(np.std(differences, ddof=1)) / sqrt(n), n - 1)


def clustered_t(sums: Array, sizes: Array) -> Mean:
    """Mean of the differences when samples within a cluster are similar.

    With G clusters of n_g samples, n in all, differences d and their mean m, the
    standard error is ``sqrt(G/(G-1) · Σ_g (Σ_i∈g (d_i - m))²) / n``; t has G - 1
    degrees of freedom.

    Source: K.-Y. Liang and S. Zeger, Biometrika 73 (1986) 13-22, with the small
    sample factor of A. C. Cameron and D. Miller, Journal of Human Resources 50
    (2015) 317-372; for evaluations: E. Miller, arXiv 2411.00640, section 2.2.

    Args:
        sums: the sum of the differences for every cluster.
        sizes: the number of samples in each.
    """
    import numpy as np

    groups = len(sums)
    if groups < 2:
        return Mean(None, None, None)
    n = float(np.sum(sizes))
    mean = float(np.sum(sums)) / n
    spread = float(np.sum((sums - mean * sizes) ** 2))
    return _by_t(mean, sqrt(groups / (groups - 1) * spread) / n, groups - 1)


def _by_t(mean: float, error: float, freedom: int) -> Mean:
    from scipy.special import stdtr, stdtrit

    # Equal differences leave a rounding error, which is not a meaningful spread.
    if error <= 1e-12 * max(1.0, abs(mean)):
        return Mean(None, None, 1.0 if mean == 0 else None)
    half = float(stdtrit(freedom, 0.975)) * error
    return Mean(mean - half, mean + half, float(2 * stdtr(freedom, -abs(mean) / error)))


def wilcoxon(differences: Array) -> float:
    """Wilcoxon's signed-rank test by SciPy: are differences symmetric around zero?

    Samples without a difference are left out; the distribution is exact for few
    samples without ties, else normal with the correction for ties.

    Source: F. Wilcoxon, Biometrics Bulletin 1 (1945) 80-83.
    """
    import numpy as np

    if not np.any(differences):
        return 1.0
    from scipy.stats import wilcoxon as of_scipy

    result: Any = of_scipy(differences, zero_method="wilcox")
    return float(result.pvalue)


def detectable(differences: Array) -> float | None:
    """The smallest true difference that this many samples detect with 80 % power at 5 %.

    ``(Z95 + Z80)·s/sqrt(n)`` with the standard deviation s of the observed differences. None for
    fewer than two samples or if all differences are equal: then their spread is unknown.

    Source: E. Miller, arXiv 2411.00640, section 5, solved for the difference.
    """
    import numpy as np

    n = len(differences)
    spread = float(np.std(differences, ddof=1)) if n > 1 else 0.0
    return (Z95 + Z80) * spread / sqrt(n) if spread > 0 else None


def cluster_sums(differences: Array, clusters: Array) -> tuple[Array, Array]:
    """Sum of the differences and number of samples for every cluster.

    Args:
        differences: one per sample.
        clusters: each sample's cluster number, from 0 without gaps.
    """
    import numpy as np

    return np.bincount(clusters, weights=differences), np.bincount(clusters).astype(float)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that the chance of any false finding stays at the level.

    The i-th smallest of m becomes ``max over j ≤ i of min(1, (m - j + 1)·p_(j))``.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(_ascending(p_values)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that the expected share of false findings stays at the level.

    The i-th smallest of m becomes ``min over j ≥ i of min(1, m·p_(j)/j)``.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate",
    Journal of the Royal Statistical Society B 57 (1995) 289-300.
    """
    adjusted = [0.0] * len(p_values)
    most = 1.0
    for rank, place in reversed(list(enumerate(_ascending(p_values), 1))):
        most = min(most, len(p_values) * p_values[place] / rank)
        adjusted[place] = most
    return adjusted


def _ascending(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)

"""Intervals and estimators, in plain Python. Every interval is two-sided at 95 %."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt

Interval = tuple[float, float]

Z95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

ROUNDING = 1e-12
"""Variances below this fraction of the mean square are rounding errors."""


def wilson(k: float, n: float) -> Interval:
    """Wilson score interval of a proportion.

    With p = k/n and z = Z95 the limits are
    ``(p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)``.
    They stay inside [0, 1] and have a width at p = 0 and p = 1, where the normal one shrinks to
    nothing.

    Source: E. B. Wilson, "Probable inference, the law of succession, and
    statistical inference", JASA 22 (1927) 209-212; recommended for small n by
    Brown, Cai and DasGupta, Statistical Science 16 (2001) 101-133.

    Args:
        k: successes, 0 ≤ k ≤ n.
        n: trials, above 0; not an integer for correlated answers.
    """
    p = k / n
    z2 = Z95 * Z95
    centre = p + z2 / (2 * n)
    spread = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    scale = 1 + z2 / n
    low = 0.0 if k <= 0 else (centre - spread) / scale
    high = 1.0 if k >= n else (centre + spread) / scale
    return low, high


def mean_interval(n: int, total: float, squares: float) -> Interval | None:
    """Normal interval of a mean from n, the sum and the sum of squares.

    ``mean ± Z95·s/sqrt(n)`` with the sample variance
    ``s² = (squares - total²/n) / (n - 1)`` (central limit theorem).

    Returns:
        None for n < 2 and for equal values: they say nothing about the spread.
    """
    if n < 2:
        return None
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    # Rounding can leave a tiny number, even a negative one, if all values are equal.
    if variance <= ROUNDING * squares / n:
        return None
    half = Z95 * sqrt(variance / n)
    return mean - half, mean + half


def equal_interval(value: float, n: float, scale: Interval) -> Interval | None:
    """Interval of a mean of ``n`` equal values on a bounded scale.

    At an end of the scale it is Wilson's for ``n`` of ``n``: single values further inside are
    possible, but rare. Elsewhere the values say nothing about their spread.

    Returns:
        None where nothing is known.
    """
    low, high = scale
    if value not in scale or n < 1:
        return None
    below, above = wilson(n if value == high else 0, n)
    return low + (high - low) * below, low + (high - low) * above


def scaled_interval(value: float, variance: float, scale: Interval) -> Interval | None:
    """Wilson score interval of a mean on a bounded scale: it never leaves the scale.

    The mean is treated as a proportion of the scale, ``p = (value - low)/(high - low)``, based on
    ``n = p(1-p)/v`` trials, where v is the variance of the estimate on that scale: as many as would
    give a proportion this variance. If v is small that is the normal interval; near an end of the
    scale it is shorter on that side.

    Sources: E. B. Wilson (see :func:`wilson`) for the interval; N. Dean and M. Pagano,
    Journal of Survey Statistics and Methodology 3 (2015) 484-503, for its use with an
    effective number of trials.

    Args:
        value: the mean.
        variance: of the mean, not of single values; above 0.
        scale: the lowest and the highest possible value.

    Returns:
        None if the mean is not inside the scale.
    """
    low, high = scale
    width = high - low
    p = (value - low) / width
    if not 0 < p < 1:
        return None
    trials = p * (1 - p) / (variance / (width * width))
    below, above = wilson(p * trials, trials)
    return low + width * below, low + width * above


def mean_of_rates_interval(groups: Sequence[tuple[float, int]]) -> Interval:
    """Interval of the unweighted mean of independent proportions.

    Each group's distance from its rate to its own Wilson limits is carried over to the mean: with G
    groups, rates p and limits l, u the result is ``mean(p) - sqrt(Σ(p-l)²)/G`` to
    ``mean(p) + sqrt(Σ(u-p)²)/G``. For large groups it is the delta method, ``sqrt(Σ p(1-p)/n)/G``;
    unlike it, small groups and those with rates of 0 or 1 keep their uncertainty, and the limits
    stay inside [0, 1].

    Source: G. Y. Zou and A. Donner, "Construction of confidence limits about
    effect measures: a general approach", Statistics in Medicine 27 (2008)
    1693-1702 (method of variance estimates recovery).

    Args:
        groups: (k, n) for every group, n at least 1; at least one group.
    """
    down = up = total = 0.0
    for k, n in groups:
        p = k / n
        low, high = wilson(k, n)
        total += p
        down += (p - low) ** 2
        up += (high - p) ** 2
    count = len(groups)
    mean = total / count
    return max(0.0, mean - sqrt(down) / count), min(1.0, mean + sqrt(up) / count)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate, from n answers, of the chance that at least one of k is right.

    ``1 - C(n-c, k) / C(n, k)``: the share of all choices of k among the n answers that contain a
    right one. The tempting ``1 - (1 - c/n)^k`` is too low.

    Source: M. Chen et al., "Evaluating Large Language Models Trained on Code",
    arXiv 2107.03374 (2021), equation 1.

    Args:
        n: number of answers.
        c: number of right answers.
        k: from 1 to n.
    """
    return 1 - comb(n - c, k) / comb(n, k)

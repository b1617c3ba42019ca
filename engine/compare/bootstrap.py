"""The paired bootstrap of a mean difference, over samples or over clusters of them."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

from evalbench.engine.scoring.statistics import Z95, Interval

Array = Any
"""A NumPy array of numbers."""

RESAMPLES = 9_999
SEED = 0

_DEAR = 20
"""Drawing a count of identical units takes about this many times as long as drawing one unit."""

_AT_A_TIME = 4_000_000
"""Numbers drawn at once: some tens of megabytes."""


def bootstrap(
    sums: Array, sizes: Array, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """BCa interval of ``Σ sums / Σ sizes``; samples or clusters are drawn with replacement.

    A pair is drawn as a whole, so what the two runs have in common is preserved. The interval is
    corrected for bias and skewness: with the normal distribution Φ, z0 = Φ⁻¹ of the share of
    resampled means below the observed one (ties count half) and the acceleration a of the
    jackknife, its limits are the quantiles ``Φ(z0 + (z0 ± Z95)/(1 - a·(z0 ± Z95)))`` of the
    resampled means.

    Source: B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987)
    171-185, in the form of B. Efron and R. Tibshirani, "An Introduction to the
    Bootstrap" (1993), section 14.3, as in SciPy's ``bootstrap``. For clusters:
    A. Davison and D. Hinkley, "Bootstrap Methods and their Application" (1997),
    section 3.8.

    Args:
        sums: the difference for every sample, or the sum of differences for every cluster.
        sizes: 1 for every sample, or the number of samples for every cluster.
        resamples: number of resamples.
        seed: fixed, so that the same scores give the same interval.

    Returns:
        None for fewer than two units, or if all are equal: then all resamples are equal too.
    """
    import numpy as np

    if len(sums) < 2:
        return None
    drawn = np.sort(_resampled(sums, sizes, resamples, np.random.default_rng(seed)))
    if drawn[0] == drawn[-1]:
        return None
    found = float(np.sum(sums) / np.sum(sizes))
    # Resampled means that differ only by rounding count as equal.
    dust = 1e-12 * max(1.0, abs(found))
    below = np.searchsorted(drawn, found - dust) + np.searchsorted(drawn, found + dust)
    share = float(below) / (2 * resamples)
    if not 0 < share < 1:
        return None
    normal = NormalDist()
    z0, a = normal.inv_cdf(share), _acceleration(sums, sizes)
    ends = [normal.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in (-Z95, Z95)]
    low, high = np.quantile(drawn, ends)
    return float(low), float(high)


def _resampled(sums: Array, sizes: Array, resamples: int, draw: Any) -> Array:
    """Resampled means. Identical units are interchangeable: only their number is drawn."""
    import numpy as np

    units = len(sums)
    # As complex numbers, which sort many times faster than rows of two.
    both, counts = np.unique(sums + 1j * sizes, return_counts=True)
    kinds = np.stack([np.real(both), np.imag(both)], axis=1)
    totals = []
    if _DEAR * len(kinds) <= units:
        step = max(1, _AT_A_TIME // len(kinds))
        for begin in range(0, resamples, step):
            many = min(step, resamples - begin)
            totals.append(draw.multinomial(units, counts / units, size=many) @ kinds)
    else:
        step = max(1, _AT_A_TIME // units)
        for begin in range(0, resamples, step):
            many = min(step, resamples - begin)
            chosen = draw.integers(0, units, size=(many, units), dtype=np.int32)
            totals.append(np.stack([sums[chosen].sum(1), sizes[chosen].sum(1)], axis=1))
    drawn = np.concatenate(totals)
    return drawn[:, 0] / drawn[:, 1]


def _acceleration(sums: Array, sizes: Array) -> float:
    import numpy as np

    left_out = (np.sum(sums) - sums) / (np.sum(sizes) - sizes)
    off = np.mean(left_out) - left_out
    spread = float(np.sum(off**2))
    return float(np.sum(off**3)) / (6 * spread**1.5) if spread > 0 else 0.0

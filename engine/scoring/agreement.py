"""Agreement between judges, corrected for chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import fsum


def cohen_kappa(pairs: Sequence[tuple[float, float]], *, quadratic: bool = False) -> float | None:
    """Cohen's kappa of two raters.

    ``1 - Σ w·observed / Σ w·expected``, where ``w`` is 0 for equal ratings and
    1 for others, or with ``quadratic`` the squared distance of the two.

    Source: J. Cohen, Educational and Psychological Measurement 20 (1960)
    37-46; weights: Psychological Bulletin 70 (1968) 213-220.

    Args:
        pairs: the two ratings of every item.
        quadratic: weigh disagreements by the square of their size.

    Returns:
        None without items, or if both raters always gave the same single rating.
    """
    n = len(pairs)
    if not n:
        return None
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)

    def weight(a: float, b: float) -> float:
        return (a - b) ** 2 if quadratic else float(a != b)

    observed = sum(weight(a, b) for a, b in pairs) / n
    expected = sum(
        weight(a, b) * many * more for a, many in first.items() for b, more in second.items()
    ) / (n * n)
    return None if expected == 0 else 1 - observed / expected


def fleiss_kappa(items: Sequence[Sequence[Hashable]]) -> float | None:
    """Fleiss' kappa of several raters who all rated every item, on a nominal scale.

    Source: J. L. Fleiss, Psychological Bulletin 76 (1971) 378-382.

    Args:
        items: the ratings of each item; the same number for all.

    Returns:
        None for fewer than two raters or no items, or if only one rating was ever given.
    """
    raters = len(items[0]) if items else 0
    if raters < 2:
        return None
    totals: Counter[Hashable] = Counter()
    agreement = 0.0
    for item in items:
        counts = Counter(item)
        totals.update(counts)
        agreement += sum(c * (c - 1) for c in counts.values()) / (raters * (raters - 1))
    observed = agreement / len(items)
    expected = sum((c / (raters * len(items))) ** 2 for c in totals.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(items: Sequence[Sequence[float | None]]) -> float | None:
    """Krippendorff's alpha for ratings on an interval scale, of any number of raters.

    Raters may have missed items.

    ``1 - D_o / D_e``. With ``n_uc`` ratings of item ``u`` that are ``c``, ``m_u`` ratings of
    ``u``, ``n_c`` ratings that are ``c`` and ``n`` in all, over items of two ratings and more::

        D_o = 1/n · Σ_u Σ_ck n_uc · n_uk · (c - k)² / (m_u - 1)
        D_e = 1/n · Σ_ck n_c · n_k · (c - k)² / (n - 1)

    Source: K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C-F.

    Args:
        items: the ratings of each item, one place per rater.

    Returns:
        None if it is undefined: fewer than two items with two ratings, or only one rating.
    """
    rated = [[rating for rating in item if rating is not None] for item in items]
    paired = [ratings for ratings in rated if len(ratings) > 1]
    counts = Counter(rating for ratings in paired for rating in ratings)
    if len(paired) < 2 or len(counts) < 2:
        return None

    def disagreement(held: Counter[float]) -> float:
        # Exact, so that the order of ratings does not matter.
        return fsum(n * m * (c - k) ** 2 for c, n in held.items() for k, m in held.items())

    observed = sum(disagreement(Counter(ratings)) / (len(ratings) - 1) for ratings in paired)
    expected = disagreement(counts) / (counts.total() - 1)
    return None if expected == 0 else 1 - observed / expected

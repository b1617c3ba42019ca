"""How far judges agree, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

Level = Literal["nominal", "ordinal", "interval", "ratio"]


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
        None without items, or where both raters always gave one same rating.
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
        items: the ratings of each item; as many for one as for the other.

    Returns:
        None for fewer than two raters or no items, or where only one rating was ever given.
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


def krippendorff_alpha(
    items: Sequence[Sequence[float | None]], level: Level = "interval"
) -> float | None:
    """Krippendorff's alpha of any number of raters, who may have missed items.

    ``1 - D_o / D_e``. With ``n_uc`` ratings of item ``u`` that are ``c``, ``m_u`` ratings of
    ``u``, ``n_c`` ratings that are ``c`` and ``n`` in all, over items of two ratings and more::

        D_o = 1/n · Σ_u Σ_ck n_uc · n_uk · δ²(c, k) / (m_u - 1)
        D_e = 1/n · Σ_ck n_c · n_k · δ²(c, k) / (n - 1)

    ``δ²`` is 1 for different ratings (nominal), the square of their distance in ranks, ties at
    their middle (ordinal), ``(c - k)²`` (interval), or ``((c - k) / (c + k))²`` (ratio).

    Source: K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C-F.

    Args:
        items: the ratings of each item, one place for each rater.
        level: what differences between ratings mean.

    Returns:
        None where it is not defined: fewer than two items with two ratings, or one
        rating only.
    """
    rated = [[rating for rating in item if rating is not None] for item in items]
    paired = [ratings for ratings in rated if len(ratings) > 1]
    values = sorted({rating for ratings in paired for rating in ratings})
    if len(paired) < 2 or len(values) < 2:
        return None
    import numpy as np

    places = {value: place for place, value in enumerate(values)}
    by_item = np.zeros((len(paired), len(values)))
    for row, ratings in zip(by_item, paired, strict=True):
        for rating in ratings:
            row[places[rating]] += 1
    by_value = by_item.sum(axis=0)
    scale = np.array(values, dtype=float)
    if level == "ordinal":
        scale = by_value.cumsum() - by_value / 2
    delta = (scale[:, None] - scale) ** 2
    if level == "nominal":
        delta = (delta > 0).astype(float)
    elif level == "ratio":
        total = (scale[:, None] + scale) ** 2
        delta = np.divide(delta, total, out=np.zeros_like(delta), where=total != 0)
    apart = ((by_item @ delta) * by_item).sum(axis=1)
    observed = (apart / (by_item.sum(axis=1) - 1)).sum()
    expected = by_value @ delta @ by_value / (by_value.sum() - 1)
    return None if expected == 0 else float(1 - observed / expected)

"""How far judges agree, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

Level = Literal["nominal", "ordinal", "interval"]


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
    """Krippendorff's alpha by the package ``krippendorff``; raters may have missed items.

    Source: K. Krippendorff, "Content Analysis", 4th edition, chapter 12.

    Args:
        items: the ratings of each item, one place for each rater.
        level: what differences between ratings mean.

    Returns:
        None where it is not defined: fewer than two items with two ratings, or one
        rating only.
    """
    paired = [item for item in items if sum(rating is not None for rating in item) > 1]
    seen = {rating for item in paired for rating in item if rating is not None}
    if len(paired) < 2 or len(seen) < 2:
        return None
    import krippendorff
    import numpy

    data = numpy.array(
        [[numpy.nan if rating is None else rating for rating in item] for item in paired]
    )
    return float(krippendorff.alpha(reliability_data=data.T, level_of_measurement=level))

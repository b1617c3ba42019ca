"""P-value corrections for multiple comparisons, some of which are small by chance."""

from __future__ import annotations

from collections.abc import Sequence


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

"""Prices, and ranges of cost and tokens, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.tui.state import figures

Pair = Sequence[float] | None
"""A minimum and maximum; None: unknown."""


def total(pairs: Sequence[Pair]) -> Pair:
    """The sum of ranges; unknown if any of them is."""
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    return [sum(pair[0] for pair in known), sum(pair[1] for pair in known)]


def price_words(stored: Mapping[str, Any] | None) -> str:
    """Unit prices and their source, from their JSON form; says so if they are unknown."""
    if stored is None:
        return "unknown; give them with --price IN/OUT, in dollars per million tokens"
    prices = UnitPrices.from_json(stored)
    if prices.free:
        return f"free ({prices.source})"
    words = _rate_words(prices.rates)
    for start, rates in prices.above:
        words += f"; calls above {figures.count(start)} input tokens: {_rate_words(rates)}"
    source = ", ".join(filter(None, [prices.source, prices.model, prices.service_tier]))
    return f"{words} per million tokens ({source})" + (f", {prices.note}" if prices.note else "")


def _rate_words(rates: Rates) -> str:
    words = f"${rates.input:f} in, ${rates.output:f} out"
    if rates.cache_read is not None:
        words += f", ${rates.cache_read:f} cached"
    return words


def money_range(pair: Pair) -> str:
    """``$7.53–$22.05``, or ``unknown``."""
    if pair is None:
        return "unknown"
    low, high = (figures.dollars(end) for end in pair)
    return low if low == high else f"{low}–{high}"


def count_range(pair: Sequence[float]) -> str:
    """A minimum and maximum in whole numbers."""
    low, high = (figures.count(round(end)) for end in pair)
    return low if low == high else f"{low}–{high}"


def rough_range(pair: Sequence[float]) -> str:
    """``1.2–1.9 M``: a range, to the precision of an estimate."""
    scales = ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1, ""))
    size, unit = next((s for s in scales if pair[1] >= 10 * s[0]), scales[-1])
    low, high = (f"{end / size:,.0f}" for end in pair)
    return (low if low == high else f"{low}–{high}") + unit

"""What a run may cost, in words: prices, estimates, and the question before money is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from evalbench.engine.cost.unit_prices import Rates, UnitPrices
from evalbench.engine.errors import plural
from evalbench.engine.terminal_text import one_line
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
    if rates.audio is not None:
        words += f", ${rates.audio:f} sound"
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


ASK_FROM_USD = 1.0
"""A run that may cost more than this is started only after confirmation."""


def at_most(
    estimate: Mapping[str, Any], budget: Decimal | None = None, pilot: int | None = None
) -> Pair:
    """The possible spend of a run, limited by its budget and a pilot."""
    pair: Pair = estimate["realtime"]
    if pair is None:
        return None
    samples = estimate["samples"]
    share = min(1.0, pilot / samples) if pilot and samples else 1.0
    limit = float("inf") if budget is None else float(budget)
    return [min(end * share, limit) for end in pair]


def question(cost: Pair, pilot: int | None = None) -> str:
    """The question to ask; empty if the amount is too small."""
    if cost is None:
        return "" if pilot else "The cost is unknown. Start?"
    if cost[1] <= ASK_FROM_USD:
        return ""
    what = "The pilot" if pilot else "This"
    return f"{what} may cost up to {figures.dollars(cost[1])}. Start?"


Estimate = Mapping[str, Any]
"""An ``estimate`` line (docs/json-lines.md)."""


def estimate_lines(found: Estimate, hint: str = "") -> list[str]:
    """Size, tokens for each role, cost, and the source of prices.

    ``hint`` is what to do about an unknown cost.
    """
    lines = [_size(found)]
    several = len(found["roles"]) > 1
    for role in found["roles"]:
        named = f"{one_line(role['role'])}: " if several else ""
        cost = role["realtime"] if several and found["realtime"] is not None else None
        lines.append(named + _tokens(role) + (f" · {money_range(cost)}" if cost else ""))
    unknown = f" · {hint}" if hint and found["realtime"] is None else ""
    lines.append(_money(found) + unknown)
    for role in found["roles"]:
        if role["prices"] and not (found["realtime"] and not found["realtime"][1]):
            named = f"{one_line(role['role'])} " if several else ""
            lines.append(f"{named}price {_price(role)}")
        if role.get("batch_note"):
            lines.append(f"{one_line(role['model'])} in batches: {role['batch_note']}")
    if found["unfinished"]:
        lines.append(
            f"{figures.counted(found['unfinished'], 'sample')} may take more calls than estimated"
        )
    return lines


def _price(role: Mapping[str, Any]) -> str:
    words = price_words(role["prices"])
    # The price table's name for the model is worth showing only if it differs.
    return words.replace(f", {role['model']}", "")


def _size(found: Estimate) -> str:
    words = f"{figures.counted(found['samples'], 'sample')}"
    if found["epochs"] > 1:
        words += f" × {found['epochs']} epochs"
    if found["counted"] < found["samples"]:
        words += f", estimated from {figures.count(found['counted'])}"
    return words


def _counted_range(found: Sequence[float], what: str) -> str:
    """``1 call``, ``10–12 calls``."""
    return f"{count_range(found)} {what if round(found[1]) == 1 else plural(what)}"


def _tokens(role: Mapping[str, Any]) -> str:
    parts = [
        _counted_range(role["calls"], "call"),
        f"{rough_range(role['input_tokens'])} tokens in",
        f"{rough_range(role['output_tokens'])} out",
    ]
    if role["images"][1]:
        parts.append(_counted_range(role["images"], "image"))
    if role["reused"][1]:
        parts.append(f"{count_range(role['reused'])} answered by earlier runs")
    return " · ".join(parts)


def _money(found: Estimate) -> str:
    now, batch = found["realtime"], found["batch"]
    if now is None:
        whose = [one_line(role["model"] or role["role"]) for role in found["roles"]]
        unknown = [
            name for name, role in zip(whose, found["roles"], strict=True) if not role["prices"]
        ]
        return f"cost unknown: no price of {', '.join(unknown)} is known"
    if not now[1]:
        return "cost nothing"
    words = f"cost {money_range(now)}"
    if batch not in (None, now):
        words += f" · {money_range(batch)} through a batch API"
    return words

"""What a run will take and cost, in words: estimates as the desk gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.money.unit_prices import Rates, UnitPrices
from evalbench.engine.settings import RunSpec
from evalbench.tui.cli import figures
from evalbench.tui.cli.clean import one_line
from evalbench.tui.cli.output import Out

Estimate = Mapping[str, Any]
"""As :func:`evalbench.engine.money.estimate.estimate_to_json` gives it."""

Pair = Sequence[float] | None
"""From the least to the most; None: unknown."""


def print_estimates(out: Out, specs: Sequence[RunSpec], estimates: Sequence[Estimate]) -> None:
    """Print the estimate of every run and, for several, their sum."""
    for spec, found in zip(specs, estimates, strict=True):
        _print_one(out, spec, found)
        out.line()
    if len(estimates) > 1:
        out.line(f"{len(estimates)} runs")
        _print_money(out, *(total([found[mode] for found in estimates]) for mode in _MODES))
        out.line()


_MODES = ("realtime", "batch")


def total(pairs: Sequence[Pair]) -> Pair:
    """The sum of ranges; unknown when one of them is."""
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return None
    return [sum(pair[0] for pair in known), sum(pair[1] for pair in known)]


def _print_one(out: Out, spec: RunSpec, found: Estimate) -> None:
    size = f"{figures.count(found['samples'])} samples"
    if found["epochs"] > 1:
        size += f" × {found['epochs']} epochs"
    if found["counted"] < found["samples"]:
        size += f", reckoned from {found['counted']} drawn at random"
    out.line(f"{spec.benchmark} × {one_line(spec.model)}: {size}")
    _print_roles(out, found["roles"])
    if found["unfinished"]:
        out.line(
            f"note      {found['unfinished']} samples could not be followed to their end"
            " with made-up replies; they may ask more"
        )
    for role in found["roles"]:
        named = f"{role['role']}: " if len(found["roles"]) > 1 else ""
        out.line(f"{'prices':<10}{named}{price_words(role['prices'])}")
    _print_money(out, found["realtime"], found["batch"])


def _print_roles(out: Out, roles: Sequence[Mapping[str, Any]]) -> None:
    from rich.text import Text

    from evalbench.tui.cli.table import plain_table, print_table

    images = any(role["images"][1] for role in roles)
    columns = ["role", "calls", "input tokens", "output tokens"]
    columns += ["images", "image tokens"] if images else []
    table = plain_table(*columns, right=frozenset(range(1, len(columns))))
    for role in roles:
        cells = [
            one_line(role["role"]),
            _counts(role["calls"]),
            rough_range(role["input_tokens"]),
            rough_range(role["output_tokens"]),
        ]
        if images:
            cells += [_counts(role["images"]), rough_range(role["image_tokens"])]
        table.add_row(*(Text(cell) for cell in cells))
    print_table(out, table)


def _print_money(out: Out, realtime: Pair, batch: Pair) -> None:
    if realtime is not None and not realtime[1]:
        out.line(f"{'cost':<10}nothing")
        return
    words = money_range(realtime)
    if batch != realtime:
        words += f" answered at once; {money_range(batch)} through the batch API"
    out.line(f"{'cost':<10}{words}")


def price_words(stored: Mapping[str, Any] | None) -> str:
    """Unit prices and their source, from their JSON form; plain words when they are unknown."""
    if stored is None:
        return "unknown; give them with --price IN/OUT, in dollars per million tokens"
    prices = UnitPrices.from_json(stored)
    if prices.free:
        return f"free ({prices.source})"
    words = _rate_words(prices.rates)
    for start, rates in prices.above:
        words += f"; calls above {figures.count(start)} input tokens: {_rate_words(rates)}"
    source = ", ".join(filter(None, [prices.source, prices.model, prices.service_tier]))
    return f"{words} a million tokens ({source})" + (f", {prices.note}" if prices.note else "")


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


def _counts(pair: Sequence[float]) -> str:
    low, high = (figures.count(round(end)) for end in pair)
    return low if low == high else f"{low}–{high}"


def rough_range(pair: Sequence[float]) -> str:
    """``1.2–1.9 M``: a range to the precision that an estimate has."""
    scales = ((1e9, " G"), (1e6, " M"), (1e3, " k"), (1, ""))
    size, unit = next((s for s in scales if pair[1] >= 10 * s[0]), scales[-1])
    low, high = (f"{end / size:,.0f}" for end in pair)
    return (low if low == high else f"{low}–{high}") + unit

"""When to ask before spending money: the rule of the command line and the app."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evalbench.tui.state import figures
from evalbench.tui.state.money_words import Pair

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

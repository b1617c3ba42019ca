"""A run's size and cost, in a few lines for a panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.terminal_text import one_line
from evalbench.tui.state import figures
from evalbench.tui.state.money_words import count_range, money_range, price_words, rough_range

Estimate = Mapping[str, Any]
"""An ``estimate`` line (docs/json-lines.md)."""


def estimate_lines(found: Estimate) -> list[str]:
    """Size, tokens for each role, cost, and the source of prices."""
    lines = [_size(found)]
    several = len(found["roles"]) > 1
    for role in found["roles"]:
        named = f"{one_line(role['role'])}: " if several else ""
        cost = role["realtime"] if several and found["realtime"] is not None else None
        lines.append(named + _tokens(role) + (f" · {money_range(cost)}" if cost else ""))
    lines.append(_money(found))
    for role in found["roles"]:
        if role["prices"] and not (found["realtime"] and not found["realtime"][1]):
            named = f"{one_line(role['role'])} " if several else ""
            lines.append(f"{named}price {_price(role)}")
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


def _tokens(role: Mapping[str, Any]) -> str:
    parts = [
        f"{count_range(role['calls'])} calls",
        f"{rough_range(role['input_tokens'])} tokens in",
        f"{rough_range(role['output_tokens'])} out",
    ]
    if role["images"][1]:
        parts.append(f"{count_range(role['images'])} images")
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
        return (
            f"cost unknown: no price of {', '.join(unknown)} is known;"
            " give it under price, as IN/OUT in dollars per million tokens"
        )
    if not now[1]:
        return "cost nothing"
    words = f"cost {money_range(now)}"
    if batch not in (None, now):
        words += f" · {money_range(batch)} through a batch API"
    return words

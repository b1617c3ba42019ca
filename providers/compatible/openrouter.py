"""Reading OpenRouter's model list: prices, and parameters that some route supports."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_RATES = (("prompt", "input"), ("completion", "output"), ("input_cache_read", "cache_read"))
_FREE = ("request", "image", "web_search", "internal_reasoning")
"""Charges that cannot be expressed as token prices."""


def rates_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """US dollars per million tokens; empty if there are other charges or no fixed price."""
    pricing = entry.get("pricing")
    if not isinstance(pricing, Mapping) or any(_number(pricing.get(name)) for name in _FREE):
        return {}
    rates = {
        ours: format(value.scaleb(6).normalize(), "f")
        for theirs, ours in _RATES
        if (value := _number(pricing.get(theirs))) is not None and value >= 0
    }
    return rates if {"input", "output"} <= rates.keys() else {}


def facts_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for :class:`~evalbench.providers.modelfacts.ModelFacts` from an entry."""
    known: dict[str, Any] = {}
    if isinstance(context := entry.get("context_length"), int) and context > 0:
        known["context_tokens"] = context
    senses = (entry.get("architecture") or {}).get("input_modalities")
    if isinstance(senses, list):
        known["images"] = "image" in senses
    honoured = entry.get("supported_parameters")
    if not isinstance(honoured, list) or not honoured:
        return known
    known["logprobs"] = "logprobs" in honoured
    known["stop"] = "stop" in honoured
    known["schema"] = not {"structured_outputs", "response_format"}.isdisjoint(honoured)
    if "temperature" not in honoured:
        known["sampling"] = "no"
    if "reasoning" not in honoured:
        known |= {"reasoning": False, "efforts": ()}
    return known


def billed(usage: object) -> Decimal | None:
    """US dollars charged for an answer, including charges to the user's own upstream key.

    None if that is not reported in full: with such a key ``cost`` alone is only the fee.
    """
    if not isinstance(usage, Mapping) or (cost := _number(usage.get("cost"))) is None:
        return None
    if not usage.get("is_byok"):
        return cost if cost >= 0 else None
    details = usage.get("cost_details")
    upstream = (
        _number(details.get("upstream_inference_cost")) if isinstance(details, Mapping) else None
    )
    return None if upstream is None or min(cost, upstream) < 0 else cost + upstream


def _number(value: object) -> Decimal | None:
    """A finite number, from a JSON number or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None

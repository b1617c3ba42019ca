"""Reading Together's catalogue: prices, capabilities, and how models can be called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from evalbench.engine.calls import ModelInfo

LIST = "/v2/supported-models?product=PRODUCT_SERVERLESS"
_STATUS = "SUPPORTED_MODEL_STATUS_"
_NOTES = {"DEPRECATED": "deprecated", "RECOMMENDED": "recommended"}
_RATES = (("input", "input"), ("output", "output"), ("cachedInput", "cache_read"))


def search_path(model: str) -> str:
    """The path to look up a model, in any category."""
    return f"/v2/supported-models?search={quote(model, safe='')}"


def api_name(entry: Mapping[str, Any]) -> str:
    """The model name to use in calls: its serverless endpoint if it has one.

    Raises:
        KeyError: the entry has no name.
    """
    name: str = entry.get("serverlessEndpoint") or entry["name"]
    return name


def is_serverless(entry: Mapping[str, Any]) -> bool:
    """Whether any key can call the model."""
    return "PRODUCT_SERVERLESS" in (entry.get("products") or ())


def find(entries: Iterable[Mapping[str, Any]], model: str) -> Mapping[str, Any] | None:
    """A model's entry, by any of its names; preferably a serverless one."""
    named = [
        entry
        for entry in entries
        if model in (entry.get("serverlessEndpoint"), entry.get("name"), entry.get("id"))
    ]
    return next(iter(sorted(named, key=is_serverless, reverse=True)), None)


def model_info(entry: Mapping[str, Any]) -> ModelInfo | None:
    """A line of the model list; None for a model that does not chat, or is hidden.

    Raises:
        KeyError: the entry has no name.
    """
    status = str(entry.get("status")).removeprefix(_STATUS)
    if "CAPABILITY_CHAT" not in (entry.get("capabilities") or ()) or status == "HIDDEN":
        return None
    name = api_name(entry)
    title = entry.get("displayName") or ""
    notes = [_NOTES.get(status, "")]
    if "FEATURE_REASONING" in (entry.get("features") or ()):
        notes.append("reasons")
    if not is_serverless(entry):
        notes.append("on a dedicated endpoint only")
    return ModelInfo(
        name=name,
        title=title if title != name else "",
        context_tokens=_context(entry),
        notes="; ".join(filter(None, notes)),
        rates=_rates(entry.get("pricing")),
    )


def told_facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for :class:`~evalbench.providers.modelfacts.ModelFacts` from an entry.

    An empty feature list means unknown: not all models have theirs filled in.
    """
    known: dict[str, Any] = {}
    if (context := _context(entry)) is not None:
        known["context_tokens"] = context
    if senses := entry.get("inputModalities"):
        known["images"] = "MODALITY_IMAGE" in senses
        known["video"] = "MODALITY_VIDEO" in senses
    features = entry.get("features") or ()
    if "FEATURE_REASONING" in features:
        known["reasoning"] = True
    if "FEATURE_STRUCTURED_OUTPUT" in features:
        known["schema"] = True
    return known


def _context(entry: Mapping[str, Any]) -> int | None:
    """A token count; the API sends the number as text."""
    try:
        tokens = int(entry.get("contextLength") or 0)
    except (TypeError, ValueError):
        return None
    return tokens if tokens > 0 else None


def _rates(pricing: object) -> dict[str, str]:
    """US dollars per million tokens, as text; empty unless both directions are given."""
    prices = pricing if isinstance(pricing, Mapping) else {}
    rates = {
        ours: str(value)
        for theirs, ours in _RATES
        if isinstance(value := prices.get(theirs), int | float) and not isinstance(value, bool)
    }
    return rates if {"input", "output"} <= rates.keys() else {}

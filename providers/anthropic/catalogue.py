"""Reading Anthropic's model endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import ModelInfo

_EFFORTS = ("low", "medium", "high", "xhigh", "max")


def model_info(entry: Mapping[str, Any]) -> ModelInfo:
    """A line of the model list.

    Raises:
        KeyError: the entry has no id.
    """
    lifecycle = entry.get("lifecycle") or ""
    return ModelInfo(
        name=entry["id"],
        title=entry.get("display_name") or "",
        context_tokens=entry.get("max_input_tokens"),
        retires=(entry.get("retires_at") or "")[:10],
        notes="" if lifecycle in ("", "active") else lifecycle,
    )


def told_facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for :class:`~evalbench.providers.modelfacts.ModelFacts` from a model's entry.

    Only what the API states: a capability it does not mention stays unknown.
    """
    known: dict[str, Any] = {}
    for name, source in (("context_tokens", "max_input_tokens"), ("output_tokens", "max_tokens")):
        if type(entry.get(source)) is int:
            known[name] = entry[source]
    if isinstance(retires := entry.get("retires_at"), str):
        known["retires"] = retires[:10]
    capabilities = entry.get("capabilities")
    if not isinstance(capabilities, Mapping):
        return known
    if (images := _supported(capabilities.get("image_input"))) is not None:
        known["images"] = images
    if (schema := _supported(capabilities.get("structured_outputs"))) is not None:
        known["schema"] = schema
    if isinstance(thinking := capabilities.get("thinking"), Mapping):
        types = thinking.get("types")
        if isinstance(types, Mapping):
            known["thinking"] = sorted(name for name in types if _supported(types[name]))
        if thinking.get("supported") is False:
            known["thinking"] = []
    if isinstance(effort := capabilities.get("effort"), Mapping):
        known["efforts"] = [level for level in _EFFORTS if _supported(effort.get(level))]
    return known


def _supported(capability: object) -> bool | None:
    if not isinstance(capability, Mapping):
        return None
    supported = capability.get("supported")
    return supported if isinstance(supported, bool) else None

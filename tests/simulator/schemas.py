"""What OpenAI's strict mode and Anthropic demand of the objects in a JSON schema."""

from __future__ import annotations

from typing import Any


def open_object(schema: Any, path: str = "()", *, all_required: bool = False) -> str:
    """What is wrong with the first object that is not closed; empty when nothing is.

    ``all_required``: every property of an object must be required, too.
    """
    if isinstance(schema, list):
        found = (open_object(part, path, all_required=all_required) for part in schema)
        return next((wrong for wrong in found if wrong), "")
    if not isinstance(schema, dict):
        return ""
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            wanted = "is required to be supplied and to be false"
            return f"In context={path}, 'additionalProperties' {wanted}"
        missing = [n for n in schema.get("properties", {}) if n not in schema.get("required", ())]
        if all_required and missing:
            return (
                f"In context={path}, 'required' is required to be supplied and to be an array "
                f"including every key in properties. Missing '{missing[0]}'"
            )
    for name, inner in schema.items():
        if name in ("properties", "$defs"):
            inner = list(inner.values())
        wrong = open_object(inner, f"('{name}',)", all_required=all_required)
        if wrong:
            return wrong
    return ""

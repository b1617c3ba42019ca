"""Which JSON schemas OpenAI's strict mode takes."""

from __future__ import annotations

from typing import Any

import pytest

from evalbench.providers.wire.schemas import can_be_strict

WORD = {"type": "string"}
CLOSED = {
    "type": "object",
    "properties": {"a": WORD},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "additionalProperties": True}, False),
        ({**CLOSED, "required": []}, False),
        ({"type": "object"}, False),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [WORD, {"type": "object"}]}}}, False),
        ({**CLOSED, "$defs": {"d": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": CLOSED}}}, True),
    ],
)
def test_strict_only_when_every_object_is_closed(schema: dict[str, Any], strict: bool) -> None:
    assert can_be_strict(schema) is strict

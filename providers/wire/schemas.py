"""JSON schemas for answers, in the forms that APIs expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from evalbench.engine.calls import Params
from evalbench.providers.modelfacts import ModelFacts
from evalbench.providers.wire.negotiation import Negotiation

NAME = "answer"
"""Schema name; chosen so that a model does not read it as a hint."""
ALIASES = ("json_schema", "response_format", "output_format", "structured_outputs")
"""What refusals call a schema, besides its field."""
NOT_STRICT = "not strict: an object of the schema is open, or has a property that is not required"
_INSIDE = ("properties", "$defs", "definitions")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")


def takes_schema(talk: Negotiation, params: Params, facts: ModelFacts) -> bool:
    """Whether a call has a schema and its model takes one; one that it does not take is dropped."""
    if params.schema is not None and facts.schema is False:
        talk.drop("schema", "the model takes no schema")
        return False
    return params.schema is not None


def schema_of(params: Params) -> dict[str, Any]:
    """The schema of a call, which must have one."""
    schema: dict[str, Any] = orjson.loads(params.schema or "{}")
    return schema


def named(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in OpenAI's form, strict if possible."""
    return {"name": NAME, "schema": schema, "strict": can_be_strict(schema)}


def send_response_format(talk: Negotiation, params: Params) -> None:
    """Send the schema of a call that has one, in chat completions form."""
    schema = named(schema_of(params))
    value = {"type": "json_schema", "json_schema": schema}
    reason = "" if schema["strict"] else NOT_STRICT
    talk.send("schema", "response_format", value, aliases=ALIASES, reason=reason)


def can_be_strict(schema: dict[str, Any]) -> bool:
    """Whether OpenAI's strict mode accepts a schema.

    Every object must be closed and every property required; otherwise a strict schema is an error.
    """
    return all(_closed(part) for part in _parts(schema))


def _closed(part: dict[str, Any]) -> bool:
    if "properties" not in part and part.get("type") != "object":
        return True
    wanted = set(part.get("properties") or ())
    return part.get("additionalProperties") is False and wanted == set(part.get("required") or ())


def _parts(schema: object) -> Iterator[dict[str, Any]]:
    """A schema and its subschemas."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in _INSIDE:
        inner = schema.get(name)
        for part in inner.values() if isinstance(inner, dict) else ():
            yield from _parts(part)
    for name in _LISTS:
        inner = schema.get(name)
        for part in inner if isinstance(inner, list) else ():
            yield from _parts(part)
    yield from _parts(schema.get("items"))

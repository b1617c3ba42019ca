"""Whose request it is, and whether it is one: SigV4's shape, and botocore's own service models."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.statuses import usual

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[A-Z0-9]{16,128})/(?P<day>\d{8})/(?P<region>[a-z0-9-]+)"
    r"/(?P<service>[a-z0-9-]+)/aws4_request, SignedHeaders=(?P<signed>[a-z0-9;-]+),"
    r" Signature=[0-9a-f]{64}"
)
_WINDOW_S = 300.0
WAIT = "please wait before trying again."


def error(status: int, message: str = "", name: str = "") -> Answer:
    """An error as these services word it; a status of none of theirs comes from a gateway."""
    usually = usual("bedrock", status)
    name = name or usually.name
    headers = {"x-amzn-errortype": name} if name else {}
    return Answer({"message": message or usually.message}, status, headers)


def refuse(message: str, *, model: bool = False) -> NoReturn:
    """400 with ``ValidationException``; ``model``: said by the model's own server."""
    prefix = "The model returned the following errors: " if model else ""
    raise Refused(error(400, prefix + message))


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and where.

    Attributes:
        key: the access key, in lower case, or the bearer token.
        region: the region that the request was signed for.
    """

    key: str
    region: str
    bearer: bool = False


def caller(exchange: Exchange, service: str, *, timed: bool = True) -> Caller:
    """The caller, from a signature of the right shape, at the right time (if ``timed``).

    Raises:
        Refused: in the words of AWS's front door.
    """
    headers = exchange.headers
    given = headers.get("Authorization", "")
    if not given:
        _unknown("MissingAuthenticationTokenException", "Missing Authentication Token")
    if given.startswith("Bearer "):
        return Caller(exchange.key, "us-east-1", bearer=True)
    found = _AUTHORIZATION.fullmatch(given)
    if found is None:
        _unknown("IncompleteSignatureException", "Authorization header is not well-formed.")
    signed = found["signed"].split(";")
    for needed in ("host", "x-amz-date"):
        if needed not in signed:
            _unknown("IncompleteSignatureException", f"'{needed}' must be a signed header.")
    if found["service"] != service:
        _unknown(
            "InvalidSignatureException",
            f"Credential should be scoped to correct service: '{service}'.",
        )
    token = headers.get("x-amz-security-token", "")
    if token and "x-amz-security-token" not in signed:
        _unknown("InvalidSignatureException", "The security token must be signed.")
    if timed:
        _on_time(headers.get("x-amz-date", ""))
    if "expired" in token.lower():
        message = "The security token included in the request is expired"
        raise Refused(error(403, message, "ExpiredTokenException"))
    return Caller(found["key"].lower(), found["region"])


def _unknown(name: str, message: str) -> NoReturn:
    raise Refused(error(403, message, name))


def _on_time(stamp: str) -> None:
    # By the machine's clock: clients sign by it, wherever the simulated time has got to.
    now = time.time()
    try:
        signed = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        _unknown("IncompleteSignatureException", "Date must be in ISO-8601 'basic format'.")
    if abs(now - signed) <= _WINDOW_S:
        return
    at = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    when = "expired" if signed < now else "not yet current"
    side = "earlier" if signed < now else "later"
    _unknown(
        "InvalidSignatureException",
        f"Signature {when}: {stamp} is now {side} than {at} (5 min.)",
    )


@cache
def service_model(service: str) -> Any:
    """botocore's description of a service."""
    import botocore.session

    return botocore.session.get_session().get_service_model(service)


def body(exchange: Exchange, operation: str, name: str) -> dict[str, Any]:
    """The body of a runtime operation, checked against botocore's description of it.

    Raises:
        Refused: for unknown fields, missing ones, wrong types, values out of bounds.
    """
    if not exchange.headers.get("Content-Type", "").startswith("application/json"):
        raise Refused(error(415, "", "UnsupportedMediaTypeException"))
    try:
        value = exchange.body
    except ValueError:
        raise Refused(error(400, "", "SerializationException")) from None
    if not isinstance(value, dict):
        raise Refused(error(400, "", "SerializationException"))
    shape = service_model("bedrock-runtime").operation_model(operation).input_shape
    check({**value, "modelId": name}, shape)
    return value


def check(value: Mapping[str, Any], shape: Any) -> None:
    """Refuse what does not fit a shape of a service model.

    botocore checks structure, types and lower bounds; enumerations and upper
    bounds are left to the service.
    """
    from botocore.validate import ParamValidator

    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        text: str = report.generate_report()
        if found := re.search(r'Unknown parameter in (\S+): "([^"]+)"', text):
            place, field = found.groups()
            refuse(
                f"Malformed input request: #/{place}: extraneous key [{field}] is not permitted,"
                " please reformat your input and try again."
            )
        refuse(f"1 validation error detected: {text}")
    _bounds(value, shape, "")


def _bounds(value: Any, shape: Any, path: str) -> None:
    kind = shape.type_name
    if (
        kind == "structure"
        and isinstance(value, dict)
        and not getattr(shape, "is_document_type", False)
    ):
        for name, inner in value.items():
            _bounds(inner, shape.members[name], f"{path}.{name}" if path else name)
    elif kind == "list":
        for number, inner in enumerate(value):
            _bounds(inner, shape.member, f"{path}.{number + 1}.member")
    elif kind == "string" and shape.enum and value not in shape.enum:
        _constraint(value, path, f"Member must satisfy enum value set: [{', '.join(shape.enum)}]")
    elif kind == "string" and (pattern := shape.metadata.get("pattern")):
        if not re.fullmatch(pattern, value):
            _constraint(
                value, path, f"Member must satisfy regular expression pattern: {pattern[:200]}"
            )
    elif kind in ("float", "integer", "double", "long"):
        most = shape.metadata.get("max")
        if most is not None and value > most:
            _constraint(value, path, f"Member must have value less than or equal to {most}")


def _constraint(value: Any, path: str, text: str) -> NoReturn:
    refuse(
        f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy constraint:"
        f" {text}"
    )

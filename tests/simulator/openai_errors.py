"""Errors as OpenAI words them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Refused
from tests.simulator.schemas import open_object
from tests.simulator.statuses import usual


def error(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    *,
    param: str | None = None,
    code: str | None = None,
) -> Answer:
    """``{"error": {message, type, param, code}}``."""
    inner = {"message": message, "type": kind, "param": param, "code": code}
    return Answer({"error": inner}, status)


def of_status(status: int, message: str = "") -> Answer:
    """The usual error of a status."""
    kind, text, code = usual("openai", status)
    return error(status, message or text, kind, code=code)


def refuse(
    message: str, *, param: str | None = None, code: str | None = None, status: int = 400
) -> NoReturn:
    """``invalid_request_error``."""
    raise Refused(error(status, message, param=param, code=code))


def unsupported_parameter(name: str, instead: str = "") -> NoReturn:
    """A parameter that this model does not take."""
    hint = f" Use '{instead}' instead." if instead else ""
    refuse(
        f"Unsupported parameter: '{name}' is not supported with this model.{hint}",
        param=name,
        code="unsupported_parameter",
    )


def unsupported_value(name: str, value: Any, model: str, allowed: Iterable[str]) -> NoReturn:
    """A value that this model does not take."""
    refuse(
        f"Unsupported value: '{value}' is not supported with the '{model}' model. "
        f"Supported values are: {listed(allowed)}.",
        param=name,
        code="unsupported_value",
    )


def invalid_value(name: str, value: Any, allowed: Iterable[str]) -> NoReturn:
    """A value that no model takes."""
    refuse(
        f"Invalid value: '{value}'. Supported values are: {listed(allowed)}.",
        param=name,
        code="invalid_value",
    )


def number(value: dict[str, Any], name: str, least: float, most: float, *, whole: bool) -> None:
    """Check an optional number's type and range."""
    given = value.get(name)
    if given is None:
        return
    kind, word = (int, "integer") if whole else (int | float, "decimal")
    if isinstance(given, bool) or not isinstance(given, kind):
        refuse(
            f"Invalid type for '{name}': expected {'an integer' if whole else 'a decimal'}, "
            f"but got a {type(given).__name__} instead.",
            param=name,
            code="invalid_type",
        )
    if given < least:
        refuse(
            f"Invalid '{name}': {word} below minimum value. Expected a value >= {least:g}, "
            f"but got {given} instead.",
            param=name,
            code=f"{word}_below_min_value",
        )
    if given > most:
        refuse(
            f"Invalid '{name}': {word} above maximum value. Expected a value <= {most:g}, "
            f"but got {given} instead.",
            param=name,
            code=f"{word}_above_max_value",
        )


def check_schema(wanted: dict[str, Any], field: str) -> None:
    """Check the schema of a strict response format."""
    if not wanted.get("strict"):
        return
    if wrong := open_object(wanted.get("schema"), all_required=True):
        refuse(
            f"Invalid schema for {field.replace('.', ' ')} '{wanted.get('name')}': {wrong}.",
            param=field,
            code="invalid_json_schema",
        )


def listed(names: Iterable[str]) -> str:
    """``'a', 'b', and 'c'``."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"

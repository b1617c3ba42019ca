"""Errors in Together's shape."""

from __future__ import annotations

from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Refused

SETTINGS = "https://api.together.ai/settings"


def error(
    status: int, message: str, kind: str, *, param: str | None = None, code: str | None = None
) -> Answer:
    """A failure in Together's shape."""
    told = {"message": message, "type": kind, "param": param, "code": code}
    body: dict[str, Any] = {"error": told}
    if kind.startswith("dynamic_"):
        body["error_type"] = kind
    return Answer(body, status)


def refuse(message: str, *, param: str | None = None, code: str | None = None) -> NoReturn:
    """A bad request."""
    raise Refused(error(400, message, "invalid_request_error", param=param, code=code))

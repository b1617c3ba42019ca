"""Errors in the shape that OpenAI gave them, as many servers send them more or less."""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    Told,
    Who,
    bad_key,
    json_body,
    no_credit,
    no_model,
    rejected,
    told,
    too_long,
    usual,
)
from evalbench.providers.wire.scrub import Scrub

_FILTERED = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsible_ai_policy_violation",
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
    }
)
"""Codes that say the provider looked at the prompt and would not answer it: a result, no error."""

_NO_MODEL = frozenset({"model_not_found", "model_decommissioned", "model_not_available"})
_NO_CREDIT = frozenset({"insufficient_quota", "billing_not_active", "billing_hard_limit_reached"})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_BAD_KEY = frozenset({"invalid_api_key", "account_deactivated", "invalid_authentication"})


def error_object(body: object) -> dict[str, Any] | None:
    """The error of a body, whatever it is wrapped in; None when the body holds none.

    Known forms: ``{"error": {...}}``, ``{"error": "text"}``, the bare object
    with a ``message``, a list of one of these, and FastAPI's ``{"detail": ...}``,
    which may itself stand in a ``message``.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict):
        return error
    if isinstance(error, str) and error:
        return {"message": error, "code": body.get("code"), "type": body.get("type")}
    if detail := body.get("detail"):
        return _first_detail(detail[0] if isinstance(detail, list) else detail)
    message = body.get("message")
    if isinstance(message, dict):
        return error_object(message)
    return body if isinstance(message, str) and "choices" not in body else None


def _first_detail(detail: object) -> dict[str, Any]:
    if not isinstance(detail, dict):
        return {"message": str(detail)}
    place = [str(step) for step in detail.get("loc", ()) if step != "body"]
    return {
        "message": f"{'.'.join(place)}: {detail.get('msg', '')}".lstrip(": "),
        "type": detail.get("type"),
        "param": place[0] if place else "",
    }


def read_error(
    answered: Answered, who: Who, model: str, scrub: Scrub, *, request_id: str = ""
) -> ProviderError | Reply:
    """What an error response means.

    Returns:
        The error to raise, or a reply of outcome ``filtered`` when the provider
        refused the prompt for what it says.
    """
    body = json_body(answered)
    error = error_object(body)
    said = told(answered, scrub, error, request_id)
    if said.code in _FILTERED or _moderated(error):
        return Reply(
            outcome=Outcome.FILTERED,
            stop_reason=said.code or "moderation",
            request_id=said.request_id,
            raw=body,
        )
    return classify(said, who, model)


def classify(said: Told, who: Who, model: str) -> ProviderError:
    """By the protocol's own codes first, then as every API."""
    codes = {said.code, said.kind}
    if codes & _NO_CREDIT:
        return no_credit(said, who)
    if model and codes & _NO_MODEL:
        return no_model(said, who, model)
    if codes & _BAD_KEY:
        return bad_key(said, who)
    if said.status in (400, 413, 422):
        if codes & _TOO_LONG:
            return too_long(said)
        if said.code.startswith(("invalid_image", "image_", "unsupported_image")):
            return rejected(said, who, f"{who.title} refuses an image of this call")
    return usual(said, who, model)


def _moderated(error: dict[str, Any] | None) -> bool:
    metadata = (error or {}).get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("reasons"))

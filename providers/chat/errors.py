"""Errors in OpenAI's format, which many servers follow more or less closely."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.errors import ProviderError
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    ErrorResponse,
    ProviderIdentity,
    bad_key,
    error_response,
    json_body,
    looks_too_long,
    no_credit,
    no_model,
    rejected,
    too_long,
    usual,
)
from evalbench.providers.wire.lenient import as_list, as_object, as_text, decode, told_status
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.stops import known

REQUEST_ID = "x-request-id"

_FILTERED = frozenset(
    {
        "contentfilter",
        "contentfiltered",
        "contentpolicyviolation",
        "contentpolicyviolationerror",
        "responsibleaipolicyviolation",
        "invalidprompt",
        "biopolicy",
        "misalignmentpolicyviolation",
        "imagecontentpolicyviolation",
        "datainspectionfailed",
        "hooksfailed",
    }
)
"""Codes meaning that the provider refused the prompt for its content: a result, not an error.

In lower case without punctuation, since servers spell them differently.
"""
_SAYS_FILTERED = re.compile(
    r"content[ _]management policy|content_filter\b|content_policy_violation"
    r"|ContentPolicyViolation|ResponsibleAIPolicyViolation"
    r"|Content Exists Risk|new_sensitive|potentially unsafe or sensitive content",
)
"""What remains of such a code where a gateway keeps only the message, or a server has no code."""
_MOST_WRAPPINGS = 6

_STATUS = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "invalid_request_error": 400,
    "BadRequestError": 400,
}
"""HTTP statuses equivalent to the types and codes of errors inside a successful response."""

_MINIMAX = {
    1001: 504, 1002: 429, 1004: 401, 1008: 402, 1026: 422, 1027: 422, 1039: 429, 1041: 429,
    2013: 400, 2049: 401,
}  # fmt: skip
"""HTTP statuses equivalent to MiniMax's codes, which come in a 200. Source:
https://platform.minimax.io/docs/api-reference/errorcode"""

_NO_MODEL = frozenset(
    {
        *("model_not_found", "model_decommissioned", "model_not_available"),
        *("model_not_supported", "DeploymentNotFound"),
    }
)
_NO_CREDIT = frozenset(
    {
        *("insufficient_quota", "billing_not_active", "billing_hard_limit_reached"),
        *("exceeded_current_quota_error", "Arrearage", "AllocationQuota.FreeTierOnly"),
    }
)
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_BAD_KEY = frozenset({"invalid_api_key", "account_deactivated", "invalid_authentication"})


def error_object(body: object) -> dict[str, Any] | None:
    """The error in a body, however it is wrapped; None if there is none.

    Known forms: ``{"error": {...}}``, ``{"error": "text"}``, the bare object
    with a ``message``, a list of one of these, also as ``errors``, FastAPI's
    ``{"detail": ...}``, which may itself be nested in a ``message``, and MiniMax's ``base_resp``.
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if isinstance(error, dict) and error:
        return error
    if isinstance(error, str) and error:
        return {"message": error, "code": body.get("code"), "type": body.get("type")}
    if detail := body.get("detail"):
        return _first_detail(detail[0] if isinstance(detail, list) else detail)
    if choice := _first_choice(body):
        error = choice.get("error")
        return error if isinstance(error, dict) and error else None
    if first := as_object(next(iter(as_list(body.get("errors"))), None)):
        return dict(first)
    base = as_object(body.get("base_resp"))
    if code := base.get("status_code"):
        return {"message": base.get("status_msg"), "code": _MINIMAX.get(code, 500)}
    message = body.get("message")
    if isinstance(message, dict):
        return error_object(message)
    return body if isinstance(message, str) and "choices" not in body else None


def _first_detail(detail: object) -> dict[str, Any]:
    if not isinstance(detail, dict):
        return {"message": str(detail)}
    place = [str(step) for step in as_list(detail.get("loc")) if step != "body"]
    return {
        "message": f"{'.'.join(place)}: {detail.get('msg', '')}".lstrip(": "),
        "type": detail.get("type"),
        "param": place[0] if place else "",
    }


def read_error(
    answered: Answered,
    who: ProviderIdentity,
    model: str,
    scrub: SecretScrubber,
    *,
    request_id: str = "",
) -> ProviderError | Reply:
    """Interpret an error response.

    Returns:
        The error to raise, or a reply with outcome ``filtered`` if the provider refused the prompt
        for its content.
    """
    body = json_body(replace(answered, body=scrub.exact(answered.body)))
    error = error_object(body)
    response = error_response(answered, scrub, error, request_id)
    if filtered := _filter_of(error, response):
        return Reply(
            outcome=Outcome.FILTERED,
            stop_reason=filtered,
            request_id=response.request_id,
            raw=scrub.value(body),
        )
    return classify(response, who, model)


def classify(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    """Uses the protocol's own codes first, then the rules common to all APIs."""
    codes = {response.code, response.kind}
    if codes & _NO_CREDIT:
        return no_credit(response, who)
    if model and codes & _NO_MODEL:
        return no_model(response, who, model)
    if codes & _BAD_KEY:
        return bad_key(response, who)
    if response.status in (400, 413, 422):
        if codes & _TOO_LONG:
            return too_long(response)
        if response.code.startswith(("invalid_image", "image_", "unsupported_image")):
            return rejected(response, who, f"{who.title} refuses an image of this call")
    return usual(response, who, model)


def hidden_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to an error inside a successful response; None if there is none.

    Routers and gateways send these. An error alongside a complete answer is ignored: the call was
    answered and is not repeated.
    """
    choice = _first_choice(body)
    if not (choice.get("error") or body.get("error")) and choice:
        return None
    error = error_object(body)
    if error is None or _is_whole(choice):
        return None
    if status := told_status(error):
        return status
    for name in ("code", "type"):
        if status := _STATUS.get(as_text(error.get(name)), 0):
            return status
    return 400 if looks_too_long(str(error.get("message"))) else 502


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = as_list(body.get("choices"))
    return as_object(choices[0]) if choices else {}


def _is_whole(choice: Mapping[str, Any]) -> bool:
    """Whether a choice reports that its answer ended normally."""
    text = as_object(choice.get("message")).get("content") or choice.get("text")
    stop = as_text(choice.get("finish_reason")).lower()
    return bool(text) and known(stop) is not None and bool(stop) and not choice.get("error")


def _filter_of(error: Mapping[str, Any] | None, response: ErrorResponse) -> str:
    """The code with which the provider filtered a prompt, however it is wrapped; empty if none."""
    for wrapped in _wrapped(error, _MOST_WRAPPINGS):
        for name in ("code", "type"):
            code = as_text(wrapped.get(name))
            if re.sub(r"[\W_]", "", code).lower() in _FILTERED:
                return code
        if as_object(wrapped.get("metadata")).get("reasons"):
            return response.code or "moderation"
    if response.status < 500 and (found := _SAYS_FILTERED.search(response.message)):
        return found[0]
    return ""


def _wrapped(error: object, most: int) -> Iterator[Mapping[str, Any]]:
    """An error and those nested in it: Azure's inner errors, and those routers send as text."""
    if isinstance(error, str) and error.lstrip()[:1] in ("{", "["):
        try:
            error = error_object(decode(error.encode(errors="replace"))[0])
        except ValueError:
            return
    if not isinstance(error, dict) or not most:
        return
    yield error
    metadata = as_object(error.get("metadata"))
    inside = (error.get("innererror"), error.get("inner_error"), error.get("error"))
    for inner in (*inside, metadata.get("raw"), error.get("message")):
        yield from _wrapped(inner, most - 1)

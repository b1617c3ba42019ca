"""Interpreting Anthropic's error responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.errors import (
    Overloaded,
    ProviderError,
    ServerFault,
)
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    ProviderIdentity,
    bad_key,
    build,
    error_response,
    json_body,
    no_access,
    no_credit,
    quota,
    rejected,
    usual,
)
from evalbench.providers.wire.lenient import as_object, as_text, told_status
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP statuses of error types; batches and gateways give only the type."""
_FILTERED = re.compile(r"blocked by (?:our )?content filtering policy", re.IGNORECASE)
_SPENT = re.compile(r"reached your specified API usage limits", re.IGNORECASE)
_DISABLED = re.compile(r"organization has been disabled|organization_on_hold|cmek_key_disabled")


def hidden_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to an error inside a good response; None if there is none."""
    error = as_object(body.get("error"))
    if not error or isinstance(body.get("content"), list):
        return None
    return STATUS.get(as_text(error.get("type"))) or told_status(error) or 500


def filtered(answered: Answered, scrub: SecretScrubber) -> Reply | None:
    """The outcome for an error that reports a filtered answer; None for other errors."""
    body = json_body(replace(answered, body=scrub.exact(answered.body)))
    message = as_text(as_object(as_object(body).get("error")).get("message"))
    if answered.status >= 500 or not _FILTERED.search(message):
        return None
    return Reply(
        outcome=Outcome.FILTERED,
        stop_reason="content filtering policy",
        request_id=scrub.identity(answered.headers.get("request-id", "")),
        raw=body,
    )


def read_error(
    answered: Answered, who: ProviderIdentity, model: str, scrub: SecretScrubber
) -> ProviderError:
    """The error to raise: by its ``type`` if that is decisive, else by the status."""
    body = json_body(answered)
    error = body.get("error") if isinstance(body, dict) else None
    request_id = answered.headers.get("request-id", "")
    if not request_id and isinstance(body, dict):
        request_id = str(body.get("request_id") or "")
    fields = None
    if isinstance(error, dict):
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, dict) else None
        fields = {**error, "code": code}
    response = error_response(answered, scrub, fields, request_id)
    if _SPENT.search(response.message):
        return quota(response, who)
    if _DISABLED.search(f"{response.code} {response.message}"):
        return no_access(response, who, "")
    match response.kind:
        case "authentication_error":
            return bad_key(response, who)
        case "billing_error":
            return no_credit(response, who)
        case "permission_error":
            return no_access(response, who, model)
        case "overloaded_error":
            return build(Overloaded, f"{who.title} has no capacity just now", response)
        case "timeout_error":
            return build(ServerFault, f"{who.title} ran out of time", response, billed=True)
        case "invalid_request_error" if "image" in response.message and response.status == 400:
            return rejected(
                response,
                who,
                f"{who.title} refuses an image of this call",
                "send smaller images, or allow shrinking with --oversized-image downsize",
            )
    return usual(response, who, model)

"""What Anthropic's error responses mean."""

from __future__ import annotations

from evalbench.engine.errors import (
    Overloaded,
    ProviderError,
    ServerFault,
)
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    Who,
    bad_key,
    build,
    json_body,
    no_access,
    no_credit,
    rejected,
    told,
    usual,
)
from evalbench.providers.wire.scrub import Scrub


def read_error(answered: Answered, who: Who, model: str, scrub: Scrub) -> ProviderError:
    """The error to raise: by its ``type`` where that decides, else by the status."""
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
    said = told(answered, scrub, fields, request_id)
    match said.kind:
        case "authentication_error":
            return bad_key(said, who)
        case "billing_error":
            return no_credit(said, who)
        case "permission_error":
            return no_access(said, who, model)
        case "overloaded_error":
            return build(Overloaded, f"{who.title} has no capacity just now", said)
        case "timeout_error":
            return build(ServerFault, f"{who.title} ran out of time", said, billed=True)
        case "invalid_request_error" if "image" in said.message and said.status == 400:
            return rejected(
                said,
                who,
                f"{who.title} refuses an image of this call",
                "send smaller images, or allow shrinking with --oversized-image downsize",
            )
    return usual(said, who, model)

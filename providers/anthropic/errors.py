"""What Anthropic's error responses mean."""

from __future__ import annotations

from evalbench.engine.errors import (
    AccessDenied,
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
    fields = error if isinstance(error, dict) else None
    said = told(answered, scrub, fields, request_id)
    match said.kind:
        case "authentication_error":
            return bad_key(said, who)
        case "billing_error":
            return no_credit(said, who)
        case "permission_error":
            return build(
                AccessDenied,
                f"this {who.title} key may not use {model!r}",
                said,
                cure="ask for access there, take another key, or another model",
            )
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

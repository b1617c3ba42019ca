"""Together's errors: OpenAI's format, plus some codes and a status of its own."""

from __future__ import annotations

import re

from evalbench.engine.calls import Reply
from evalbench.engine.errors import NoSuchModel, ProviderError, RateLimited
from evalbench.providers.chat.errors import REQUEST_ID, error_object, read_error
from evalbench.providers.together.read import suggested_wait
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    ErrorResponse,
    ProviderIdentity,
    build,
    error_response,
    json_body,
    looks_too_long,
    no_model,
    too_long,
)
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

_NOT_SERVERLESS = re.compile(r"non-serverless model", re.IGNORECASE)
_WHAT = " is not serverless at Together"
_NO_MODEL = re.compile(r"unable to access model", re.IGNORECASE)
_TOKEN_SUM = re.compile(r"max_new_tokens|tokens?\b.{0,40}max_tokens", re.IGNORECASE | re.DOTALL)


def read_together_error(
    answered: Answered, who: ProviderIdentity, model: str, scrub: SecretScrubber
) -> ProviderError | Reply:
    """Interpret an error response; see :func:`evalbench.providers.chat.errors.read_error`."""
    request_id = request_id_of(answered)
    response = error_response(answered, scrub, error_object(json_body(answered)), request_id)
    if (own := _own(response, who, model)) is not None:
        return own
    found = read_error(answered, who, model, scrub, request_id=request_id)
    if isinstance(found, RateLimited) and found.retry_after is None:
        found.retry_after = suggested_wait(answered.headers)
    return found


def request_id_of(answered: Answered) -> str:
    """The request id: from a header, or from an error's body."""
    if known := answered.headers.get(REQUEST_ID):
        return known
    body = json_body(answered)
    ident = body.get("id") if isinstance(body, dict) else None
    return ident if isinstance(ident, str) else ""


def _own(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError | None:
    """Errors specific to Together."""
    if response.code == "dedicated_endpoint_not_running":
        return build(
            NoSuchModel,
            f"the dedicated endpoint of {model!r} is not running",
            response,
            hint="start it at https://api.together.ai/models, then resume the run",
        )
    if model and _NOT_SERVERLESS.search(response.message):
        return not_serverless(model, response)
    if model and _NO_MODEL.search(response.message):
        return no_model(response, who, model)
    # 403 is Together's documented status for a prompt that leaves no room for an answer.
    tokens = looks_too_long(response.message) or _TOKEN_SUM.search(response.message)
    if (
        response.status in (400, 403, 422)
        and tokens
        and response.param in ("", "max_tokens", "messages")
    ):
        return too_long(response)
    return None


def is_not_serverless(error: ProviderError) -> bool:
    """Whether an error is one of :func:`not_serverless`."""
    return isinstance(error, NoSuchModel) and error.what.endswith(_WHAT)


def not_serverless(model: str, response: ErrorResponse | None = None) -> ProviderError:
    """The model exists but needs a dedicated endpoint."""
    what = f"{model!r}{_WHAT}"
    hint = (
        "start a dedicated endpoint for it at https://api.together.ai/models and name that,"
        " or take a serverless model: evalbench models together"
    )
    if response is not None:
        return build(NoSuchModel, what, response, hint=hint)
    return NoSuchModel(what, why="it was asked once and said so", hint=hint)

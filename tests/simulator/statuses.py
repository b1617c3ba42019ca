"""What each vendor calls a failure with a status, and what it says when nothing more is known."""

from __future__ import annotations

from typing import NamedTuple


class Usual(NamedTuple):
    """A failure's name, its sentence, and its code where the API has one."""

    name: str
    message: str = "simulated failure"
    code: str | None = None


_INVALID = "invalid_request_error"

STATUSES: dict[str, dict[int, Usual]] = {
    "anthropic": {
        401: Usual("authentication_error", "invalid bearer token"),
        402: Usual("billing_error"),
        403: Usual("permission_error"),
        404: Usual("not_found_error"),
        409: Usual("conflict_error"),
        413: Usual("request_too_large"),
        429: Usual(
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        500: Usual("api_error", "Internal server error"),
        504: Usual("timeout_error"),
        529: Usual("overloaded_error", "Overloaded"),
    },
    "openai": {
        401: Usual(_INVALID, "Incorrect API key provided.", "invalid_api_key"),
        403: Usual(_INVALID, "You have insufficient permissions for this operation."),
        404: Usual(_INVALID, "Not found."),
        429: Usual("requests", "Rate limit reached.", "rate_limit_exceeded"),
        500: Usual("server_error", "The server had an error while processing your request. Sorry!"),
        503: Usual("service_unavailable_error", "The engine is currently overloaded."),
    },
    "together": {
        429: Usual("dynamic_request_limited", "Request was rejected due to request rate limiting."),
        503: Usual("service_unavailable"),
    },
    "google": {
        400: Usual("INVALID_ARGUMENT"),
        401: Usual("UNAUTHENTICATED"),
        403: Usual("PERMISSION_DENIED"),
        404: Usual("NOT_FOUND"),
        409: Usual("ABORTED"),
        429: Usual("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        499: Usual("CANCELLED"),
        500: Usual("INTERNAL", "Internal error encountered."),
        501: Usual("UNIMPLEMENTED"),
        503: Usual("UNAVAILABLE", "The model is overloaded. Please try again later."),
        504: Usual("DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    },
    "bedrock": {
        400: Usual("ValidationException", "The provided request is not valid"),
        401: Usual(
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        403: Usual(
            "AccessDeniedException",
            "You don't have access to the model with the specified model ID.",
        ),
        404: Usual(
            "ResourceNotFoundException",
            "Could not resolve the foundation model from the provided model identifier.",
        ),
        408: Usual(
            "ModelTimeoutException",
            "Model has timed out in processing the request. Try your request again.",
        ),
        424: Usual(
            "ModelErrorException",
            "The model returned the following errors: internal failure",
        ),
        429: Usual("ThrottlingException", "Too many requests, please wait before trying again."),
        500: Usual(
            "InternalServerException",
            "The system encountered an unexpected error during processing. Try your request again.",
        ),
        503: Usual("ServiceUnavailableException", "Bedrock is unable to process your request."),
    },
}
_OTHERWISE: dict[str, tuple[Usual, Usual]] = {
    # below 500, and from there on.
    "anthropic": (Usual(_INVALID), Usual("api_error")),
    "openai": (Usual(_INVALID), Usual("server_error")),
    "together": (Usual(_INVALID), Usual("server_error")),
    "google": (Usual("UNKNOWN"), Usual("UNKNOWN")),
    # What is none of Bedrock's comes from a gateway.
    "bedrock": (Usual("", ""), Usual("", "")),
}


def usual(api: str, status: int) -> Usual:
    """The failure that goes with a status."""
    return STATUSES[api].get(status) or _OTHERWISE[api][status >= 500]

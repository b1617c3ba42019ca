"""Errors as Google's APIs word them: a canonical status, a sentence, typed details."""

from __future__ import annotations

from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Refused

SERVICE = "generativelanguage.googleapis.com"
PROJECT = "411082643095"
_TYPE = "type.googleapis.com/google.rpc."
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
MESSAGES = {
    429: "Resource has been exhausted (e.g. check quota).",
    500: "Internal error encountered.",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}
_QUOTA_MESSAGE = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)


def error(status: int, message: str = "", *details: dict[str, Any], name: str = "") -> Answer:
    """An error body; ``name`` is the canonical status where HTTP's does not decide it."""
    inner: dict[str, Any] = {
        "code": status,
        "message": message or MESSAGES.get(status, "simulated failure"),
        "status": name or _STATUSES.get(status, "UNKNOWN"),
    }
    if details:
        inner["details"] = list(details)
    return Answer({"error": inner}, status)


def refuse(message: str, *fields: str) -> NoReturn:
    """400 INVALID_ARGUMENT; ``fields`` are named as violations."""
    details: tuple[dict[str, Any], ...] = ()
    if fields:
        violations = [{"field": name, "description": message} for name in fields]
        details = ({"@type": _TYPE + "BadRequest", "fieldViolations": violations},)
    raise Refused(error(400, message, *details))


def info(reason: str, **metadata: str) -> dict[str, Any]:
    """An ErrorInfo."""
    return {
        "@type": _TYPE + "ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": {"service": SERVICE, **metadata},
    }


def retry_info(seconds: float) -> dict[str, Any]:
    """A RetryInfo: when to come back."""
    return {"@type": _TYPE + "RetryInfo", "retryDelay": f"{seconds:g}s"}


def no_such_model(name: str, version: str, method: str = "generateContent") -> NoReturn:
    """404: there is no such model."""
    message = (
        f"models/{name} is not found for API version {version}, or is not supported for {method}. "
        "Call ModelService.ListModels to see the list of available models and their supported "
        "methods."
    )
    raise Refused(error(404, message))


def key_refused(state: str) -> NoReturn:
    """What the API says to a key that is not good."""
    if state == "missing":
        message = (
            "Method doesn't allow unregistered callers (callers without established identity). "
            "Please use API Key or other form of API consumer identity to call this API."
        )
        raise Refused(error(403, message))
    if state == "wrong":
        message = "API key not valid. Please pass a valid API key."
        raise Refused(error(400, message, info("API_KEY_INVALID")))
    if state == "noaccess":
        raise Refused(_wrong_project())
    if state == "nobilling":
        message = (
            "Gemini API free tier is not available in your country. Please enable billing on "
            "your project in Google AI Studio."
        )
        raise Refused(error(400, message, name="FAILED_PRECONDITION"))
    if state == "spent":
        raise Refused(quota("GenerateRequestsPerDayPerProjectPerModel", "250", 3600.0))
    message = (
        "Your prepayment credits are depleted. Please go to AI Studio at "
        "https://ai.studio/projects to manage your project and billing."
    )
    raise Refused(error(429, message))


def _wrong_project() -> Answer:
    page = f"https://console.developers.google.com/apis/api/{SERVICE}/overview?project={PROJECT}"
    message = (
        f"Generative Language API has not been used in project {PROJECT} before or it is "
        f"disabled. Enable it by visiting {page} then retry. If you enabled this API recently, "
        "wait a few minutes for the action to propagate to our systems and retry."
    )
    consumer = f"projects/{PROJECT}"
    details = info(
        "SERVICE_DISABLED",
        consumer=consumer,
        activationUrl=page,
        serviceTitle="Generative Language API",
        containerInfo=PROJECT,
    )
    return error(403, message, details)


def quota(quota_id: str, value: str, wait: float, model: str = "") -> Answer:
    """429 with the quota that is used up and when to come back."""
    metric = "generate_content_paid_tier_requests"
    if "Tokens" in quota_id:
        metric = "generate_content_paid_tier_input_token_count"
    violation: dict[str, Any] = {
        "quotaMetric": f"{SERVICE}/{metric}",
        "quotaId": quota_id,
        "quotaDimensions": {"location": "global", "model": model},
        "quotaValue": value,
    }
    failure = {"@type": _TYPE + "QuotaFailure", "violations": [violation]}
    links = [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ]
    message = (
        f"{_QUOTA_MESSAGE} \n* Quota exceeded for metric: {SERVICE}/{metric}, limit: {value}, "
        f"model: {model}\nPlease retry in {wait:g}s."
    )
    help_links = {"@type": _TYPE + "Help", "links": links}
    return error(429, message, help_links, failure, retry_info(wait))

"""Errors as Google's APIs word them: a canonical status, a sentence, typed details."""

from __future__ import annotations

from typing import Any, NoReturn

from tests.simulator.exchange import Answer, Refused
from tests.simulator.statuses import usual

SERVICE = "generativelanguage.googleapis.com"
PROJECT = "411082643095"
_TYPE = "type.googleapis.com/google.rpc."
_QUOTA_MESSAGE = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)


def error(status: int, message: str = "", *details: dict[str, Any], name: str = "") -> Answer:
    """An error body; ``name`` is the canonical status where HTTP's does not decide it."""
    usually = usual("google", status)
    inner: dict[str, Any] = {
        "code": status,
        "message": message or usually.message,
        "status": name or usually.name,
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


def wrong_project() -> Answer:
    """403: the key is good, but its project has not the API."""
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

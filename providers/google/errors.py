"""Interpreting Google's error responses: by reason and quota first, then by status."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
)
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    ErrorResponse,
    ProviderIdentity,
    bad_key,
    build,
    error_response,
    json_body,
    no_access,
    no_credit,
    no_key,
    quota,
    rejected,
    too_long,
    usual,
)
from evalbench.providers.wire.headers import seconds
from evalbench.providers.wire.lenient import as_object, told_status
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

_TOO_LONG = re.compile(r"token count.{0,40} exceeds the maximum number of tokens", re.IGNORECASE)
_CREDIT = re.compile(
    r"credits? (?:are|is) depleted|enable billing|billing (?:account|has)|spending cap"
    r"|free (?:quota )?tier is not available",
    re.IGNORECASE,
)
_LEAKED = re.compile(r"reported as leaked|API key expired", re.IGNORECASE)
_PLACE = re.compile(r"user location is not supported", re.IGNORECASE)
_RESTRICTED = (
    "API_KEY_SERVICE_BLOCKED",
    "API_KEY_HTTP_REFERRER_BLOCKED",
    "API_KEY_IP_ADDRESS_BLOCKED",
    "API_KEY_ANDROID_APP_BLOCKED",
    "API_KEY_IOS_APP_BLOCKED",
)


@dataclass(frozen=True, slots=True)
class _Details:
    """The typed details of an error.

    Attributes:
        reason: the ErrorInfo's reason, such as ``SERVICE_DISABLED``.
        page: where to enable a disabled service.
        field: the invalid request field.
        delay: seconds until a retry, from RetryInfo.
        quotas: names of the exhausted quotas.
        none: whether one of them is zero, so that the project has no such quota at all.
    """

    reason: str = ""
    page: str = ""
    field: str = ""
    delay: float | None = None
    quotas: tuple[str, ...] = ()
    none: bool = False


def hidden_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to an error inside a good response; None if there is none."""
    error = as_object(body.get("error"))
    if not error or body.get("candidates"):
        return None
    return told_status(error) or 500


def read_error(
    answered: Answered, who: ProviderIdentity, model: str, scrub: SecretScrubber
) -> ProviderError:
    """The error to raise."""
    body = json_body(answered)
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    details = _Details()
    fields = None
    if isinstance(error, dict):
        details = _details(error.get("details"), scrub)
        fields = {
            "message": error.get("message"),
            "type": error.get("status"),
            "code": details.reason or None,
            "param": details.field or None,
        }
    response = error_response(answered, scrub, fields, "")
    if details.delay is not None:
        response = replace(response, retry_after=max(details.delay, response.retry_after or 0.0))
    if response.status == 429:
        return _limited(response, details, who, model)
    return _by_reason(response, details, who, model) or usual(response, who, model)


def _by_reason(
    response: ErrorResponse, details: _Details, who: ProviderIdentity, model: str
) -> ProviderError | None:
    if details.reason == "API_KEY_INVALID" or _LEAKED.search(response.message):
        return bad_key(response, who)
    if details.reason == "SERVICE_DISABLED":
        where = details.page or who.key_page
        return build(
            AccessDenied,
            f"the project of this {who.title} key has not turned the API on",
            response,
            hint=f"turn it on at {where}, or take a key of another project: "
            f"evalbench keys set {who.name}",
        )
    if details.reason in _RESTRICTED:
        return build(
            AccessDenied,
            f"this {who.title} key is restricted and may not be used here",
            response,
            hint=f"change its restrictions at {who.key_page}, or take another key",
        )
    if response.status == 403 and "unregistered callers" in response.message:
        return no_key(who)
    if response.status == 400 and _PLACE.search(response.message):
        return no_access(response, who, "")
    if response.status in (400, 403) and _CREDIT.search(response.message):
        return no_credit(response, who)
    if response.status == 400 and _TOO_LONG.search(response.message):
        return too_long(response)
    if response.status == 400 and "payload size exceeds" in response.message:
        return rejected(response, who, f"the request is larger than {who.title} takes")
    return None


def _limited(
    response: ErrorResponse, details: _Details, who: ProviderIdentity, model: str
) -> ProviderError:
    """A 429. Its usual message mentions plan and billing even for a per-minute limit."""
    if details.none:
        return build(
            QuotaExhausted,
            f"the project of this {who.title} key has no quota for {model!r}",
            response,
            hint="enable billing for the project, or take another model",
        )
    if any("PerDay" in name for name in details.quotas):
        return quota(response, who)
    if _CREDIT.search(response.message):
        return no_credit(response, who)
    if details.reason == "MODEL_CAPACITY_EXHAUSTED":
        return build(Overloaded, f"{who.title} has no capacity just now", response)
    return build(RateLimited, f"{who.title} asks to slow down", response)


def _details(value: Any, scrub: SecretScrubber) -> _Details:
    """The relevant details; the first of each kind."""
    reason = page = field = ""
    delay: float | None = None
    quotas: list[str] = []
    none = False
    for kind, detail in _typed(value):
        if kind == "ErrorInfo" and not reason:
            reason = str(detail.get("reason") or "")
            metadata = detail.get("metadata")
            if isinstance(metadata, dict):
                page = scrub.text(str(metadata.get("activationUrl") or ""), 300)
        elif kind == "RetryInfo":
            delay = seconds(str(detail.get("retryDelay") or ""))
        elif kind == "QuotaFailure":
            for violation in _records(detail.get("violations")):
                quotas.append(str(violation.get("quotaId") or ""))
                none = none or str(violation.get("quotaValue")) == "0"
        elif kind == "BadRequest" and not field:
            names = (str(one.get("field") or "") for one in _records(detail.get("fieldViolations")))
            field = next(names, "")
    return _Details(reason, page, field, delay, tuple(quotas), none)


def _typed(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for detail in _records(value):
        kind = str(detail.get("@type") or "").rpartition(".")[2]
        # Some gateways omit the type and keep the reason.
        yield kind or ("ErrorInfo" if "reason" in detail else ""), detail


def _records(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def credentials_error(error: BaseException) -> ProviderError:
    """Google Cloud credentials are missing or cannot be refreshed."""
    return BadKey(
        "there are no Google Cloud credentials that work",
        why=SecretScrubber().text(str(error).strip(), 300),
        hint="run: gcloud auth application-default login; "
        "or name a key file in GOOGLE_APPLICATION_CREDENTIALS",
    )

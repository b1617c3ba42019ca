"""Interpreting Bedrock's error responses, and botocore's exceptions without one."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    NoSuchModel,
    Overloaded,
    ProviderError,
    RateLimited,
    RunFatal,
    ServerFault,
    counted,
)
from evalbench.providers.bedrock.boto import EXPIRED, error_type
from evalbench.providers.bedrock.names import geography_of, model_name
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.failures import (
    ErrorResponse,
    ProviderIdentity,
    build,
    error_response,
    json_body,
    no_access,
    no_credit,
    no_model,
    quota,
    rejected,
    too_long,
    usual,
)
from evalbench.providers.wire.headers import server_time
from evalbench.providers.wire.lenient import as_object, as_text
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.transport import connection_error, unreachable

NAMES = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
"""Errors by status; lines of batches have only the status."""
_STATUS = {name: status for status, name in NAMES.items()}
_SIGNED_BADLY = frozenset(
    {"InvalidSignatureException", "SignatureDoesNotMatch", "RequestTimeTooSkewed"}
)
_UNKNOWN_KEY = frozenset(
    {
        *("UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId"),
        *("MissingAuthenticationTokenException", "MissingAuthenticationToken"),
        *("IncompleteSignature", "IncompleteSignatureException", "AuthFailure", "NotAuthorized"),
    }
)
_SKEW = re.compile(r"signature (?:expired|not yet current)|request time.{0,40}skewed", re.I)
_BAD_BEARER = re.compile(r"bearer token|api key (?:is|has|format)|valid api key", re.I)
_PER_DAY = re.compile(r"\bper day\b|\bdaily\b", re.I)
_NEEDS_PROFILE = re.compile(r"on-demand throughput isn.{1,3}t supported|inference profile", re.I)
_NO_MODEL = re.compile(
    r"model identifier is invalid|could not resolve the foundation model|end of its life"
    r"|model(?: id)? .{0,80}(?:not found|does not exist|is not supported in)"
    r"|invalid model identifier",
    re.I | re.S,
)
_LATENCY = re.compile(r"latency (?:performance|configuration|profile)|performance ?config", re.I)
_FORM = re.compile(r"use case details|agreement", re.I)
_PAYMENT = re.compile(r"payment instrument|payment method", re.I)
_BAD_TIMES: dict[str, tuple[type[ProviderError], str, bool]] = {
    "ModelNotReadyException": (Overloaded, "{} is still loading the model", False),
    "ServiceUnavailableException": (Overloaded, "{} has no capacity just now", False),
    "ModelTimeoutException": (ServerFault, "{}: the model ran out of time", True),
    "ModelErrorException": (ServerFault, "{}: the model failed", True),
    "ModelStreamErrorException": (ServerFault, "{}: the model failed", True),
    "InternalServerException": (ServerFault, "{} failed", True),
}


def hidden_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to an error inside a good response; None if there is none."""
    kind = _from_json(body)
    return _STATUS.get(kind, 500) if kind and "output" not in body else None


def _from_json(body: object) -> str:
    """An error's name from the body; gateways may have dropped the header that has it."""
    return as_text(as_object(body).get("__type")).rpartition("#")[2]


def read_error(
    answered: Answered,
    who: ProviderIdentity,
    model: str,
    scrub: SecretScrubber,
    *,
    region: str,
    source: str,
) -> ProviderError:
    """The error to raise: by its name if that is decisive, else by the status.

    Args:
        answered: the response.
        who: the provider.
        model: the requested model; empty if the request was not about a model.
        scrub: removes secrets.
        region: the region of the request.
        source: where the credentials came from, for the hint.
    """
    body = json_body(answered)
    fields: dict[str, object] | None = None
    if isinstance(body, dict) and ("message" in body or "Message" in body):
        fields = {"message": body.get("message") or body.get("Message")}
    kind = error_type(answered) or _from_json(body) or _from_xml(answered, "Code")
    if fields is None and kind:
        fields = {"message": _from_xml(answered, "Message")}
    response = error_response(
        answered, scrub, fields and {**fields, "type": kind},
        answered.headers.get("x-amzn-requestid", ""),
    )  # fmt: skip
    if found := _credentials(answered, response, who, kind, source):
        return found
    if kind in _BAD_TIMES:
        error, what, billed = _BAD_TIMES[kind]
        return build(error, what.format(who.title), response, billed=billed)
    match kind:
        case "ThrottlingException" | "TooManyRequestsException" | "Throttling":
            if _PER_DAY.search(response.message):
                return quota(response, who)
            return build(RateLimited, f"{who.title} asks to slow down", response)
        case "ServiceQuotaExceededException":
            return quota(response, who)
        case "AccessDeniedException" | "AccessDenied":
            return _denied(response, who, model, region)
        case "ValidationException":
            return _invalid(response, who, model, region)
        case "ResourceNotFoundException":
            return _not_found(response, who, model, region)
    return usual(response, who, model)


def _from_xml(answered: Answered, name: str) -> str:
    """An element of an STS error, which is XML."""
    found = re.search(rf"<{name}>([^<]*)</{name}>".encode(), answered.body)
    return found[1].decode("utf-8", "replace") if found else ""


def _credentials(
    answered: Answered, response: ErrorResponse, who: ProviderIdentity, kind: str, source: str
) -> ProviderError | None:
    """An authentication or permission error; None for others."""
    if kind in EXPIRED:
        return build(
            BadKey, "the AWS session has expired", response,
            hint=f"log in again ({source}), then resume the run; answers so far are kept",
        )  # fmt: skip
    if kind in _SIGNED_BADLY:
        if _SKEW.search(response.message):
            return _skewed(answered, response)
        return build(
            BadKey, "AWS does not accept the signature: the secret key does not fit the access key",
            response, hint=f"check both halves of the key ({source})",
        )  # fmt: skip
    if kind in _UNKNOWN_KEY or (
        kind == "AccessDeniedException" and _BAD_BEARER.search(response.message)
    ):
        return build(
            BadKey, f"{who.title} does not accept the key", response,
            hint=f"make a new one at {who.key_page}, or check where it came from: {source}",
        )  # fmt: skip
    return None


def _skewed(answered: Answered, response: ErrorResponse) -> ProviderError:
    off = ""
    if minutes := round((time.time() - server_time(answered.headers)) / 60):
        off = f" by {counted(abs(minutes), 'minute')} ({'ahead' if minutes > 0 else 'behind'})"
    return build(
        BadKey, f"this machine's clock is wrong{off}, so AWS takes no signature of it", response,
        hint="set the clock (timedatectl set-ntp true), then resume the run",
    )  # fmt: skip


def _denied(
    response: ErrorResponse, who: ProviderIdentity, model: str, region: str
) -> ProviderError:
    if _PAYMENT.search(response.message):
        return no_credit(response, who)
    error = no_access(response, who, model)
    error.what = (
        f"{who.title} does not let these credentials use {model!r} in {region}"
        if model
        else f"{who.title} does not let these credentials do this in {region}"
    )
    error.hint = (
        "allow bedrock:InvokeModel for the model and its profile, and ask for access to"
        " the model on the Model access page of the Bedrock console"
    )
    return error


def _invalid(
    response: ErrorResponse, who: ProviderIdentity, model: str, region: str
) -> ProviderError:
    message = response.message
    if model and _NEEDS_PROFILE.search(message) and "isn" in message:
        return needs_profile(response, who, model, region)
    if model and _NO_MODEL.search(message):
        return _nowhere(response, who, model, region)
    if "operation not allowed" in message.lower():
        return build(
            AccessDenied, f"this AWS account may not use Bedrock's models in {region}", response,
            hint="open a case with AWS Support; new accounts are let in there",
        )  # fmt: skip
    if _LATENCY.search(message):
        error = rejected(response, who)
        error.param = "performanceConfig.latency"
        return error
    if "too many input tokens" in message.lower() or "input is too long" in message.lower():
        return too_long(response)
    return usual(response, who, "")


def needs_profile(
    response: ErrorResponse, who: ProviderIdentity, model: str, region: str
) -> ProviderError:
    """The model can be called only through an inference profile."""
    base = model_name(model).base
    names = [f"{geography}.{base}" for geography in (geography_of(region), "global")]
    return build(
        NoSuchModel,
        f"{who.title} answers for {model!r} through an inference profile only",
        response,
        hint="name the profile: " + " or ".join(f"--model {who.name}/{name}" for name in names),
    )  # fmt: skip


def _not_found(
    response: ErrorResponse, who: ProviderIdentity, model: str, region: str
) -> ProviderError:
    if _FORM.search(response.message):
        return build(
            AccessDenied, f"this AWS account has not said what it wants {model!r} for", response,
            hint="fill in the use case form on the Model access page of the Bedrock console",
        )  # fmt: skip
    return _nowhere(response, who, model, region) if model else rejected(response, who)


def _nowhere(
    response: ErrorResponse, who: ProviderIdentity, model: str, region: str
) -> ProviderError:
    error = no_model(response, who, model)
    error.what = f"{who.title} has no model {model!r} in {region}"
    error.hint = f"see what there is in a region: evalbench models {who.name} --region {region}"
    if (named := model_name(model).region) not in ("", region):
        error.hint = f"the ARN is of {named}: --region {named}"
    return error


_NO_CREDENTIALS = frozenset(
    {
        *("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"),
        *("MetadataRetrievalError", "NoAuthTokenError", "SSOTokenLoadError"),
        *("UnauthorizedSSOTokenError", "TokenRetrievalError", "SSOError", "LoginError"),
        *("LoginRefreshRequired", "LoginTokenLoadError", "PendingAuthorizationExpiredError"),
    }
)
_NEVER_CONNECTED = frozenset(
    {
        *("EndpointConnectionError", "ProxyConnectionError"),
        *("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError"),
    }
)


def explain(
    error: BaseException, who: ProviderIdentity, scrub: SecretScrubber, source: str
) -> ProviderError:
    """Interpret a botocore exception without a response.

    Args:
        error: raised while a client was made or a request sent.
        who: the provider.
        scrub: removes secrets.
        source: where the credentials come from, for the hint.
    """
    name = type(error).__name__
    why = scrub.text(str(error), 300)
    if name in _NO_CREDENTIALS:
        missing = name == "NoCredentialsError"
        return BadKey(
            "there is no key for Amazon Bedrock: AWS's chain finds no credentials here"
            if missing
            else "AWS's chain finds no credentials that work",
            why="" if missing else why,
            hint="aws configure, or aws sso login; or name a profile with --profile; or evalbench"
            f" keys set {who.name}"
            if missing
            else f"log in again ({source})",
        )
    match name:
        case "ProfileNotFound":
            return RunFatal(
                "there is no such profile in AWS's configuration", why=why,
                hint="aws configure list-profiles names those there are; see --profile",
            )  # fmt: skip
        case "NoRegionError":
            return RunFatal(
                "it is not said in which AWS region to ask",
                hint="--region us-east-1, or AWS_REGION, or a region in the profile",
            )
        case "InvalidRegionError" | "UnknownRegionError":
            return RunFatal("that is no AWS region", why=why, hint="for example --region us-east-1")
        case "ParamValidationError":
            return rejected(ErrorResponse(0, why), who, "boto3 does not take this call")
    if name in _NEVER_CONNECTED:
        reason = scrub.text(_root(error), 300)
        hint = "check the network and --region"
        blamed = name in ("ProxyError", "ProxyConnectionError")
        return unreachable(who.title, who.address, reason, proxy_at_fault=blamed, hint=hint)
    if name.endswith(("ConfigError", "ConfigurationError", "ConfigParseError")):
        return RunFatal("AWS's configuration cannot be used", why=why, hint="check ~/.aws/config")
    return connection_error(error, who.title, who.address, scrub)


def _root(error: BaseException) -> str:
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or str(error)

"""From an error response to the error class that tells the engine what to do.

Each protocol first parses its errors into an :class:`ErrorResponse`; whatever its own codes do not
decide goes to :func:`usual`, which uses the HTTP status.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    CallRejected,
    ContextTooLong,
    NoCredit,
    NoSuchModel,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RunFatal,
    ServerFault,
    resume_after,
)
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.exchange import Answered
from evalbench.providers.wire.headers import retry_after
from evalbench.providers.wire.lenient import decode, encode
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.transport import unreachable


@dataclass(frozen=True, slots=True)
class ProviderIdentity:
    """The provider, as described in error messages."""

    name: str
    title: str
    key_page: str
    address: Address

    @property
    def bare(self) -> str:
        """The title in a form that can follow an article."""
        return self.title.removeprefix("the ")


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response, independent of the protocol and without any key.

    Attributes:
        status: HTTP status, or the one named in the body of a 200.
        message: the provider's message.
        kind: its error type.
        code: its error code.
        param: the request field that it blames.
        known: whether the body has the API's error format at all.
        page: whether the body is a web page.
    """

    status: int
    message: str = ""
    kind: str = ""
    code: str = ""
    param: str = ""
    known: bool = False
    page: bool = False
    retry_after: float | None = None
    request_id: str = ""
    body: str = ""


def error_response(
    answered: Answered, scrub: SecretScrubber, error: dict[str, object] | None, request_id: str
) -> ErrorResponse:
    """Collect the content of an error response.

    Args:
        answered: the response.
        scrub: removes keys.
        error: the body's error object: ``message``, ``type``, ``code``, ``param``.
        request_id: the provider's request id.
    """
    text = answered.body.decode("utf-8", "replace")
    page = text.lstrip()[:1] == "<"
    fields = error or {}

    def field(name: str) -> str:
        value = fields.get(name)
        if value is None:
            return ""
        return scrub.text(value if isinstance(value, str) else encode(value).decode(), 600)

    return ErrorResponse(
        status=answered.status,
        message=field("message") or ("" if page else scrub.text(text.strip(), 300)),
        kind=field("type"),
        code=field("code"),
        param=field("param"),
        known=error is not None,
        page=page,
        retry_after=retry_after(answered.headers),
        request_id=scrub.text(request_id, 200),
        body=scrub.text(text, 4_000),
    )


def json_body(answered: Answered) -> object:
    """The parsed body, or None if it cannot be read as JSON."""
    try:
        return decode(answered.body, answered.headers.get("content-type") or "")[0]
    except ValueError:
        return None


def error_fields(answered: Answered) -> dict[str, Any] | None:
    """The ``error`` object of a body; None if there is none."""
    body = json_body(answered)
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else None


def build(
    kind: type[ProviderError],
    what: str,
    response: ErrorResponse,
    *,
    hint: str = "",
    billed: bool = False,
) -> ProviderError:
    """An exception of the tree with all details of the response."""
    error = kind(
        what,
        why=response.message,
        hint=hint,
        status=response.status,
        retry_after=response.retry_after,
        possibly_billed=billed,
        body=response.body,
        request_id=response.request_id,
    )
    error.param = response.param
    return error


_TOO_LONG = re.compile(
    r"prompt is too long|input is too long|maximum prompt length|context[ _]length"
    r"|context window|context[ _]size|maximum context|exceeds? (?:the )?context"
    r"|too many (?:input )?tokens|max_model_len|longer than the model's context"
    r"|maximum model length|exceeds max length|exceeded model token limit|range of input length"
    r"|`inputs` tokens \+ `max_new_tokens`",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"no such model|(?:invalid|unknown) model\b|not a valid model|decommissioned"
    r"|\bmodel\b.{0,120}?(?:not found|does not exist|doesn't exist|not exist|is not available"
    r"|has been retired|no longer (?:available|supported))",
    re.IGNORECASE | re.DOTALL,
)
_NO_CREDIT = re.compile(
    r"credit balance|insufficient (?:balance|credit|funds)|insufficient_quota|all available credits"
    r"|exceeded (?:your )?current quota|out of credits|(?:more|any) credits|payment method|unpaid"
    r"|past invoices|organization_restricted|budget has been exceeded",
    re.IGNORECASE,
)
_PER_DAY = re.compile(
    r"(?:\bper[ _-]?|/ ?)(?:day|month)\b|\b[RT]PD\b|spend_limit"
    r"|\b(?:daily|monthly)\b.{0,40}\b(?:limit|quota|threshold|allocation)",
    re.IGNORECASE,
)
_MORE_THAN_A_MINUTES = re.compile(r"request too large for", re.IGNORECASE)
_ABOUT_A_MODEL = re.compile(r"model|\bendpoint with name|^function '", re.IGNORECASE)
_WRONG_KEY = re.compile(r"(?:incorrect|invalid) api[ _-]?key", re.IGNORECASE)


def looks_too_long(message: str) -> bool:
    """Whether a message says that a prompt is too long."""
    return bool(_TOO_LONG.search(message))


def bad_key(response: ErrorResponse, who: ProviderIdentity) -> ProviderError:
    """The key is invalid. The engine adds where the key came from."""
    where = f" at {who.key_page}" if who.key_page else ""
    return build(
        BadKey,
        f"{who.title} does not accept the key",
        response,
        hint=f"make a new one{where} and store it: evalbench keys set {who.name}",
    )


def no_key(who: ProviderIdentity) -> ProviderError:
    """The provider requires a key and there is none."""
    where = f"get one at {who.key_page} and " if who.key_page else ""
    return BadKey(
        f"there is no key for {who.title}", hint=f"{where}store it: evalbench keys set {who.name}"
    )


def no_credit(response: ErrorResponse, who: ProviderIdentity) -> ProviderError:
    """The account has no credit left."""
    return build(
        NoCredit,
        f"the {who.bare} account has no credit left",
        response,
        hint="add credit there, then resume the run; answers so far are kept",
    )


def no_model(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    """The model does not exist; the caller may add similar names."""
    return build(
        NoSuchModel,
        f"{who.title} has no model {model!r}",
        response,
        hint=see_models(who),
    )


def see_models(who: ProviderIdentity) -> str:
    """The hint for a missing model if no better one is known."""
    return f"see what there is: evalbench models {who.name}"


def not_an_api(response: ErrorResponse, who: ProviderIdentity) -> ProviderError:
    """The address responds, but not like this API."""
    came = f"{response.status} with {'a web page' if response.page else 'an unknown kind of error'}"
    if who.address.official:
        what = f"{who.address.url} answered {came}"
        hint = "a proxy or a portal may stand in between: open the address in a browser"
    else:
        what = f"{who.address.url} is not the address of an API: it answered {came}"
        hint = "check --base-url; the address of an API often ends in /v1"
    return build(RunFatal, what, response, hint=hint)


def too_long(response: ErrorResponse) -> ProviderError:
    """The prompt is too long."""
    return build(
        ContextTooLong,
        "the prompt, with room for the answer, is longer than the model's context",
        response,
        hint="lower --max-tokens, use fewer examples, or take a model with a longer context",
    )


def rejected(
    response: ErrorResponse, who: ProviderIdentity, what: str = "", hint: str = ""
) -> ProviderError:
    """This particular call can never succeed."""
    return build(CallRejected, what or f"{who.title} refuses this call", response, hint=hint)


def quota(response: ErrorResponse, who: ProviderIdentity) -> ProviderError:
    """A quota that does not refill during the run."""
    wait = response.retry_after
    return build(
        QuotaExhausted,
        f"the {who.bare} quota for today or this month is used up",
        response,
        hint=resume_after(wait)
        if wait
        else "resume the run when it refills; answers so far are kept",
    )


def usual(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    """Interpret an error response by its HTTP status and by phrases that many APIs share.

    Args:
        response: the error response.
        who: the provider.
        model: the requested model; empty if the request was not about a model.
    """
    status = response.status
    if rule := _BY_STATUS.get(status):
        return rule(response, who, model)
    if 300 <= status < 400:
        return not_an_api(response, who)
    if status >= 500:
        return _server_fault(response, who, model)
    return rejected(response, who)


def _bad_request(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    if looks_too_long(response.message) or "context_length" in response.code:
        return too_long(response)
    if _NO_CREDIT.search(f"{response.code} {response.message}"):
        return no_credit(response, who)
    if _WRONG_KEY.search(response.message):
        return bad_key(response, who)
    if model and response.param in ("", "model") and _NO_MODEL.search(response.message):
        return no_model(response, who, model)
    if response.page:
        return not_an_api(response, who)
    return rejected(response, who)


def _denied(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    if response.page:
        return not_an_api(response, who)
    if _NO_CREDIT.search(response.message):
        return no_credit(response, who)
    return no_access(response, who, model)


def no_access(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    """The key is valid but lacks this permission."""
    what = f"may not use {model!r}" if model else "may not do this"
    return build(
        AccessDenied,
        f"this {who.bare} key {what}",
        response,
        hint="ask for access there, take another key, or another model",
    )


def _not_found(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    about = _ABOUT_A_MODEL.search(f"{response.message} {response.code}")
    if model and response.known and about:
        return no_model(response, who, model)
    return not_an_api(response, who)


def _proxy_refuses(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    """Only a proxy answers so; where there is a tunnel, its refusal is an exception instead."""
    error = unreachable(who.title, who.address, response.message, proxy_at_fault=True)
    error.status, error.body = response.status, response.body
    return error


def _limited(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    text = f"{response.code} {response.kind} {response.message}"
    if _NO_CREDIT.search(text):
        return no_credit(response, who)
    if _PER_DAY.search(text):
        return quota(response, who)
    if _MORE_THAN_A_MINUTES.search(response.message):
        return _over_the_limit(response, who)
    return build(RateLimited, f"{who.title} asks to slow down", response)


def _over_the_limit(response: ErrorResponse, who: ProviderIdentity) -> ProviderError:
    """The request alone exceeds a rate limit, so that no wait helps."""
    return rejected(
        response,
        who,
        "the request, with room for the answer, is larger than this key's tokens per minute",
        "lower --max-tokens, use fewer examples, or ask for a higher limit there",
    )


def _full(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    return build(Overloaded, f"{who.title} has no capacity just now", response)


def _too_large(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    if _MORE_THAN_A_MINUTES.search(response.message):
        return _over_the_limit(response, who)
    return rejected(
        response,
        who,
        f"the request is larger than {who.title} takes",
        "send fewer or smaller images",
    )


_NEVER_BEGUN = frozenset({501, 503, 505, 511, 521, 523, 525, 526, 529, 530})
"""Statuses above 500 that mean the work never began: not implemented, no capacity, or a gateway
that could not reach the server behind it."""


def may_be_billed(status: int) -> bool:
    """Whether the work may have been done, and charged, despite this error.

    A failure during the work (424), a timeout (408, 499) and most statuses from 500 on leave that
    open. A refusal (other statuses from 400 on), a rate limit (429) and a lack of capacity (498,
    503, 529) come before the work begins. See docs/money.md.
    """
    return status in (408, 424, 499) or (500 <= status < 600 and status not in _NEVER_BEGUN)


def _server_fault(response: ErrorResponse, who: ProviderIdentity, model: str) -> ProviderError:
    billed = may_be_billed(response.status)
    return build(ServerFault, f"{who.title} failed with {response.status}", response, billed=billed)


_BY_STATUS: dict[int, Callable[[ErrorResponse, ProviderIdentity, str], ProviderError]] = {
    400: _bad_request,
    401: lambda response, who, model: bad_key(response, who),
    402: lambda response, who, model: no_credit(response, who),
    403: _denied,
    404: _not_found,
    405: lambda response, who, model: not_an_api(response, who),
    407: _proxy_refuses,
    408: _server_fault,
    409: _server_fault,
    410: _not_found,
    412: _bad_request,
    413: _too_large,
    422: _bad_request,
    424: _server_fault,
    425: _server_fault,
    429: _limited,
    498: _full,
    499: _server_fault,
    503: _full,
    529: _full,
}

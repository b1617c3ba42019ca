"""Bodies of good answers: parsing them, and what it means when that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from evalbench.engine.calls import Outcome, RateLimits, Reply
from evalbench.engine.errors import ProviderError, ServerFault
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.failures import (
    ErrorResponse,
    ProviderIdentity,
    error_response,
    not_an_api,
)
from evalbench.providers.wire.lenient import decode, encode, odd_counts
from evalbench.providers.wire.scrub import SecretScrubber

ReadBody = Callable[[Mapping[str, Any], Arrival], Reply]
"""Turns a parsed good answer into a reply; may raise what indexing raises, or BrokenOff."""

_ANSWERS = (Outcome.OK, Outcome.TRUNCATED)


class BrokenOff(ValueError):
    """By the provider's own word this is no whole answer. ``str()`` is that word."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A good response with its body parsed, without the key, and what was odd about its form."""

    answered: Answered
    body: dict[str, Any]
    notes: tuple[str, ...]


def keyless(
    raw: bytes, scrub: SecretScrubber, content_type: str = ""
) -> tuple[Any, tuple[str, ...]]:
    """What :func:`decode` makes of a body, without the key."""
    value, notes = decode(scrub.exact(raw), content_type)
    if notes:
        # In another encoding the key was made of other bytes.
        value = orjson.loads(scrub.exact(encode(value)))
    return value, notes


def parsed(answered: Answered, who: ProviderIdentity, scrub: SecretScrubber) -> dict[str, Any]:
    """The body of a good response that is no answer; raises as :func:`open_body`, never billed."""
    return open_body(answered, who, scrub, billed=False).body


def open_body(
    answered: Answered, who: ProviderIdentity, scrub: SecretScrubber, *, billed: bool = True
) -> Opened:
    """Parse the body of a good response, as far as any reader could.

    Args:
        answered: the response.
        who: the provider.
        scrub: takes the key out.
        billed: whether an answer that cannot be read may have been charged.

    Raises:
        RunFatal: when the body is a web page: the address is no API.
        ServerFault: when it is no JSON object.
    """
    try:
        body, notes = keyless(answered.body, scrub, answered.headers.get("content-type") or "")
    except ValueError:
        said = error_response(answered, scrub, None, "")
        if said.page:
            raise not_an_api(said, who) from None
        raise unreadable(said, who, "its body is not JSON", billed=billed) from None
    if not isinstance(body, dict):
        said = error_response(answered, scrub, None, "")
        raise unreadable(said, who, "its body is not a JSON object", billed=billed)
    return Opened(answered, body, notes)


def open_good(
    answered: Answered,
    who: ProviderIdentity,
    scrub: SecretScrubber,
    failed: Callable[[Mapping[str, Any]], int | None],
) -> Opened | Answered:
    """A good response, opened; every other as it is.

    Args:
        answered: the response.
        who: the provider.
        scrub: takes the key out.
        failed: the status that a failure inside a good response deserves; None for an answer.
            Such a response comes back with that status.

    Raises:
        RunFatal, ServerFault: as :func:`open_body`.
    """
    if not answered.good:
        return answered
    opened = open_body(answered, who, scrub)
    status = failed(opened.body)
    return opened if status is None else replace(answered, status=status)


def read_reply(
    opened: Opened,
    prepared: Prepared,
    who: ProviderIdentity,
    scrub: SecretScrubber,
    read: ReadBody,
    limits: RateLimits | None,
    request_id: str,
) -> Reply:
    """A good answer as a reply.

    Args:
        opened: the response.
        prepared: the request.
        who: the provider.
        scrub: takes the key out.
        read: turns the parsed body into a reply.
        limits: for the reply.
        request_id: name of the header with the request's id.

    Raises:
        ServerFault: when there is no answer in the body.
    """
    answered, body = opened.answered, opened.body
    identity = scrub.identity(answered.headers.get(request_id) or body.get("id") or "")
    arrival = Arrival(identity, limits, prepared.notes, answered.seconds, opened.notes)
    return reply_of(body, arrival, who, read, lambda: error_response(answered, scrub, None, ""))


def reply_of(
    body: Mapping[str, Any],
    arrival: Arrival,
    who: ProviderIdentity,
    read: ReadBody,
    said: Callable[[], ErrorResponse],
) -> Reply:
    """A parsed body as a reply; ``said`` describes it when there is no answer in it.

    Raises:
        ServerFault: when there is none.
    """
    try:
        reply = read(body, arrival)
    except BrokenOff as error:
        raise ServerFault(
            f"{who.title} broke the answer off: {error}",
            possibly_billed=True,
            body=said().body,
            request_id=arrival.request_id,
        ) from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        why = f"its body is not an answer ({type(error).__name__}: {error})"
        raise unreadable(said(), who, why, billed=True) from None
    return _noted(reply, arrival.notes + odd_counts(body))


def _noted(reply: Reply, notes: tuple[str, ...]) -> Reply:
    """The reply with what was odd about its form."""
    usage = reply.usage
    if usage.output_tokens == 0 and reply.outcome in _ANSWERS and (reply.text or reply.reasoning):
        notes += ("0 output tokens beside a text count as not reported",)
        reply = replace(reply, usage=replace(usage, output_tokens=None))
    return replace(reply, notes=reply.notes + notes) if notes else reply


def unreadable(
    said: ErrorResponse, who: ProviderIdentity, why: str, *, billed: bool
) -> ProviderError:
    """An answer came, but nothing can be made of it."""
    return ServerFault(
        f"{who.title} sent an answer that cannot be read",
        why=why,
        status=said.status,
        possibly_billed=billed,
        body=said.body,
    )

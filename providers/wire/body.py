"""Bodies of successful answers: parsing them, and what a parse failure means."""

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
from evalbench.providers.wire.reply_scrubbing import SecretScrubber

ReadBody = Callable[[Mapping[str, Any], Arrival], Reply]
"""Converts a parsed successful answer to a reply; may raise what indexing raises, or BrokenOff."""

_ANSWERS = (Outcome.OK, Outcome.TRUNCATED)


class BrokenOff(ValueError):
    """The provider itself reports an incomplete answer. ``str()`` gives its reason."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A successful response with its body parsed, without the key, and any oddities in its form."""

    answered: Answered
    body: dict[str, Any]
    notes: tuple[str, ...]


def keyless(
    raw: bytes, scrub: SecretScrubber, content_type: str = ""
) -> tuple[Any, tuple[str, ...]]:
    """The result of :func:`decode` for a body, without the key."""
    # Cut out of two-byte characters, a key would take half of one with it.
    value, notes = decode(raw if b"\0" in raw[:4] else scrub.exact(raw), content_type)
    if notes:
        # In another encoding the key would consist of other bytes.
        value = orjson.loads(scrub.exact(encode(value)))
    return value, notes


def parsed(answered: Answered, who: ProviderIdentity, scrub: SecretScrubber) -> dict[str, Any]:
    """A good response's body that is not an answer; raises as :func:`open_body`, never billed."""
    return open_body(answered, who, scrub, billed=False).body


def open_body(
    answered: Answered, who: ProviderIdentity, scrub: SecretScrubber, *, billed: bool = True
) -> Opened:
    """Parse the body of a successful response, as leniently as possible.

    Args:
        answered: the response.
        who: the provider.
        scrub: removes the key.
        billed: whether an unreadable answer may have been charged.

    Raises:
        RunFatal: the body is a web page, so the address is not an API.
        ServerFault: it is not a JSON object.
    """
    try:
        body, notes = keyless(answered.body, scrub, answered.headers.get("content-type") or "")
    except ValueError:
        response = error_response(answered, scrub, None, "")
        if response.page:
            raise not_an_api(response, who) from None
        raise unreadable(response, who, "its body is not JSON", billed=billed) from None
    if not isinstance(body, dict):
        response = error_response(answered, scrub, None, "")
        raise unreadable(response, who, "its body is not a JSON object", billed=billed)
    return Opened(answered, body, notes)


def open_good(
    answered: Answered,
    who: ProviderIdentity,
    scrub: SecretScrubber,
    failed: Callable[[Mapping[str, Any]], int | None],
) -> Opened | Answered:
    """A successful response, opened; any other is returned unchanged.

    Args:
        answered: the response.
        who: the provider.
        scrub: removes the key.
        failed: the status equivalent to a failure inside a successful response; None for an answer.
            Such a response is returned with that status.

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
    """A successful answer as a reply.

    Args:
        opened: the response.
        prepared: the request.
        who: the provider.
        scrub: removes the key.
        read: converts the parsed body to a reply.
        limits: rate limits to attach to the reply.
        request_id: name of the request id's header.

    Raises:
        ServerFault: the body contains no answer.
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
    response: Callable[[], ErrorResponse],
) -> Reply:
    """A parsed body as a reply; ``response`` describes it if it contains no answer.

    Raises:
        ServerFault: it contains no answer.
    """
    try:
        reply = read(body, arrival)
    except BrokenOff as error:
        raise ServerFault(
            f"{who.title} broke the answer off: {error}",
            possibly_billed=True,
            body=response().body,
            request_id=arrival.request_id,
        ) from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        why = f"its body is not an answer ({type(error).__name__}: {error})"
        raise unreadable(response(), who, why, billed=True) from None
    return _noted(reply, arrival.notes + odd_counts(body))


def _noted(reply: Reply, notes: tuple[str, ...]) -> Reply:
    """The reply with notes on oddities in its form."""
    usage = reply.usage
    if usage.output_tokens == 0 and reply.outcome in _ANSWERS and (reply.text or reply.reasoning):
        notes += ("0 output tokens beside a text count as not reported",)
        reply = replace(reply, usage=replace(usage, output_tokens=None))
    return replace(reply, notes=reply.notes + notes) if notes else reply


def unreadable(
    response: ErrorResponse, who: ProviderIdentity, why: str, *, billed: bool
) -> ProviderError:
    """An answer arrived that cannot be interpreted."""
    return ServerFault(
        f"{who.title} sent an answer that cannot be read",
        why=why,
        status=response.status,
        possibly_billed=billed,
        body=response.body,
    )

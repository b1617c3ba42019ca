"""Bodies of good answers: parsing them, and what it means when that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from evalbench.engine.calls import RateLimits, Reply
from evalbench.engine.errors import ProviderError, ServerFault
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.failures import Told, Who, not_an_api, told
from evalbench.providers.wire.scrub import Scrub


def parsed(answered: Answered, who: Who, scrub: Scrub, *, billed: bool = False) -> dict[str, Any]:
    """The body of a good answer as a JSON object, without the key.

    Args:
        answered: the response.
        who: the provider.
        scrub: takes the key out.
        billed: whether an answer that cannot be read may have been charged.

    Raises:
        RunFatal: when the body is a web page: the address is no API.
        ServerFault: when it is damaged.
    """
    raw = scrub.exact(answered.body)
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        said = told(answered, scrub, None, "")
        if said.page:
            raise not_an_api(said, who) from None
        raise unreadable(said, who, "its body is not JSON", billed=billed) from None
    if not isinstance(body, dict):
        said = told(answered, scrub, None, "")
        raise unreadable(said, who, "its body is not a JSON object", billed=billed)
    return body


def read_reply(
    answered: Answered,
    prepared: Prepared,
    who: Who,
    scrub: Scrub,
    read: Callable[[Mapping[str, Any], Arrival], Reply],
    limits: RateLimits | None,
    request_id: str,
) -> Reply:
    """A good answer as a reply.

    Args:
        answered: the response.
        prepared: the request.
        who: the provider.
        scrub: takes the key out.
        read: turns the parsed body into a reply; may raise what indexing raises.
        limits: for the reply.
        request_id: name of the header with the request's id.

    Raises:
        ProviderError: when there is no answer in the body.
    """
    body = parsed(answered, who, scrub, billed=True)
    identity = answered.headers.get(request_id) or body.get("id") or ""
    arrival = Arrival(scrub.identity(identity), limits, prepared.notes, answered.seconds)
    return reply_of(body, arrival, who, read, lambda: told(answered, scrub, None, ""))


def reply_of(
    body: Mapping[str, Any],
    arrival: Arrival,
    who: Who,
    read: Callable[[Mapping[str, Any], Arrival], Reply],
    said: Callable[[], Told],
) -> Reply:
    """A parsed body as a reply; ``said`` describes it when there is no answer in it.

    Raises:
        ServerFault: when there is none.
    """
    try:
        return read(body, arrival)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        why = f"its body is not an answer ({type(error).__name__}: {error})"
        raise unreadable(said(), who, why, billed=True) from None


def unreadable(said: Told, who: Who, why: str, *, billed: bool) -> ProviderError:
    """An answer came, but nothing can be made of it."""
    return ServerFault(
        f"{who.title} sent an answer that cannot be read",
        why=why,
        status=said.status,
        possibly_billed=billed,
        body=said.body,
    )

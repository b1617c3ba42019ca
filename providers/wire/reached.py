"""Whether a request had a connection to leave on: what never left was never charged.

The exceptions of HTTP clients do not always tell a connection that broke while it
was being made (in the TLS handshake, at a proxy) from one that was cut later, and a
deadline tells nothing at all. So the clients note when they have a connection.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any


class Attempt:
    """One attempt at a call.

    Attributes:
        reached: whether its request has had a connection; None: its client does not tell.
    """

    __slots__ = ("reached",)

    def __init__(self) -> None:
        self.reached: bool | None = None


_attempt: ContextVar[Attempt | None] = ContextVar("attempt", default=None)


def new_attempt() -> Attempt:
    """Begin an attempt in the running task."""
    attempt = Attempt()
    _attempt.set(attempt)
    return attempt


def about_to_send() -> None:
    """A client that notes its connections sends the next request."""
    if (attempt := _attempt.get()) is not None:
        attempt.reached = False


def connected() -> None:
    """The request has a connection, new or used before."""
    if (attempt := _attempt.get()) is not None:
        attempt.reached = True


def reached() -> bool | None:
    """See :class:`Attempt`; None where there is no attempt."""
    attempt = _attempt.get()
    return None if attempt is None else attempt.reached


def note_connections(session: Any) -> None:
    """Let an aiohttp session note when a request has its connection.

    Its own tracing would do, at three times the price for every request.
    """
    connector = session.connector
    connect = connector.connect

    async def noted(*args: Any, **kwargs: Any) -> Any:
        connection = await connect(*args, **kwargs)
        connected()
        return connection

    connector.connect = noted


def note_sdk_connections(client: Any) -> bool:
    """The same for an HTTPX client over aiohttp; False where it is built otherwise."""
    inside = getattr(client, "_transport", None)
    transports = [inside, *getattr(client, "_mounts", {}).values()]
    if not all(one is None or hasattr(one, "get_client") for one in transports) or not inside:
        return False
    for transport in filter(None, transports):
        _note_new_sessions(transport)
    return True


def _note_new_sessions(transport: Any) -> None:
    make = transport.get_client

    def made() -> Any:
        session = make()
        note_connections(session)
        return session

    transport.get_client = made

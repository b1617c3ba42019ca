"""Whether a request had a connection: if it was never sent, it was never charged.

The exceptions of HTTP clients do not reliably distinguish a connection that failed while being made
(in the TLS handshake, at a proxy) from one that was cut later, and a timeout says nothing at all.
So the clients record when they have a connection; the time to get one is limited here too.
"""

from __future__ import annotations

import socket
from contextvars import ContextVar
from typing import Any

CONNECT_S = 10.0
"""Time limit for a TCP connection and its TLS handshake, in seconds."""
REACH_S = 30.0
"""Time limit for all of it: looking up the name, a proxy's tunnel, one address after another."""


_PROBES_S = 60
KEEPALIVE: tuple[tuple[int, int, int], ...] = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, number, _PROBES_S)
        # The first of these is called TCP_KEEPALIVE on macOS.
        for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL")
        if (number := getattr(socket, name, None)) is not None
    ),
)
"""Socket options of every connection: while a model thinks for minutes, nothing else is sent, and
routers forget connections that are silent (a NAT gateway of AWS after 350 seconds)."""


class Attempt:
    """One attempt at a call.

    Attributes:
        reached: whether its request has had a connection; None: the client does not report it.
    """

    __slots__ = ("reached",)

    def __init__(self) -> None:
        self.reached: bool | None = None


_attempt: ContextVar[Attempt | None] = ContextVar("attempt", default=None)


def new_attempt() -> Attempt:
    """Begin an attempt in the current task."""
    attempt = Attempt()
    _attempt.set(attempt)
    return attempt


def about_to_send() -> None:
    """A client that records its connections sends the next request."""
    if (attempt := _attempt.get()) is not None:
        attempt.reached = False


def connected() -> None:
    """The request has a connection, new or reused."""
    if (attempt := _attempt.get()) is not None:
        attempt.reached = True


def reached() -> bool | None:
    """See :class:`Attempt`; None outside of an attempt."""
    attempt = _attempt.get()
    return None if attempt is None else attempt.reached


def note_connections(session: Any) -> None:
    """Make an aiohttp session record when a request has its connection, limit the wait for one, and
    keep connections alive.

    The limits replace those of each request: not every SDK has a way to set them, nor the socket's
    options. The session's own tracing would work as well, at three times the cost per request.
    """
    import aiohttp

    connector = session.connector
    connect = connector.connect
    limits = aiohttp.ClientTimeout(total=None, connect=REACH_S, sock_connect=CONNECT_S)

    async def noted(request: Any, traces: Any, **_: object) -> Any:
        connection = await connect(request, traces, limits)
        connected()
        return connection

    connector.connect = noted
    connector._socket_factory = _kept_alive


def _kept_alive(address: tuple[Any, ...]) -> socket.socket:
    """A socket for one of a host's addresses, as ``getaddrinfo`` lists them."""
    made = socket.socket(*address[:3])
    for option in KEEPALIVE:
        made.setsockopt(*option)
    return made


def note_sdk_connections(client: Any) -> bool:
    """The same for an HTTPX client over aiohttp; False if it is built differently."""
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

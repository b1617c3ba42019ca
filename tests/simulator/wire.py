"""Puts answers on the wire, whole or broken."""

from __future__ import annotations

import asyncio
import socket
import struct

from aiohttp import web

from tests.simulator.clock import Clock
from tests.simulator.exchange import Answer
from tests.simulator.faults import Fault

_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

_FOR_EVER = 1e9
"""Seconds until a hanging request ends by itself; resetting the clock ends it at once."""


class Gone(Exception):
    """The connection was cut on purpose; nothing more can be sent."""


def whole(answer: Answer) -> web.Response:
    """A well-behaved response."""
    answer.headers["Content-Type"] = answer.content_type
    return web.Response(body=answer.encoded(), status=answer.status, headers=answer.headers)


async def broken(
    request: web.BaseRequest, fault: Fault, answer: Answer, clock: Clock
) -> web.StreamResponse:
    """Send ``answer`` as spoiled as ``fault`` wants it.

    Raises:
        Gone: when the connection was cut.
    """
    body = answer.encoded()
    match fault.kind:
        case "reset_before_headers":
            _reset(request)
        case "close_before_headers":
            _close(request)
        case "hang":
            await clock.sleep(_FOR_EVER)
            _close(request)
        case "malformed_json":
            return _response(answer, body[: len(body) // 2] or b"{")
        case "empty_body":
            return _response(answer, b"")
        case "wrong_content_type":
            return web.Response(body=_PAGE, status=200, content_type="text/html")
        case _:
            return await _in_parts(request, fault, answer, body, clock)
    raise Gone


async def _in_parts(
    request: web.BaseRequest, fault: Fault, answer: Answer, body: bytes, clock: Clock
) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    response.content_type = answer.content_type
    response.content_length = len(body)
    await response.prepare(request)
    if fault.kind == "slow_body":
        size = max(1, len(body) // 8)
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        for piece in pieces:
            # Before a piece, not after: a client that has them all need not wait any more.
            await clock.sleep(fault.seconds / len(pieces))
            await response.write(piece)
        await response.write_eof()
        return response
    await response.write(body[: len(body) // 2])
    await _flushed(request)
    if fault.kind == "reset_after_headers":
        _reset(request)
    _close(request)
    raise Gone


async def _flushed(request: web.BaseRequest) -> None:
    transport = request.transport
    while transport is not None and transport.get_write_buffer_size():
        await asyncio.sleep(0)


def _response(answer: Answer, body: bytes) -> web.Response:
    return web.Response(
        body=body, status=answer.status, headers=answer.headers, content_type=answer.content_type
    )


def _reset(request: web.BaseRequest) -> None:
    """Cut so that the client reads ``connection reset``: no lingering, no farewell."""
    transport = request.transport
    if transport is not None:
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    raise Gone


def _close(request: web.BaseRequest) -> None:
    transport = request.transport
    if transport is not None:
        transport.close()
    raise Gone

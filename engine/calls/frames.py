"""The language of local workers: framed JSON on pipes.

A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON, an
object with ``type`` first. The engine speaks to the worker's standard input;
the worker answers on the pipe that was its standard output (it must point
descriptor 1 elsewhere before any library can print there).

Engine to worker::

    {"type":"load", ...}                     body of WorkerProvider.load_request; ``smaller``:
                                             halve the batch so often, memory ran out before;
                                             ``sharing``: so many workers share the processors
    {"type":"answer", "calls":[{"key":K, "call":{...}}, ...], "media":{SHA256:BASE64, ...}}
    {"type":"cancel", "keys":[K, ...]}       empty list: everything not yet answered
    {"type":"memory"}                        ask for a memory frame now
    {"type":"bye"}                           finish and exit 0

Worker to engine::

    {"type":"hello", "protocol":1, "pid":N}
    {"type":"progress", "what":TEXT, "done":N, "total":N|null, "unit":"B"|""}
    {"type":"loaded", "info":{...}}          device, dtype, attention, versions, parameters
    {"type":"reply", "key":K, "reply":{...}}
    {"type":"failed", "key":K, "error":CLASS, "what":TEXT, "why":TEXT, "cure":TEXT}
    {"type":"cancelled", "keys":[K, ...]}
    {"type":"memory", ...}                   bytes: used, peak, total (device), rss; busy_s
    {"type":"out-of-memory", "keys":[K, ...], "budget":N}   the worker halves its batch itself
    {"type":"fatal", "error":CLASS, "what":TEXT, "why":TEXT, "cure":TEXT}

``media`` holds the bytes of the images that the calls of the same frame name, each once;
it may be left out.

Calls are idempotent by key: a key that was answered before is answered again
from the worker's memory of this connection, and a key in work is not doubled.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import orjson

PROTOCOL = 1
MAX_FRAME = 512 * 1024 * 1024
_LENGTH = struct.Struct(">I")


def encode(frame: Mapping[str, Any]) -> bytes:
    """The bytes of one frame."""
    body = orjson.dumps(frame)
    return _LENGTH.pack(len(body)) + body


def read_blocking(stream: BinaryIO) -> dict[str, Any] | None:
    """The next frame from a blocking stream, or None at end of stream."""
    head = _read_exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise ValueError(f"frame of {size} bytes")
    body = _read_exactly(stream, size)
    if body is None:
        return None
    frame: dict[str, Any] = orjson.loads(body)
    return frame


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    chunks = bytearray()
    while len(chunks) < size:
        piece = stream.read(size - len(chunks))
        if not piece:
            return None
        chunks += piece
    return bytes(chunks)


async def read_frame(stream: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next frame from an asyncio stream, or None when the other side is gone."""
    body = await read_body(stream)
    if body is None:
        return None
    frame: dict[str, Any] = orjson.loads(body)
    return frame


async def read_body(stream: asyncio.StreamReader) -> bytes | None:
    """The bytes of the next frame, for who only hands it on."""
    try:
        (size,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        if size > MAX_FRAME:
            raise ValueError(f"frame of {size} bytes")
        return await stream.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return None

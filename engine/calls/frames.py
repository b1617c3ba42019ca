"""The protocol of local workers: framed JSON over pipes or a socket.

A frame is a 4-byte big-endian length followed by that many bytes of UTF-8 JSON, an object with
``type`` first. The engine writes to the worker's standard input; the worker answers on the
pipe that was its standard output (it must redirect descriptor 1 before any library can print
to it).

Calls are idempotent by key: a key already answered on this connection is answered again from
the worker's memory, and a key in progress is not started twice.
"""

from __future__ import annotations

import asyncio
import struct
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Literal, NotRequired, Required, TypedDict

import orjson

from evalbench.engine.calls.messages import Call, MediaPart, call_to_json

PROTOCOL = 1


class Keep(TypedDict):
    """Sent before ``load``: stay for a later engine after ``bye``, see :mod:`..kept_workers`.

    ``identity`` names what is loaded and how; ``model`` is its name for people; ``seconds``: how
    long to wait; ``log``: file for this worker's output from now on.
    """

    type: Literal["keep"]
    identity: str
    model: str
    seconds: float
    log: str


class Load(TypedDict):
    """Load a model. Merged with the result of ``WorkerProvider.load_request``.

    A worker that was kept has loaded it already.

    ``smaller``: how often to halve the batch, because memory ran out before; ``sharing``: the
    number of workers that share the CPUs.
    """

    type: Literal["load"]
    model: str
    settings: dict[str, Any]
    smaller: NotRequired[int]
    sharing: NotRequired[int]


class AskedCall(TypedDict):
    """One call: its key, and the call in the form of ``call_to_json``."""

    key: str
    call: dict[str, Any]


class Answer(TypedDict):
    """Answer these calls.

    ``media`` holds the base64-encoded bytes of the calls' images by SHA-256, each once.
    """

    type: Literal["answer"]
    calls: list[AskedCall]
    media: NotRequired[dict[str, str]]


class Cancel(TypedDict):
    """Drop these calls; an empty list drops everything not yet answered."""

    type: Literal["cancel"]
    keys: list[str]


class AskMemory(TypedDict):
    """Send a memory frame now."""

    type: Literal["memory"]


class Bye(TypedDict):
    """Finish and exit with code 0; after ``keep``, wait for the next engine instead."""

    type: Literal["bye"]


class Hello(TypedDict):
    """A worker's first frame."""

    type: Literal["hello"]
    protocol: int
    pid: int


class Progress(TypedDict):
    """Progress of a long task; ``unit`` is ``B`` for bytes, or empty."""

    type: Literal["progress"]
    what: str
    done: int
    total: int | None
    unit: str


class Loaded(TypedDict):
    """The model is ready; ``info`` has device, dtype, attention, versions, parameters."""

    type: Literal["loaded"]
    info: dict[str, Any]


class Replied(TypedDict):
    """A reply in the form of ``reply_to_json``."""

    type: Literal["reply"]
    key: str
    reply: dict[str, Any]


class Failed(TypedDict):
    """A call that cannot be answered: the class of the error, and its messages."""

    type: Literal["failed"]
    key: str
    error: str
    what: str
    why: str
    hint: str


class Cancelled(TypedDict):
    """These calls were dropped."""

    type: Literal["cancelled"]
    keys: list[str]


class Memory(TypedDict, total=False):
    """Device memory in use, peak and total, process memory, all in bytes; seconds of work.

    Missing fields are unknown. ``kv_cache`` is the used fraction of a server's room for keys and
    values, ``running`` and ``waiting`` count the calls in it.
    """

    type: Required[Literal["memory"]]
    used: int
    reserved: int
    peak: int
    total: int
    rss: int
    busy_s: float
    tokens_computed: int
    tokens_asked: int
    kv_cache: float
    running: int
    waiting: int


class OutOfMemory(TypedDict):
    """Memory ran out with these calls; the worker reduces its own batch to ``budget``."""

    type: Literal["out-of-memory"]
    keys: list[str]
    budget: int


class Kept(TypedDict):
    """The last frame of a worker that stays: for how many seconds, and its memory in bytes."""

    type: Literal["kept"]
    seconds: float
    memory: int


class Fatal(TypedDict):
    """The worker exits: no call can be answered."""

    type: Literal["fatal"]
    error: str
    what: str
    why: str
    hint: str


EngineFrame = Keep | Load | Answer | Cancel | AskMemory | Bye
"""Frames sent by the engine."""

WorkerFrame = (
    Hello | Progress | Loaded | Replied | Failed | Cancelled | Memory | OutOfMemory | Kept | Fatal
)
"""Frames sent by a worker."""

MAX_FRAME = 512 * 1024 * 1024
_LENGTH = struct.Struct(">I")


def encode(frame: Mapping[str, Any]) -> bytes:
    """The bytes of one frame."""
    body = orjson.dumps(frame)
    return _LENGTH.pack(len(body)) + body


def read_blocking(stream: BinaryIO) -> EngineFrame | None:
    """The engine's next frame from a blocking stream, or None at end of stream."""
    head = _read_exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise ValueError(f"frame of {size} bytes")
    body = _read_exactly(stream, size)
    if body is None:
        return None
    frame: EngineFrame = orjson.loads(body)
    return frame


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    chunks = bytearray()
    while len(chunks) < size:
        piece = stream.read(size - len(chunks))
        if not piece:
            return None
        chunks += piece
    return bytes(chunks)


async def read_frame(stream: asyncio.StreamReader) -> WorkerFrame | None:
    """The worker's next frame from an asyncio stream, or None at end of stream."""
    body = await read_body(stream)
    if body is None:
        return None
    frame: WorkerFrame = orjson.loads(body)
    return frame


async def read_body(stream: asyncio.StreamReader) -> bytes | None:
    """The bytes of the next frame, for forwarding."""
    try:
        (size,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        if size > MAX_FRAME:
            raise ValueError(f"frame of {size} bytes")
        return await stream.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return None


_MEDIA_BYTES = 64 << 20
"""Bytes of images per frame, before base64; a call with more gets its own frame."""


def answer_frames(calls: list[tuple[str, Call]]) -> Iterator[Answer]:
    """Frames for these calls, each with the images that its calls refer to."""
    asked: list[AskedCall] = []
    media: dict[str, str] = {}
    size = 0
    for key, call in calls:
        shown = {part.sha256: part.data for part in _media(call) if part.sha256 not in media}
        more = sum(map(len, shown.values()))
        if asked and size + more > _MEDIA_BYTES:
            yield _answer(asked, media)
            asked, media, size = [], {}, 0
            shown = {part.sha256: part.data for part in _media(call)}
            more = sum(map(len, shown.values()))
        asked.append({"key": key, "call": call_to_json(call)})
        media |= {name: b64encode(data).decode("ascii") for name, data in shown.items()}
        size += more
    if asked:
        yield _answer(asked, media)


def _answer(calls: list[AskedCall], media: dict[str, str]) -> Answer:
    frame: Answer = {"type": "answer", "calls": calls}
    if media:
        frame["media"] = media
    return frame


def _media(call: Call) -> Iterator[MediaPart]:
    for message in call.prompt.messages:
        for part in message.parts:
            if isinstance(part, MediaPart) and part.data:
                yield part

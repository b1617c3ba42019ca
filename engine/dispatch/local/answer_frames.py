"""Frames that send calls and their images to a worker."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from evalbench.engine.calls import Call, MediaPart
from evalbench.engine.calls.frames import Answer, AskedCall
from evalbench.engine.calls.messages import call_to_json

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

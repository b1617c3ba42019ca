"""Images, videos and documents as parts of a request: inline, or as an uploaded file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.calls import MediaPart, Message
from evalbench.engine.errors import CallRejected

WHO = "Gemini"
IMAGES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")
VIDEOS = (
    *("video/mp4", "video/mpeg", "video/mpg", "video/quicktime", "video/avi", "video/x-flv"),
    *("video/webm", "video/wmv", "video/3gpp"),
)
OTHERS = ("application/pdf", "audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg")
MOST_INLINE = 19_000_000
"""Limit on a request's media in base64. The API takes 20 MB, including text and JSON syntax."""


def too_large_inline(messages: Sequence[Message]) -> list[MediaPart]:
    """The media that must be uploaded so that the rest fits into the request.

    The largest come first; each is listed once, however often it is shown.
    """
    media = [p for m in messages for p in m.parts if isinstance(p, MediaPart)]
    left = sum(_encoded(part) for part in media)
    if left <= MOST_INLINE:
        return []
    apart: list[MediaPart] = []
    for part in sorted({p.sha256: p for p in media}.values(), key=lambda p: -len(p.data)):
        if left <= MOST_INLINE:
            break
        apart.append(part)
        left -= sum(_encoded(shown) for shown in media if shown.sha256 == part.sha256)
    return apart


def _encoded(part: MediaPart) -> int:
    return -(-len(part.data) // 3) * 4


def media_part(part: MediaPart, uris: Mapping[str, str], fps: float | None) -> dict[str, Any]:
    """Convert a part for a request.

    Args:
        part: the part.
        uris: URIs of uploaded files by the SHA-256 of their bytes.
        fps: frames per second sampled from a video; None: the model's default.

    Raises:
        CallRejected: Gemini does not accept such media, or the bytes are not available.
    """
    if part.media_type not in (*IMAGES, *VIDEOS, *OTHERS):
        raise CallRejected(
            f"{WHO} cannot be sent {part.media_type} parts",
            why="it takes "
            + ", ".join(name.rpartition("/")[2] for name in (*IMAGES, *VIDEOS, *OTHERS)),
        )
    if uri := uris.get(part.sha256):
        shown: dict[str, Any] = {"fileData": {"mimeType": part.media_type, "fileUri": uri}}
    elif part.data:
        data = b64encode(part.data).decode("ascii")
        shown = {"inlineData": {"mimeType": part.media_type, "data": data}}
    else:
        raise CallRejected(f"the bytes of {part.media_type} {part.sha256[:12]} are missing")
    if fps and part.media_type in VIDEOS:
        shown["videoMetadata"] = {"fps": fps}
    return shown

"""Media embedded in JSON."""

from __future__ import annotations

from base64 import b64encode
from typing import NoReturn

from evalbench.engine.calls import MediaPart
from evalbench.engine.errors import CallRejected

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def base64_image(part: MediaPart, who: str) -> str:
    """An image's bytes as base64 text.

    Raises:
        CallRejected: it is not an image that providers accept, or its bytes are missing.
    """
    if part.media_type not in IMAGE_TYPES:
        _refuse(f"{who} cannot be sent {part.media_type} parts")
    if not part.data:
        _refuse(f"the bytes of image {part.sha256[:12]} are missing")
    return b64encode(part.data).decode("ascii")


def data_uri(part: MediaPart, who: str) -> str:
    """An image as a ``data:`` URL; raises as :func:`base64_image`."""
    encoded = base64_image(part, who)
    return f"data:{part.media_type};base64,{encoded}"


def video_uri(part: MediaPart) -> str:
    """A video as a ``data:`` URL.

    Raises:
        CallRejected: its bytes are missing.
    """
    if not part.data:
        raise CallRejected(f"the bytes of video {part.sha256[:12]} are missing")
    return f"data:{part.media_type};base64,{b64encode(part.data).decode('ascii')}"


def _refuse(what: str) -> NoReturn:
    raise CallRejected(what, why="images can be " + ", ".join(t[6:] for t in IMAGE_TYPES))

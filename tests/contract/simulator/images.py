"""Tiny images of any size for request bodies: only their headers are true."""

from __future__ import annotations

import base64
import struct
import zlib


def png(width: int, height: int, padding: int = 0) -> bytes:
    """A PNG header of the given size; ``padding`` bytes make it heavy."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", len(head))
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + b"\x00" * padding
    )


def base64_png(width: int, height: int, padding: int = 0) -> str:
    """The same, encoded."""
    return base64.b64encode(png(width, height, padding)).decode()


def data_uri(width: int, height: int, media_type: str = "image/png") -> str:
    """The same, as a data URI."""
    return f"data:{media_type};base64,{base64_png(width, height)}"

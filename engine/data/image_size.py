"""Type, width and height of an image, read from the first bytes of its file."""

from __future__ import annotations

import struct

_NO_SIZE = frozenset({0x01, *range(0xD0, 0xDA)})  # JPEG markers without a segment
_NOT_FRAMES = frozenset({0xC4, 0xC8, 0xCC})  # numbered like frame headers, but not


def image_type(data: bytes) -> str:
    """The media type of a PNG, JPEG, GIF or WebP; empty for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def image_size(data: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels of a PNG, JPEG, GIF or WebP; None for anything else."""
    try:
        match image_type(data):
            case "image/png":
                return struct.unpack_from(">II", data, 16)
            case "image/gif":
                return struct.unpack_from("<HH", data, 6)
            case "image/jpeg":
                return _jpeg(data)
            case "image/webp":
                return _webp(data)
    except (struct.error, IndexError):
        pass
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while True:
        while data[at] != 0xFF or data[at + 1] == 0xFF:
            at += 1
        marker = data[at + 1]
        at += 2
        if marker in _NO_SIZE:
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        at += struct.unpack_from(">H", data, at)[0]


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            size = data[24:30]
            if len(size) < 6:
                return None
            width, height = (int.from_bytes(size[i : i + 3], "little") + 1 for i in (0, 3))
            return width, height
    return None

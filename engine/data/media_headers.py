"""What the first bytes of an image or a video say: type, size in pixels, length, sound."""

from __future__ import annotations

import struct
from collections.abc import Iterator

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


def is_whole(data: bytes) -> bool:
    """Whether a PNG, JPEG, GIF or WebP has its end, so that it was not cut off."""
    match image_type(data):
        case "image/png":
            return b"IEND" in data
        case "image/jpeg":
            return b"\xff\xd9" in data
        case "image/gif":
            return b";" in data[13:]
        case "image/webp":
            return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return False


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


def video_length(data: bytes) -> tuple[float | None, bool]:
    """Length of a video in seconds and whether it has sound, from the header of an MP4 or MOV file.

    Returns:
        (None, True) for other files, and for files that do not say.
    """
    try:
        for kind, start, end in _boxes(data, 0, len(data)):
            if kind == b"moov":
                sound = data.find(b"soun", start, end) >= 0
                for inner, place, _ in _boxes(data, start, end):
                    if inner == b"mvhd":
                        return _seconds(data, place), sound
    except (struct.error, IndexError, ZeroDivisionError):
        pass
    return None, True


def _seconds(data: bytes, at: int) -> float:
    wide = data[at] == 1
    scale, length = struct.unpack_from(">IQ" if wide else ">II", data, at + (20 if wide else 12))
    return float(length / scale)


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """The boxes between two positions: kind, and start and end of the content."""
    at = start
    while at + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, at)
        head = 8
        if size == 1:
            size, head = struct.unpack_from(">Q", data, at + 8)[0], 16
        elif size == 0:
            size = end - at
        if size < head:
            return
        yield kind, at + head, min(end, at + size)
        at += size

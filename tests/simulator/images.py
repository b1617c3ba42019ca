"""What a vision model sees of an image: its kind, its size, its price in tokens."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Image:
    """An image as its own bytes describe it; sizes in pixels, 0 when they do not tell."""

    media_type: str
    width: int
    height: int
    size: int


class BadImage(ValueError):
    """The bytes are no image of a known kind, or not base64."""


def decode(data: str) -> Image:
    """Read a base64 image's header.

    Raises:
        BadImage: for wrong base64 or an unknown kind.
    """
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadImage("base64") from error
    return sniff(raw)


def sniff(raw: bytes) -> Image:
    """Read an image's header.

    Raises:
        BadImage: for an unknown kind or a cut header.
    """
    try:
        if raw[:8] == b"\x89PNG\r\n\x1a\n":
            width, height = struct.unpack(">II", raw[16:24])
            return Image("image/png", width, height, len(raw))
        if raw[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", raw[6:10])
            return Image("image/gif", width, height, len(raw))
        if raw[:3] == b"\xff\xd8\xff":
            return Image("image/jpeg", *_jpeg_size(raw), len(raw))
        if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
            return Image("image/webp", *_webp_size(raw), len(raw))
    except (struct.error, IndexError) as error:
        raise BadImage("header") from error
    raise BadImage("kind")


def _jpeg_size(raw: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(raw):
        marker = raw[at + 1]
        if marker in range(0xC0, 0xD0) and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 2 + int(struct.unpack(">H", raw[at + 2 : at + 4])[0])
    return 0, 0


def _webp_size(raw: bytes) -> tuple[int, int]:
    kind = raw[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(raw[24:27], "little") + 1
        return width, int.from_bytes(raw[27:30], "little") + 1
    if kind == b"VP8L":
        bits = int.from_bytes(raw[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", raw[26:30])
    return width & 0x3FFF, height & 0x3FFF


def claude_tokens(width: int, height: int, edge: int) -> int:
    """Anthropic: width × height / 750 once the longest side is shrunk to ``edge``.

    Ordinary models stop near 1,600 tokens, high-resolution ones near 4,784.
    """
    if not width or not height:
        return 1600
    scale = min(1.0, edge / max(width, height))
    most = 1600 if edge <= 1568 else 4784
    return min(most, math.ceil(width * scale * height * scale / 750))


def tile_tokens(width: int, height: int, detail: str, base: int, tile: int) -> int:
    """OpenAI's tile models: fit in 2048², shortest side to 768, then 512² tiles."""
    if detail == "low":
        return base
    width, height = width or 1024, height or 1024
    scale = min(1.0, 2048 / max(width, height))
    width_f, height_f = width * scale, height * scale
    shrink = min(1.0, 768 / min(width_f, height_f))
    tiles = math.ceil(width_f * shrink / 512) * math.ceil(height_f * shrink / 512)
    return base + tile * tiles


def patch_tokens(width: int, height: int, most: int = 1536) -> int:
    """OpenAI's patch models: 32-pixel patches, shrunk to ``most`` of them."""
    width, height = width or 1024, height or 1024
    patches = math.ceil(width / 32) * math.ceil(height / 32)
    return min(most, patches)

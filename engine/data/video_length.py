"""Reads the length of a video from its file header."""

from __future__ import annotations

import struct
from collections.abc import Iterator


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

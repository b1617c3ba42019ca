"""What a video counts as in input tokens, for models that take one as it is.

Sources, as read in autumn 2026: ai.google.dev, Understand and count tokens, and
Media resolution: Gemini looks at one frame a second unless told otherwise, a frame
is 258 tokens up to Gemini 2 and 70 from Gemini 3 on, a second of sound 32.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator

from evalbench.engine.cost.image_tokens import ImageTokens

_SOUND = 32
_OLD_FRAME, _NEW_FRAME = 258, 70
_LIKELY_S, _LONGEST_S = 60.0, 3600.0
"""Taken for a video whose file does not say how long it lasts."""
_GEMINI = re.compile(r"gemini-(\d+)")


def video_tokens(model: str, data: bytes, fps: float = 1.0) -> ImageTokens:
    """Tokens of one video for a model.

    Args:
        model: its name.
        data: the file.
        fps: frames that the model looks at in a second.
    """
    found = _GEMINI.search(model.lower())
    old = found is None or int(found[1]) < 3
    frame = _OLD_FRAME if old else _NEW_FRAME
    seconds, sound = video_length(data)
    likely = math.ceil((seconds or _LIKELY_S) * fps) * frame
    # One frame more: where the first and the last are both looked at.
    most = (math.ceil((seconds or _LONGEST_S) * fps) + 1) * _OLD_FRAME
    heard = math.ceil((seconds or _LONGEST_S) * _SOUND)
    if sound:
        likely += math.ceil((seconds or _LIKELY_S) * _SOUND)
    rule = f"{frame} a frame, {fps:g} frames a second"
    return ImageTokens(likely, rule if found else "rule of thumb", most + heard)


def video_length(data: bytes) -> tuple[float | None, bool]:
    """Seconds that a video lasts and whether it has sound, by the head of an MP4 or MOV file.

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
    """The boxes between two places: kind, and where its content begins and ends."""
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

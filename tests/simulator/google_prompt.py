"""Reads contents: their texts, and what their media count as."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulator import tokens
from tests.simulator.google_errors import refuse
from tests.simulator.images import BadImage, sniff
from tests.simulator.models import Model

_MEDIA = {
    "IMAGE": ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    "VIDEO": (
        *("video/mp4", "video/mpeg", "video/quicktime", "video/avi", "video/x-flv"),
        *("video/mpg", "video/webm", "video/wmv", "video/3gpp"),
    ),
    "AUDIO": ("audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    "DOCUMENT": ("application/pdf", "text/plain"),
}
_KINDS = {media_type: kind for kind, types in _MEDIA.items() for media_type in types}


@dataclass(slots=True)
class Prompt:
    """What was asked, measured; ``media`` are tokens by modality."""

    last: str = ""
    everything: list[str] = field(default_factory=list)
    text_tokens: int = 0
    media: dict[str, int] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """All input tokens."""
        return self.text_tokens + sum(self.media.values())


FileBytes = Callable[[str], tuple[str, bytes]]


class Reader:
    """Checks and measures one request's contents."""

    def __init__(self, model: Model, file: FileBytes) -> None:
        """``file`` gives media type and bytes of a file by its address."""
        self._model = model
        self._file = file
        self._prompt = Prompt()

    def read(self, value: dict[str, Any]) -> Prompt:
        """The whole request."""
        prompt = self._prompt
        head = value.get("systemInstruction")
        if head is not None:
            self._content("system_instruction", head)
        contents = value.get("contents")
        if not contents:
            refuse("* GenerateContentRequest.contents: contents is not specified", "contents")
        for at, content in enumerate(contents):
            role = content.get("role", "user")
            if role not in ("user", "model"):
                refuse("Please use a valid role: user, model.")
            text = self._content(f"contents[{at}]", content)
            if role == "user":
                prompt.last = text
        prompt.text_tokens = tokens.count("".join(prompt.everything), self._model.chars_per_token)
        return prompt

    def _content(self, where: str, content: dict[str, Any]) -> str:
        parts = content.get("parts")
        if not parts:
            refuse(
                f"* GenerateContentRequest.{where}.parts: contents.parts must not be empty.",
                f"{where}.parts",
            )
        texts = []
        for at, part in enumerate(parts):
            place = f"{where}.parts[{at}]"
            data = [n for n in ("text", "inlineData", "fileData") if part.get(n)]
            if len(data) != 1:
                refuse(
                    f"* GenerateContentRequest.{place}.data: required oneof field 'data' must "
                    "have one initialized field"
                )
            if "text" in part:
                texts.append(part["text"])
            else:
                self._media(place, part)
        self._prompt.everything.extend(texts)
        return "".join(texts)

    def _media(self, place: str, part: dict[str, Any]) -> None:
        if "inlineData" in part:
            media_type = part["inlineData"].get("mimeType", "")
            try:
                data = base64.b64decode(part["inlineData"].get("data", ""), validate=True)
            except (binascii.Error, ValueError):
                refuse(f"Invalid value at '{place}.inline_data.data' (TYPE_BYTES), Base64 decoding")
        else:
            media_type, data = self._file(part["fileData"].get("fileUri", ""))
            told = part["fileData"].get("mimeType")
            if told and told != media_type:
                refuse(f"Unsupported MIME type: {told}")
        kind = _KINDS.get(media_type)
        if kind is None:
            refuse(f"Unsupported MIME type: {media_type}")
        if kind != "VIDEO" and "videoMetadata" in part:
            refuse("video_metadata can only be set for video parts.")
        fps = part.get("videoMetadata", {}).get("fps", 1)
        if not 0 < fps <= 24:
            refuse(f"The FPS value {fps} is out of range (0.0, 24.0].")
        media = self._prompt.media
        media[kind] = media.get(kind, 0) + self._tokens(kind, data, fps)
        # The bytes are part of what the model was asked: other bytes, another answer.

    def _tokens(self, kind: str, data: bytes, fps: float) -> int:
        new = not re.match(r"gemini-[12]", self._model.id)
        if kind == "IMAGE":
            try:
                image = sniff(data)
            except BadImage:
                refuse("Unable to process input image. Please retry or report in "
                       "https://developers.generativeai.google/guide/troubleshooting")  # fmt: skip
            return 1120 if new else 258 * _tiles(image.width, image.height)
        if kind == "VIDEO":
            seconds = _seconds(data)
            return math.ceil(seconds * fps) * (70 if new else 258) + math.ceil(32 * seconds)
        if kind == "AUDIO":
            return 320
        return (560 if new else 258) * max(1, data.count(b"/Type /Page\n"))


def _tiles(width: int, height: int) -> int:
    if width <= 384 and height <= 384:
        return 1
    side = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return math.ceil(width / side) * math.ceil(height / side)


def _seconds(data: bytes) -> float:
    """How long a video lasts by its header; ten seconds when that does not say."""
    at = data.find(b"mvhd")
    if at < 0:
        return 10.0
    wide = data[at + 4] == 1
    scale, length = struct.unpack_from(">IQ" if wide else ">II", data, at + (24 if wide else 16))
    return float(length / scale)

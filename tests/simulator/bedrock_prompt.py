"""Reads system text and messages of Converse: checks, measures, finds cache points."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from tests.simulator import tokens
from tests.simulator.bedrock_checks import refuse
from tests.simulator.bedrock_models import Offer
from tests.simulator.images import BadImage, claude_tokens, sniff
from tests.simulator.models import Model
from tests.simulator.promptcache import Prefix

_IMAGE_BYTES = 3_750_000
_MOST_IMAGES = 20
_MOST_DOCUMENTS = 5
_DOCUMENT_BYTES = 4_500_000
_VIDEO_TOKENS = 2880
_LIFE = {"5m": 300.0, "1h": 3600.0}
_FILMS = {"mp4": (b"ftyp", 4), "mov": (b"ftyp", 4), "webm": (b"\x1aE\xdf\xa3", 0)}


@dataclass(slots=True)
class Prompt:
    """What was asked, measured.

    Attributes:
        tokens: of the whole prompt.
        breakpoints: cacheable prefixes in order, with their life.
    """

    last: str = ""
    everything: list[str] = field(default_factory=list)
    tokens: int = 0
    breakpoints: list[Prefix] = field(default_factory=list)


class Reader:
    """Reads a body that botocore's description already allows."""

    def __init__(self, model: Model, offer: Offer) -> None:
        self._model = model
        self._offer = offer
        self._prompt = Prompt()
        self._digest = blake2b(digest_size=16)
        self._points = 0

    def read(self, value: dict[str, Any]) -> Prompt:
        """The prompt of a checked body."""
        for at, block in enumerate(value.get("system") or []):
            self._block(f"system.{at}", block, "system")
        messages = value.get("messages") or []
        if not messages:
            refuse("The conversation must have at least one message.")
        self._turns(messages)
        for at, message in enumerate(messages):
            self._message(at, message)
        if messages[-1]["role"] == "assistant" and not self._model.prefill:
            refuse(
                "This model does not support assistant message prefill. The conversation must "
                "end with a user message.",
                model=True,
            )
        return self._prompt

    def _turns(self, messages: list[dict[str, Any]]) -> None:
        spoken = [message["role"] for message in messages if message["role"] != "system"]
        if len(spoken) < len(messages) and not self._model.system_turns:
            refuse("The model that you are using does not support system messages in messages.")
        if not spoken or spoken[0] != "user":
            refuse(
                "A conversation must start with a user message. Try again with a conversation "
                "that starts with a user message."
            )
        for one, other in pairwise(spoken):
            if one == other:
                refuse(
                    "A conversation must alternate between user and assistant roles. Make sure "
                    "the conversation alternates between user and assistant roles and try again."
                )

    def _message(self, at: int, message: dict[str, Any]) -> None:
        role, content = message["role"], message["content"]
        if not content:
            refuse(
                f"The content field in the Message object at messages.{at} is empty. Add a "
                "ContentBlock object to the content field and try again."
            )
        self._count("role", role)
        self._prompt.tokens += 3
        images = sum("image" in block for block in content)
        if images > _MOST_IMAGES:
            refuse(f"too many images and documents: {images} + 0 > {_MOST_IMAGES}")
        documents = sum("document" in block for block in content)
        if documents > _MOST_DOCUMENTS:
            refuse("The request has more than 5 documents.")
        if documents and not any("text" in block for block in content):
            refuse("A message with a document needs a text block.")
        texts = []
        for place, block in enumerate(content):
            self._block(f"messages.{at}.content.{place}", block, role)
            texts.append(block.get("text") or "")
        if role == "user":
            self._prompt.last = "\n".join(filter(None, texts))

    def _block(self, path: str, block: dict[str, Any], role: str) -> None:
        ((kind, inner),) = block.items()
        if kind == "text":
            if not inner.strip():
                refuse(
                    f"The text field in the ContentBlock object at {path} is blank. Add text to "
                    "the text field, and try again."
                )
            self._text(inner)
        elif kind == "cachePoint":
            self._point(inner)
        elif role != "user":
            refuse(f"The {kind} at {path} is only allowed in user messages.")
        elif kind == "image":
            self._image(path, inner)
        elif kind == "video":
            self._video(path, inner)
        elif kind == "document":
            self._document(path, inner)
        else:
            refuse(f"The simulator takes no {kind} at {path}.")

    def _image(self, path: str, image: dict[str, Any]) -> None:
        if not self._model.images:
            refuse("This model doesn't support the image field. Remove image and try again.")
        raw = self._bytes(path, image)
        if len(raw) > _IMAGE_BYTES:
            refuse(f"{path}: image exceeds 3.75 MB maximum: {len(raw)} bytes")
        try:
            seen = sniff(raw)
        except BadImage:
            refuse("Could not process image", model=True)
        if seen.media_type != f"image/{image['format']}":
            refuse(f"{path}: the image is no {image['format']}", model=True)
        if max(seen.width, seen.height) > 8000:
            refuse(f"{path}: image dimensions exceed max allowed size: 8000 pixels", model=True)
        self._prompt.tokens += claude_tokens(seen.width, seen.height, self._model.image_edge)

    def _video(self, path: str, video: dict[str, Any]) -> None:
        if not self._offer.video:
            refuse("This model doesn't support the video field. Remove video and try again.")
        raw = self._bytes(path, video)
        magic, start = _FILMS.get(video["format"], (b"", 0))
        if raw[start : start + len(magic)] != magic:
            refuse(f"{path}: could not process video", model=True)
        self._prompt.tokens += _VIDEO_TOKENS

    def _document(self, path: str, document: dict[str, Any]) -> None:
        raw = self._bytes(path, document)
        if len(raw) > _DOCUMENT_BYTES:
            refuse(f"{path}: document exceeds 4.5 MB")
        if document["format"] == "pdf" and raw[:4] != b"%PDF":
            refuse("The PDF specified was not valid.", model=True)
        self._prompt.tokens += len(raw) // 4

    def _bytes(self, path: str, media: dict[str, Any]) -> bytes:
        data = media["source"].get("bytes")
        try:
            raw = base64.b64decode(data or "", validate=True)
        except binascii.Error:
            refuse(f"{path}: invalid base64")
        if not raw:
            refuse(f"{path}: the source is empty")
        self._count("media", data)
        return raw

    def _text(self, text: str) -> None:
        self._count("text", text)
        self._prompt.tokens += tokens.count(text, self._model.chars_per_token)
        self._prompt.everything.append(text)

    def _count(self, kind: str, content: str) -> None:
        self._digest.update(kind.encode())
        self._digest.update(content.encode(errors="surrogatepass"))

    def _point(self, point: dict[str, Any]) -> None:
        if not self._offer.caches:
            refuse(
                "You invoked an unsupported model or your request did not allow prompt caching. "
                "See the documentation for more information."
            )
        self._points += 1
        if self._points > 4:
            refuse("The request has more than 4 cache points.")
        so_far = self._prompt.tokens
        if so_far >= self._model.cache_minimum:
            life = _LIFE[point.get("ttl", "5m")]
            self._prompt.breakpoints.append(Prefix(self._digest.copy().digest(), so_far, life))

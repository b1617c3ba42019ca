"""Reads system text and messages of the Messages API: checks, measures, finds breakpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from tests.simulator import tokens
from tests.simulator.anthropic_checks import NEW_VERSION, refuse
from tests.simulator.images import BadImage, claude_tokens, decode
from tests.simulator.models import Model
from tests.simulator.promptcache import Prefix

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BLANK = "messages: text content blocks must contain non-whitespace text"
_BLOCK_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control", "transformations"}),
    "document": frozenset({"type", "source", "cache_control", "citations", "context", "title"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
}
_MANY_IMAGES = 20
_IMAGE_BYTES = 5 * 1024 * 1024
_LIFE = {"5m": 300.0, "1h": 3600.0}


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
    images: int = 0
    breakpoints: list[Prefix] = field(default_factory=list)


class Reader:
    """Reads system text and messages: checks them, measures them, finds cache breakpoints."""

    def __init__(self, model: Model, asked: str) -> None:
        self._model = model
        self._new = asked == NEW_VERSION
        self._prompt = Prompt()
        self._digest = blake2b(digest_size=16)
        self._marks = 0
        self._edge = 0

    def read(self, value: dict[str, Any]) -> Prompt:
        """The prompt of a checked body."""
        prompt = self._prompt
        system = value.get("system")
        if system is not None:
            self._system(system)
        for at, message in enumerate(value["messages"]):
            self._message(at, message)
        if prompt.images and self._edge > 2000 and prompt.images > _MANY_IMAGES:
            refuse(
                "messages: At least one of the image dimensions exceed max allowed size for "
                "many-image requests: 2000 pixels"
            )
        if prompt.images > self._model.max_images:
            refuse(f"messages: too many images: {prompt.images} > {self._model.max_images} maximum")
        if value.get("cache_control") is not None:
            self._mark(value["cache_control"], "cache_control")
        if self._marks > 4:
            refuse(
                f"A maximum of 4 blocks with cache_control may be provided. Found {self._marks}."
            )
        last = value["messages"][-1]
        if last["role"] == "assistant" and not self._model.prefill:
            refuse(
                "This model does not support assistant message prefill. "
                "The conversation must end with a user message."
            )
        return prompt

    def _system(self, system: Any) -> None:
        self._count("system", "")
        if isinstance(system, str):
            self._text(system)
            return
        if not isinstance(system, list):
            refuse("system: Input should be a valid string or a valid list")
        for at, block in enumerate(system):
            if not isinstance(block, dict) or block.get("type") != "text":
                refuse(f"system.{at}.type: Input should be 'text'")
            self._block(f"system.{at}", block, "system")

    def _message(self, at: int, message: Any) -> None:
        where = f"messages.{at}"
        if not isinstance(message, dict):
            refuse(f"{where}: Input should be a valid dictionary")
        for name in message:
            if name not in ("role", "content"):
                refuse(f"{where}.{name}: Extra inputs are not permitted")
        role = message.get("role")
        if role == "system" and not self._model.system_turns:
            refuse(
                'messages: Unexpected role "system". The Messages API accepts a top-level '
                '`system` parameter, not "system" as an input message role.'
            )
        if role not in ("user", "assistant", "system"):
            refuse(f"{where}.role: Input should be 'user' or 'assistant'")
        if "content" not in message:
            refuse(f"{where}.content: Field required")
        content = message["content"]
        self._count(role, "")
        self._prompt.tokens += 3
        if isinstance(content, str):
            if not content and role != "assistant":
                refuse(f"{where}: {role} messages must have non-empty content")
            if content.isspace():
                refuse(_BLANK)
            self._text(content)
            text = content
        else:
            text = self._blocks(where, content, role)
        if role == "user":
            self._prompt.last = text

    def _blocks(self, where: str, content: Any, role: str) -> str:
        if not isinstance(content, list):
            refuse(f"{where}.content: Input should be a valid string or a valid list")
        if not content and role != "assistant":
            refuse(f"{where}: {role} messages must have non-empty content")
        texts = []
        for at, block in enumerate(content):
            path = f"{where}.content.{at}"
            kind = block.get("type") if isinstance(block, dict) else None
            if kind not in _BLOCK_FIELDS:
                refuse(
                    f"{path}: Input tag '{kind}' found using 'type' does not match any of the "
                    f"expected tags: {', '.join(map(repr, _BLOCK_FIELDS))}"
                )
            self._block(path, block, role)
            if kind == "text":
                texts.append(block["text"])
        return "\n".join(texts)

    def _block(self, path: str, block: dict[str, Any], role: str) -> None:
        kind = block["type"]
        for name in block:
            if name not in _BLOCK_FIELDS[kind]:
                refuse(f"{path}.{kind}.{name}: Extra inputs are not permitted")
        if kind == "text":
            text = block.get("text")
            if not isinstance(text, str):
                refuse(f"{path}.text.text: Field required")
            if not text:
                refuse("messages: text content blocks must be non-empty")
            if not text.strip():
                refuse(_BLANK)
            if self._new and role == "user" and block.get("citations"):
                refuse(f"{path}.text.citations: citations are not accepted on user text")
            self._text(text)
        elif kind == "image":
            self._image(f"{path}.image", block)
        elif kind == "document" and role == "assistant" and self._new:
            refuse(f"{path}: document blocks are not accepted in assistant turns")
        else:
            self._text(str(block))
        if block.get("cache_control") is not None:
            self._mark(block["cache_control"], f"{path}.{kind}.cache_control")

    def _image(self, path: str, block: dict[str, Any]) -> None:
        source = block.get("source")
        kind = source.get("type") if isinstance(source, dict) else None
        if not isinstance(source, dict) or kind not in ("base64", "url", "file"):
            refuse(
                f"{path}.source: Input tag '{kind}' does not match any of the expected tags: "
                "'base64', 'file', 'url'"
            )
        self._prompt.images += 1
        model = self._model
        if kind != "base64":
            self._count("image", str(source))
            self._prompt.tokens += claude_tokens(0, 0, model.image_edge)
            return
        media_type, data = source.get("media_type"), source.get("data")
        if media_type not in _IMAGE_TYPES:
            refuse(
                f"{path}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
                "'image/gif' or 'image/webp'"
            )
        if not isinstance(data, str) or not data:
            refuse(f"{path}.source.base64.data: Field required")
        try:
            image = decode(data)
        except BadImage as problem:
            if str(problem) == "base64":
                refuse(f"{path}.source.base64.data: invalid base64 data")
            refuse(f"{path}.source.base64.data: Could not process image")
        if image.media_type != media_type:
            refuse(
                f"{path}.source.base64.data: Image does not match the provided media type "
                f"{media_type}"
            )
        if image.size > _IMAGE_BYTES:
            refuse(
                f"{path}.source.base64: image exceeds 5 MB maximum: {image.size} bytes > "
                f"{_IMAGE_BYTES} bytes"
            )
        edge = max(image.width, image.height)
        self._edge = max(self._edge, edge)
        if edge > 8000:
            refuse(
                f"{path}.source.base64.data: At least one of the image dimensions exceed max "
                "allowed size: 8000 pixels"
            )
        oversized = (block.get("transformations") or {}).get("oversized_image", "downsize")
        if oversized not in ("downsize", "error"):
            refuse(f"{path}.transformations.oversized_image: Input should be 'downsize' or 'error'")
        if oversized == "error" and edge > model.image_edge:
            refuse(
                f"{path}: image is {image.width}x{image.height} pixels; the longest side that "
                f"fits is {model.image_edge} pixels",
                details={
                    "error_code": "image_dimensions_too_large",
                    "max_side_length_pixels": model.image_edge,
                    "paths": [path.removesuffix(".image")],
                },
            )
        self._count("image", data)
        self._prompt.tokens += claude_tokens(image.width, image.height, model.image_edge)

    def _text(self, text: str) -> None:
        self._count("text", text)
        self._prompt.tokens += tokens.count(text, self._model.chars_per_token)
        self._prompt.everything.append(text)

    def _count(self, kind: str, content: str) -> None:
        self._digest.update(kind.encode())
        self._digest.update(content.encode(errors="surrogatepass"))

    def _mark(self, control: Any, path: str) -> None:
        if not isinstance(control, dict) or control.get("type") != "ephemeral":
            refuse(f"{path}.type: Input should be 'ephemeral'")
        for name in control:
            if name not in ("type", "ttl"):
                refuse(f"{path}.ephemeral.{name}: Extra inputs are not permitted")
        ttl = control.get("ttl", "5m")
        if ttl not in _LIFE:
            refuse(f"{path}.ephemeral.ttl: Input should be '5m' or '1h'")
        self._marks += 1
        tokens_so_far = self._prompt.tokens
        if tokens_so_far >= self._model.cache_minimum:
            prefix = Prefix(self._digest.copy().digest(), tokens_so_far, _LIFE[ttl])
            self._prompt.breakpoints.append(prefix)

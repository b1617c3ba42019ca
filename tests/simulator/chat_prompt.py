"""Reads chat messages: the same for OpenAI and every server that copies it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from tests.simulator import tokens
from tests.simulator.images import BadImage, Image, decode
from tests.simulator.models import Model


class Refuse(Protocol):
    """Raises a refusal in the server's own words."""

    def __call__(
        self, message: str, *, param: str | None = None, code: str | None = None
    ) -> NoReturn: ...


@dataclass(slots=True)
class ChatPrompt:
    """What was asked, measured."""

    last: str = ""
    everything: list[str] = field(default_factory=list)
    tokens: int = 0
    images: int = 0
    image_tokens: int = 0

    @property
    def text(self) -> str:
        """All that was written."""
        return "\n".join(self.everything)


def read(
    messages: Any,
    model: Model,
    *,
    roles: Collection[str],
    refuse: Refuse,
    image_tokens: Callable[[Model, Image | None, str], int],
) -> ChatPrompt:
    """Check and measure ``messages``."""
    if not isinstance(messages, list):
        refuse("Missing required parameter: 'messages'.", param="messages")
    if not messages:
        refuse(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got "
            "an empty array instead.",
            param="messages",
            code="empty_array",
        )
    prompt = ChatPrompt()
    reader = _Reader(prompt, model, refuse, image_tokens)
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        if not isinstance(message, dict):
            refuse(f"Invalid type for '{where}': expected an object.", param=where)
        role = str(message.get("role"))
        if role not in roles:
            quoted = ", ".join(f"'{known}'" for known in roles)
            refuse(
                f"Invalid value: '{role}'. Supported values are: {quoted}.",
                param=f"{where}.role",
                code="invalid_value",
            )
        prompt.tokens += 3
        text = reader.content(where, message.get("content"), role)
        if role == "user":
            prompt.last = text
    return prompt


@dataclass(slots=True)
class _Reader:
    prompt: ChatPrompt
    model: Model
    refuse: Refuse
    image_tokens: Callable[[Model, Image | None, str], int]

    def content(self, where: str, content: Any, role: str) -> str:
        if isinstance(content, str):
            self._text(content)
            return content
        if content is None:
            if role != "assistant":
                self.refuse(
                    "Invalid value for 'content': expected a string, got null.",
                    param=f"{where}.content",
                )
            return ""
        if not isinstance(content, list) or not content:
            self.refuse(
                f"Invalid type for '{where}.content': expected one of a string or array of "
                "objects.",
                param=f"{where}.content",
                code="invalid_type",
            )
        texts = []
        for at, part in enumerate(content):
            path = f"{where}.content[{at}]"
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text":
                if not isinstance(part.get("text"), str):
                    self.refuse(f"Missing required parameter: '{path}.text'.", param=f"{path}.text")
                self._text(part["text"])
                texts.append(part["text"])
            elif kind == "image_url":
                self._image(path, part.get("image_url"), role)
            elif kind in ("file", "input_audio", "refusal", "video_url"):
                self._text(str(part))
            else:
                self.refuse(
                    f"Invalid value: '{kind}'. Supported values are: 'text', 'image_url', "
                    "'input_audio', 'refusal', and 'file'.",
                    param=f"{path}.type",
                    code="invalid_value",
                )
        return "\n".join(texts)

    def _text(self, text: str) -> None:
        self.prompt.tokens += tokens.count(text, self.model.chars_per_token)
        self.prompt.everything.append(text)

    def _image(self, path: str, value: Any, role: str) -> None:
        if role != "user" or not self.model.images:
            self.refuse(
                "Invalid content type. image_url is only supported by certain models.",
                param=f"{path}.type",
            )
        url = value.get("url") if isinstance(value, dict) else value
        if not isinstance(url, str) or not url:
            self.refuse(
                f"Missing required parameter: '{path}.image_url.url'.",
                param=f"{path}.image_url.url",
            )
        detail = value.get("detail", "auto") if isinstance(value, dict) else "auto"
        if detail not in ("auto", "low", "high", "original"):
            self.refuse(
                f"Invalid value: '{detail}'. Supported values are: 'auto', 'low', 'high', and "
                "'original'.",
                param=f"{path}.image_url.detail",
                code="invalid_value",
            )
        image = inline_image(url, self.refuse, f"{path}.image_url.url")
        cost = self.image_tokens(self.model, image, detail)
        self.prompt.images += 1
        self.prompt.image_tokens += cost
        self.prompt.tokens += cost


def inline_image(url: str, refuse: Refuse, param: str) -> Image | None:
    """The image of a data URI; None for any other address."""
    if not url.startswith("data:"):
        if not url.startswith(("http://", "https://")):
            refuse(
                f"Invalid '{param}'. Expected a valid URL, but got a value with an invalid format.",
                param=param,
                code="invalid_value",
            )
        return None
    head, comma, data = url.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    if not comma or not head.endswith(";base64"):
        refuse("Invalid base64 image_url.", param=param, code="invalid_base64_image")
    try:
        image = decode(data)
    except BadImage as problem:
        if str(problem) == "base64":
            refuse("Invalid base64 image_url.", param=param, code="invalid_base64_image")
        image = None
    if image is None or media_type not in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        refuse(
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp'].",
            param=param,
            code="invalid_image_format",
        )
    if image.size > 20 * 1024 * 1024:
        refuse(
            f"Image is too large: {image.size} bytes. The maximum is 20971520 bytes.",
            param=param,
            code="image_too_large",
        )
    return image

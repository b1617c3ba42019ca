"""Reads the input items of the Responses API."""

from __future__ import annotations

from typing import Any

from tests.simulator import openai_access, tokens
from tests.simulator.chat_prompt import ChatPrompt, inline_image
from tests.simulator.models import Model
from tests.simulator.openai_errors import invalid_value, refuse

_ROLES = ("assistant", "system", "developer", "user")
_PARTS = ("input_text", "input_image", "input_file", "output_text", "refusal")


def read(value: dict[str, Any], model: Model) -> ChatPrompt:
    """Check and measure instructions and input of a request."""
    prompt = ChatPrompt()
    instructions = value.get("instructions")
    if instructions:
        _add(prompt, model, str(instructions))
    given = value.get("input")
    if isinstance(given, str) and given:
        _add(prompt, model, given)
        prompt.last = given
        return prompt
    if not isinstance(given, list) or not given:
        refuse(
            "One of 'input' or 'previous_response_id' or 'prompt' or 'conversation' must be "
            "provided.",
            param="input",
            code="missing_required_parameter",
        )
    for at, item in enumerate(given):
        where = f"input[{at}]"
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "reasoning":
            continue
        if kind != "message":
            invalid_value(f"{where}.type", kind, ("message", "reasoning"))
        if item.get("role") not in _ROLES:
            invalid_value(f"{where}.role", item.get("role"), _ROLES)
        prompt.tokens += 3
        text = _content(prompt, model, where, item.get("content"))
        if item["role"] == "user":
            prompt.last = text
    return prompt


def _content(prompt: ChatPrompt, model: Model, where: str, content: Any) -> str:
    if isinstance(content, str):
        _add(prompt, model, content)
        return content
    if not isinstance(content, list) or not content:
        refuse(
            f"Invalid type for '{where}.content': expected one of an array of objects or string.",
            param=f"{where}.content",
            code="invalid_type",
        )
    texts = []
    for at, part in enumerate(content):
        path = f"{where}.content[{at}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _PARTS:
            invalid_value(path, kind, _PARTS)
        if kind == "input_image":
            _image(prompt, model, path, part)
            continue
        name = "text" if kind in ("input_text", "output_text") else ""
        if name and not isinstance(part.get(name), str):
            refuse(
                f"Missing required parameter: '{path}.{name}'.",
                param=f"{path}.{name}",
                code="missing_required_parameter",
            )
        text = part[name] if name else str(part)
        _add(prompt, model, text)
        texts.append(text)
    return "\n".join(texts)


def _image(prompt: ChatPrompt, model: Model, path: str, part: dict[str, Any]) -> None:
    detail = part.get("detail")
    if detail not in ("auto", "low", "high", "original"):
        if detail is None:
            refuse(
                f"Missing required parameter: '{path}.detail'.",
                param=f"{path}.detail",
                code="missing_required_parameter",
            )
        invalid_value(f"{path}.detail", detail, ("low", "high", "auto", "original"))
    if not model.images:
        refuse(f"'{model.id}' does not support image inputs.", param=path, code="invalid_value")
    url = part.get("image_url")
    if url is None and part.get("file_id") is None:
        refuse(
            f"Missing required parameter: '{path}.image_url'.",
            param=f"{path}.image_url",
            code="missing_required_parameter",
        )
    image = inline_image(url, refuse, f"{path}.image_url") if url else None
    cost = openai_access.image_tokens(model, image, detail)
    prompt.images += 1
    prompt.image_tokens += cost
    prompt.tokens += cost


def _add(prompt: ChatPrompt, model: Model, text: str) -> None:
    prompt.tokens += tokens.count(text, model.chars_per_token)
    prompt.everything.append(text)

"""Ollama's own API: ``/api/chat`` and ``/api/generate``, which take a context to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tests.simulator.compatible_access import Access
from tests.simulator.compatible_chat import Chat, read
from tests.simulator.exchange import Answer, Exchange, Refused
from tests.simulator.text_completions import TextCompletions

_FIELDS = frozenset(
    {
        *("model", "messages", "prompt", "raw", "stream", "format", "options", "think"),
        *("truncate", "shift", "keep_alive", "logprobs", "top_logprobs", "tools", "system"),
    }
)
_OPTIONS = {
    "num_predict": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "stop": "stop",
}
_TOO_LONG = "the input length exceeds the context length"


class Native:
    """Puts a request in chat completions' words, has it answered, and the answer in Ollama's."""

    def __init__(self, access: Access, chat: Chat, text: TextCompletions) -> None:
        self._access = access
        self._chat = chat
        self._text = text

    def chat(self, exchange: Exchange) -> Answer:
        """``POST /api/chat``."""
        value = exchange.body
        asked, size = self._translated(exchange, value)
        asked["messages"] = [_turn(message) for message in value["messages"]]
        if value.get("format"):
            wanted = {"name": "format", "schema": value["format"]}
            asked["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return self._answered(exchange, value, asked, size, self._chat.complete)

    def generate(self, exchange: Exchange) -> Answer:
        """``POST /api/generate``, of raw text."""
        value = exchange.body
        asked, size = self._translated(exchange, value)
        asked["prompt"] = value["prompt"]
        return self._answered(exchange, value, asked, size, self._text.complete)

    def _translated(self, exchange: Exchange, value: dict[str, Any]) -> tuple[dict[str, Any], int]:
        if ignored := [name for name in value if name not in _FIELDS]:
            exchange.notes["ignored"] = ignored
        options = value.get("options") or {}
        loaded = self._access.flavour.loaded_context
        assert loaded is not None
        size = options.get("num_ctx", loaded)
        asked = {theirs: options[ours] for ours, theirs in _OPTIONS.items() if ours in options}
        think = value.get("think")
        if isinstance(think, str) or think is False:
            asked["reasoning_effort"] = think or "none"
        return {"model": value["model"], **asked}, size

    def _answered(
        self,
        exchange: Exchange,
        value: dict[str, Any],
        asked: dict[str, Any],
        size: int,
        complete: Callable[..., Answer],
    ) -> Answer:
        exchange.raw = orjson.dumps(asked)
        try:
            if value.get("truncate") is False and "messages" in asked:
                model = self._access.model(asked["model"])
                if read(self._access, asked, model).tokens > min(size, model.context):
                    return Answer({"error": _TOO_LONG}, 400)
            extra = {"loaded": size} if "messages" in asked else {}
            answer = complete(exchange, **extra)
        except Refused as refused:
            body = refused.answer.body
            return Answer({"error": body["error"]["message"]}, refused.answer.status)
        answer.body = _native(answer.body)
        return answer


def _turn(message: dict[str, Any]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}]
    for image in message.get("images") or ():
        url = f"data:image/png;base64,{image}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": message["role"], "content": parts if len(parts) > 1 else message["content"]}


def _native(body: dict[str, Any]) -> dict[str, Any]:
    """An answer in Ollama's words."""
    [choice] = body["choices"]
    out = {
        "model": body["model"],
        "created_at": "2026-11-28T00:00:00Z",
        "done": True,
        "done_reason": choice["finish_reason"],
        "total_duration": 1_000_000,
        "prompt_eval_count": body["usage"]["prompt_tokens"],
        "eval_count": body["usage"]["completion_tokens"],
    }
    if (message := choice.get("message")) is None:
        return out | {"response": choice["text"]}
    told = {"role": "assistant", "content": message["content"]}
    if message.get("reasoning"):
        told["thinking"] = message["reasoning"]
    return out | {"message": told}

"""The protocols: who speaks each, and what a plain good answer looks like in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str | int, ...]
"""Where a value stands in a body."""


@dataclass(frozen=True)
class Lane:
    """One protocol.

    Attributes:
        provider, model: who is asked.
        settings: of the provider.
        body: a good answer.
        text: where its text stands.
        fixed: where else a body must stay as it is to be an answer.
        line: the names under which a line of a batch's results holds a body; empty: no batches.
        item: the name under which it holds the name of its item.
        packed: whether the client asks for packed bodies.
    """

    provider: str
    model: str
    body: Mapping[str, Any]
    text: Path
    fixed: tuple[Path, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    line: tuple[str, ...] = ()
    item: str = "custom_id"
    packed: bool = True

    def base_url(self, url: str) -> str:
        """The address of a server for this provider."""
        versioned = self.provider in ("openai", "compatible", "openrouter", "ollama")
        return f"{url}/v1" if versioned else url


_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 3,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}
_CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "", "reasoning_content": "Hm."},
            "logprobs": {"content": [{"token": "B", "logprob": -0.5, "top_logprobs": []}]},
            "finish_reason": "stop",
        }
    ],
    "usage": _USAGE,
    "system_fingerprint": "fp",
}
_CHAT_TEXT: Path = ("choices", 0, "message", "content")
_CHAT_FIXED: tuple[Path, ...] = (("choices", 0, "finish_reason"), ("object",))
_RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "m",
    "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}],
        },
    ],
    "usage": {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    },
}
_MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "", "citations": None},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 9,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 0},
    },
}
_CONTENT = {
    "candidates": [
        {
            "index": 0,
            "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": ""}]},
            "finishReason": "STOP",
            "avgLogprobs": -0.5,
            "safetyRatings": [],
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 9,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 0,
        "totalTokenCount": 12,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
    },
    "modelVersion": "m",
    "responseId": "r1",
}
_CONVERSE = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
                {"text": ""},
            ],
        }
    },
    "stopReason": "end_turn",
    "usage": {
        "inputTokens": 9,
        "outputTokens": 3,
        "totalTokens": 12,
        "cacheReadInputTokens": 0,
        "cacheWriteInputTokens": 0,
    },
    "metrics": {"latencyMs": 7},
    "trace": {"promptRouter": {"invokedModelId": "m"}},
}
_NATIVE = {
    "model": "m",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": "", "thinking": "Hm."},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 9,
    "eval_count": 3,
    "total_duration": 7,
}

LANES = {
    "openai-chat": Lane(
        *("openai", "gpt-4.1", _CHAT, _CHAT_TEXT, _CHAT_FIXED),
        {"api": "chat"},
        line=("response", "body"),
    ),
    "openai-responses": Lane(
        *("openai", "gpt-4.1", _RESPONSE, ("output", 1, "content", 0, "text")),
        (("output", 1, "type"), ("status",), ("object",)),
        {"api": "responses"},
        line=("response", "body"),
    ),
    "compatible": Lane(
        *("compatible", "m", _CHAT, _CHAT_TEXT, _CHAT_FIXED), line=("response", "body")
    ),
    "openrouter": Lane(
        *("openrouter", "m", {**_CHAT, "usage": {**_USAGE, "cost": 0.25}}, _CHAT_TEXT, _CHAT_FIXED)
    ),
    "together": Lane(*("together", "m", _CHAT, _CHAT_TEXT, _CHAT_FIXED), line=("response", "body")),
    "ollama": Lane(
        *("ollama", "m", _NATIVE, ("message", "content"), (("done_reason",),), {"num_ctx": 4096})
    ),
    "anthropic": Lane(
        *("anthropic", "claude-sonnet-5-5", _MESSAGE, ("content", 1, "text")),
        (("content", 1, "type"), ("stop_reason",)),
        line=("result", "message"),
    ),
    "google": Lane(
        *("google", "gemini-2.5-flash", _CONTENT, ("candidates", 0, "content", "parts", 1, "text")),
        (("candidates", 0, "finishReason"),),
        line=("response",),
        item="key",
    ),
    "bedrock": Lane(
        *("bedrock", "us.anthropic.claude-sonnet-5-5", _CONVERSE),
        ("output", "message", "content", 1, "text"),
        (("stopReason",),),
        line=("modelOutput",),
        item="recordId",
        packed=False,
    ),
}

"""Reading a chat completion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.exchange import Arrival

_OUTCOMES = {
    "length": Outcome.TRUNCATED,
    "model_length": Outcome.TRUNCATED,
    "content_filter": Outcome.FILTERED,
    "sensitive": Outcome.FILTERED,
    "refusal": Outcome.REFUSED,
}


def read_chat(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A completion as a reply; ``raw`` is the body itself.

    Raises:
        KeyError, IndexError, TypeError: when the body is no completion.
    """
    choice = body["choices"][0]
    message = choice["message"]
    stop = choice.get("finish_reason") or ""
    outcome = _OUTCOMES.get(stop, Outcome.OK)
    text = _text(message.get("content"))
    if refusal := message.get("refusal"):
        text, outcome = text or refusal, Outcome.REFUSED
    return Reply(
        text=text,
        outcome=outcome,
        reasoning=_reasoning(message),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=body.get("model") or "",
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def _text(content: object) -> str:
    """The answer's text: a string, or the text pieces of a list of typed ones."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            piece.get("text") or ""
            for piece in content
            if isinstance(piece, dict) and piece.get("type") == "text"
        )
    return ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """The reasoning shown, in a field of its own or as ``thinking`` pieces of the content."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(shown := message.get(name), str) and shown:
            return shown
    content = message.get("content")
    if not isinstance(content, list):
        return ""
    return "".join(
        _text(piece.get("thinking"))
        for piece in content
        if isinstance(piece, dict) and piece.get("type") == "thinking"
    )


def read_usage(usage: object) -> Usage:
    """Token counts; ``prompt_tokens`` includes cached ones.

    ``completion_tokens`` includes reasoning, except at servers that count it
    apart: there the total tells.
    """
    if not isinstance(usage, dict):
        return Usage()
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    cached = prompt.get("cached_tokens", usage.get("cached_tokens"))
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    total = usage.get("total_tokens")
    if isinstance(total, int) and isinstance(read, int) and isinstance(written, int):
        written = max(written, total - read)
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=usage.get("prompt_cache_hit_tokens") if cached is None else cached,
        cache_write_tokens=prompt.get("cache_write_tokens"),
        reasoning_tokens=completion.get("reasoning_tokens", usage.get("reasoning_tokens")),
    )

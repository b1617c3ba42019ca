"""Reading chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.engine.calls.replies import token_count
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.lenient import as_list, as_object, as_text, encode
from evalbench.providers.wire.stops import outcome_of

_TEXTS = (None, "text", "output_text")
_NO_TEXT = "the content was no text; its JSON stands for it"


def read_chat(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A completion as a reply; ``raw`` is the body itself.

    Raises:
        KeyError, IndexError, TypeError: the body is not a completion.
        BrokenOff: the server reports that the answer is incomplete.
    """
    choice = body["choices"][0]
    message = _message(choice)
    stop = as_text(choice.get("finish_reason"))
    outcome = outcome_of(stop)
    text, notes = _text(message.get("content"))
    if refusal := as_text(message.get("refusal")):
        text, outcome = text or refusal, Outcome.REFUSED
    return Reply(
        text=text,
        outcome=outcome,
        reasoning=_reasoning(message),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=as_text(body.get("model")),
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
        notes=notes,
    )


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of a choice; some servers send plain text, or a stream chunk."""
    message = choice.get("message")
    if isinstance(message, dict):
        return message
    if isinstance(message, str):
        return {"content": message}
    if isinstance(delta := choice.get("delta"), dict):
        return delta
    return {"content": choice["text"]}


def _text(content: object) -> tuple[str, tuple[str, ...]]:
    """The answer's text, and any oddities in it.

    Accepts a string, a list of typed parts (the text ones are used), or one such part.
    """
    if isinstance(content, str):
        return content, ()
    if content is None:
        return "", ()
    if isinstance(content, list):
        return "".join(map(_piece, content)), ()
    if text := _piece(content):
        return text, ()
    return encode(content).decode(), (_NO_TEXT,)


def _piece(piece: object) -> str:
    """The text of one part of an answer; empty for other kinds, such as thoughts and images."""
    if isinstance(piece, str):
        return piece
    fields = as_object(piece)
    return as_text(fields.get("text")) if fields.get("type") in _TEXTS else ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """The visible reasoning, from its own field or from ``thinking`` parts of the content."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(shown := message.get(name), str) and shown:
            return shown
    content = message.get("content")
    if not isinstance(content, list):
        return ""
    return "".join(
        _thought(piece.get("thinking"))
        for piece in content
        if isinstance(piece, dict) and piece.get("type") == "thinking"
    )


def _thought(thinking: object) -> str:
    return "".join(map(_piece, as_list(thinking))) or as_text(thinking)


def read_usage(usage: object) -> Usage:
    """Token counts; ``prompt_tokens`` includes cached ones.

    ``completion_tokens`` includes reasoning, except on servers that count it separately; for those
    the total is decisive.
    """
    counts = as_object(usage)
    prompt = as_object(counts.get("prompt_tokens_details"))
    completion = as_object(counts.get("completion_tokens_details"))
    cached = prompt.get("cached_tokens", counts.get("cached_tokens"))
    read, written = counts.get("prompt_tokens"), token_count(counts.get("completion_tokens"))
    total, given = token_count(counts.get("total_tokens")), token_count(read)
    if total is not None and given is not None and written is not None:
        written = max(written, total - given)
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=counts.get("prompt_cache_hit_tokens") if cached is None else cached,
        cache_write_tokens=prompt.get("cache_write_tokens"),
        reasoning_tokens=completion.get("reasoning_tokens", counts.get("reasoning_tokens")),
    )

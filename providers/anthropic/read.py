"""Reading Anthropic's answers: text, thinking, why it stopped, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.exchange import Arrival

_OUTCOMES = {
    "max_tokens": Outcome.TRUNCATED,
    "model_context_window_exceeded": Outcome.TRUNCATED,
    "refusal": Outcome.REFUSED,
}


def read_message(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A message as a reply; ``raw`` is the body itself.

    Blocks are told apart by their ``type``: unknown ones are skipped.

    Raises:
        KeyError, TypeError: when the body is no message.
    """
    text: list[str] = []
    thinking: list[str] = []
    for block in body["content"]:
        if block["type"] == "text":
            text.append(block["text"])
        elif block["type"] == "thinking":
            thinking.append(block.get("thinking") or "")
    stop = body.get("stop_reason") or ""
    outcome = _OUTCOMES.get(stop, Outcome.OK)
    answer = "".join(text)
    if outcome is Outcome.REFUSED and not answer:
        answer = (body.get("stop_details") or {}).get("explanation") or ""
    return Reply(
        text=answer,
        outcome=outcome,
        reasoning="\n\n".join(thought for thought in thinking if thought),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=body.get("model") or "",
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Anthropic's ``input_tokens`` leaves out what was read from or written to
    the cache; the total is the sum of the three.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh = usage.get("input_tokens")
    read = usage.get("cache_read_input_tokens")
    written = usage.get("cache_creation_input_tokens")
    details = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.get("thinking_tokens"),
    )

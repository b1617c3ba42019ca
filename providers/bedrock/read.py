"""Reading Converse's answers: text, reasoning, why it stopped, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.exchange import Arrival

_OUTCOMES = {
    "max_tokens": Outcome.TRUNCATED,
    "model_context_window_exceeded": Outcome.TRUNCATED,
    "guardrail_intervened": Outcome.FILTERED,
    "content_filtered": Outcome.FILTERED,
    "refusal": Outcome.REFUSED,
}
"""Others are answers, also ``malformed_model_output``: what the model did not bring
into form is its own, and asking again would cost as much."""


def read_converse(body: Mapping[str, Any], arrival: Arrival, model: str) -> Reply:
    """An answer as a reply; ``raw`` is the body itself.

    Blocks are told apart by their one key: unknown ones are skipped.

    Args:
        body: the parsed response.
        arrival: what came beside it.
        model: whom the request named; Bedrock says only which model a router chose.

    Raises:
        KeyError, TypeError, ValueError: when the body is no answer.
    """
    text: list[str] = []
    thinking: list[str] = []
    for block in body["output"]["message"]["content"]:
        if "text" in block:
            text.append(block["text"])
        elif "reasoningContent" in block:
            thinking.append((block["reasoningContent"].get("reasoningText") or {}).get("text", ""))
    stop = body["stopReason"]
    router = (body.get("trace") or {}).get("promptRouter") or {}
    return Reply(
        text="".join(text),
        outcome=_OUTCOMES.get(stop, Outcome.OK),
        reasoning="\n\n".join(thought for thought in thinking if thought),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=router.get("invokedModelId") or model,
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Bedrock's ``inputTokens`` leaves out what was read from or written to the
    cache; the total is the sum of the three. Reasoning is part of the output
    and not told apart.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh = usage.get("inputTokens")
    read = usage.get("cacheReadInputTokens")
    written = usage.get("cacheWriteInputTokens")
    return Usage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        output_tokens=usage.get("outputTokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )

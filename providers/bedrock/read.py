"""Reading Converse's answers: text, reasoning, stop reason and usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Reply, Usage
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.lenient import as_list, as_object, as_text, sum_of
from evalbench.providers.wire.stops import outcome_of


def read_converse(body: Mapping[str, Any], arrival: Arrival, model: str) -> Reply:
    """An answer as a reply; ``raw`` is the body itself.

    Blocks are identified by their single key: unknown ones are skipped.

    Args:
        body: the parsed response.
        arrival: response metadata.
        model: the requested model; Bedrock names only the model that a router chose.

    Raises:
        KeyError, TypeError, ValueError: the body is not an answer.
        BrokenOff: the answer is incomplete.
    """
    text: list[str] = []
    thinking: list[str] = []
    content = body["output"]["message"]["content"]
    if not isinstance(content, list):
        raise TypeError("its content is no list")
    for block in map(as_object, content):
        thought = as_object(as_object(block.get("reasoningContent")).get("reasoningText"))
        text.append(as_text(block.get("text")))
        thinking.append(as_text(thought.get("text")))
    stop = as_text(body.get("stopReason"))
    router = as_object(as_object(body.get("trace")).get("promptRouter"))
    return Reply(
        text="".join(text),
        outcome=outcome_of(stop),
        reasoning="\n\n".join(thought for thought in thinking if thought),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=as_text(router.get("invokedModelId")) or model,
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Bedrock's ``inputTokens`` excludes tokens read from or written to the cache; the total is the
    sum of the three. Reasoning is part of the output and not reported separately.
    """
    counts = as_object(usage)
    read, written = (counts.get(f"cache{what}InputTokens") for what in ("Read", "Write"))
    details = map(as_object, as_list(counts.get("cacheDetails")))
    kept = [one.get("inputTokens") for one in details if one.get("ttl") == "1h"]
    return Usage(
        input_tokens=sum_of(counts.get("inputTokens"), read, written),
        output_tokens=counts.get("outputTokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=sum_of(0, *kept) if kept else None,
    )

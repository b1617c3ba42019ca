"""Reading Anthropic's answers: text, thinking, stop reason, usage and rate limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, RateLimits, Reply, Usage
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.headers import count, until
from evalbench.providers.wire.lenient import as_object, as_text, sum_of
from evalbench.providers.wire.stops import outcome_of

_LIMITS = "anthropic-ratelimit-"


def read_message(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A message as a reply; ``raw`` is the body itself.

    Blocks are identified by ``type``: unknown ones are skipped.

    Raises:
        KeyError, TypeError: the body is not a message.
        BrokenOff: the message is incomplete.
    """
    text: list[str] = []
    thinking: list[str] = []
    content = body["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise TypeError("its content is no list")
    for block in map(as_object, content):
        if block.get("type") in (None, "text"):
            text.append(as_text(block.get("text")))
        elif block.get("type") == "thinking":
            thinking.append(as_text(block.get("thinking")))
    stop = as_text(body.get("stop_reason"))
    outcome = outcome_of(stop)
    answer = "".join(text)
    if outcome is Outcome.REFUSED and not answer:
        answer = as_text(as_object(body.get("stop_details")).get("explanation"))
    return Reply(
        text=answer,
        outcome=outcome,
        reasoning="\n\n".join(thought for thought in thinking if thought),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=as_text(body.get("model")),
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Anthropic's ``input_tokens`` excludes tokens read from or written to the cache; the total is the
    sum of the three.
    """
    counts = as_object(usage)
    read, written = (
        counts.get("cache_read_input_tokens"),
        counts.get("cache_creation_input_tokens"),
    )
    kept = as_object(counts.get("cache_creation"))
    return Usage(
        input_tokens=sum_of(counts.get("input_tokens"), read, written),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=as_object(counts.get("output_tokens_details")).get("thinking_tokens"),
        cache_write_1h_tokens=kept.get("ephemeral_1h_input_tokens"),
    )


def read_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Parse the rate limits of a response; None if there are none.

    Resets are timestamps (RFC 3339) and are converted to seconds from now.
    """
    if not any(name.startswith(_LIMITS) for name in headers):
        return None

    def header(name: str) -> str | None:
        return headers.get(_LIMITS + name)

    return RateLimits(
        requests_remaining=count(header("requests-remaining")),
        requests_reset_s=until(header("requests-reset"), headers),
        tokens_remaining=count(header("tokens-remaining")),
        tokens_reset_s=until(header("tokens-reset"), headers),
        requests_limit=count(header("requests-limit")),
        tokens_limit=count(header("tokens-limit")),
    )

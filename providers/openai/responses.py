"""Reading what the Responses API sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.exchange import Arrival

_INCOMPLETE = {
    "max_output_tokens": Outcome.TRUNCATED,
    "content_filter": Outcome.FILTERED,
}


def read_response(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A finished response as a reply; ``raw`` is the body itself.

    Raises:
        KeyError, TypeError: when the body is no finished response. A failed
            one (HTTP 200 all the same) is an error and told apart before.
    """
    text: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    for item in body["output"]:
        if item["type"] == "message":
            for piece in item["content"]:
                if piece["type"] == "output_text":
                    text.append(piece["text"])
                elif piece["type"] == "refusal":
                    refusals.append(piece["refusal"])
        elif item["type"] == "reasoning":
            thoughts += [piece["text"] for piece in item.get("summary") or ()]
    status = body["status"]
    stop = status
    outcome = Outcome.OK
    if status == "incomplete":
        stop = (body.get("incomplete_details") or {}).get("reason") or "incomplete"
        outcome = _INCOMPLETE.get(stop, Outcome.TRUNCATED)
    elif status != "completed":
        raise KeyError(f"status {status}")
    if refusals:
        outcome = Outcome.REFUSED
    return Reply(
        text="".join(text) or "".join(refusals),
        outcome=outcome,
        reasoning="\n\n".join(thoughts),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=body.get("model") or "",
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def failed_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status that a failed response stands for; None when it did not fail."""
    if body.get("status") != "failed":
        return None
    error = body.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return _STATUS.get(str(code), 400)


_STATUS = {"rate_limit_exceeded": 429, "server_error": 500, "None": 500}


def read_usage(usage: object) -> Usage:
    """Token counts; ``input_tokens`` includes cached ones, ``output_tokens`` reasoning."""
    if not isinstance(usage, dict):
        return Usage()
    read = usage.get("input_tokens_details") or {}
    written = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cache_read_tokens=read.get("cached_tokens"),
        cache_write_tokens=read.get("cache_write_tokens"),
        reasoning_tokens=written.get("reasoning_tokens"),
    )

"""Reading Responses API answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.body import BrokenOff
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.lenient import as_list, as_object, as_text, status_number

_INCOMPLETE = {
    "max_output_tokens": Outcome.TRUNCATED,
    "content_filter": Outcome.FILTERED,
}


def read_response(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A finished response as a reply; ``raw`` is the body itself.

    Raises:
        KeyError, TypeError: the body is not a response. A failed one (still HTTP 200) is an error
            and is detected earlier.
        BrokenOff: the response is incomplete.
    """
    text: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    output = body["output"]
    if not isinstance(output, list):
        raise TypeError("its output is no list")
    for item in map(as_object, output):
        if item.get("type") == "message":
            for piece in map(as_object, as_list(item.get("content"))):
                text.append(as_text(piece.get("text")))
                refusals.append(as_text(piece.get("refusal")))
        elif item.get("type") == "reasoning":
            thoughts += [
                as_text(as_object(piece).get("text")) for piece in as_list(item.get("summary"))
            ]
    stop = as_text(body.get("status"))
    outcome = Outcome.OK
    if stop == "incomplete":
        stop = as_text(as_object(body.get("incomplete_details")).get("reason")) or stop
        outcome = _INCOMPLETE.get(stop, Outcome.TRUNCATED)
    elif stop not in ("completed", ""):
        raise BrokenOff(stop[:100])
    elif not any(text) and not any(refusals) and not stop:
        raise KeyError("status")
    if any(refusals):
        outcome = Outcome.REFUSED
    return Reply(
        text="".join(text) or "".join(refusals),
        outcome=outcome,
        reasoning="\n\n".join(filter(None, thoughts)),
        stop_reason=stop,
        usage=read_usage(body.get("usage")),
        provider_model=as_text(body.get("model")),
        raw=body,
        request_id=arrival.request_id,
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def failed_status(body: Mapping[str, Any]) -> int | None:
    """The HTTP status equivalent to a failed response; None if it did not fail."""
    if body.get("status") != "failed":
        return None
    code = as_object(body.get("error")).get("code")
    status = status_number(code)
    return status if 400 <= status < 600 else _STATUS.get(str(code)[:100], 400)


_STATUS = {"rate_limit_exceeded": 429, "server_error": 500, "None": 500}


def read_usage(usage: object) -> Usage:
    """Token counts; ``input_tokens`` includes cached ones, ``output_tokens`` reasoning."""
    counts = as_object(usage)
    read = as_object(counts.get("input_tokens_details"))
    written = as_object(counts.get("output_tokens_details"))
    return Usage(
        input_tokens=counts.get("input_tokens"),
        output_tokens=counts.get("output_tokens"),
        cache_read_tokens=read.get("cached_tokens"),
        cache_write_tokens=read.get("cache_write_tokens"),
        reasoning_tokens=written.get("reasoning_tokens"),
    )

"""Reading Gemini's answers: text, thoughts, why it stopped, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.providers.wire.exchange import Arrival

_OUTCOMES = {
    "STOP": Outcome.OK,
    "MAX_TOKENS": Outcome.TRUNCATED,
    # The model would go on if it were asked again, for more money: nobody asks by itself.
    "CONTINUATION": Outcome.TRUNCATED,
    "": Outcome.TRUNCATED,
}
"""Of finish reasons; all others (SAFETY, RECITATION, BLOCKLIST …) are the provider's filters."""
_BROKEN = ("MALFORMED_RESPONSE", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")


def read_content(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A response as a reply; ``raw`` is the body itself.

    A blocked prompt and an answer without any text are outcomes, never empty
    good answers.

    Raises:
        KeyError, TypeError, ValueError: when the body is no answer.
    """
    if "candidates" not in body and "promptFeedback" not in body:
        # Nothing was generated, and the API says no more than what the prompt counted as.
        _ = body["usageMetadata"]
    text: list[str] = []
    thoughts: list[str] = []
    candidate = (body.get("candidates") or [{}])[0]
    for part in (candidate.get("content") or {}).get("parts") or ():
        if "text" in part:
            (thoughts if part.get("thought") else text).append(part["text"])
    stop = candidate.get("finishReason") or ""
    if stop in _BROKEN:
        raise ValueError(f"the model's answer was {stop}")
    answer = "".join(text)
    outcome = _OUTCOMES.get(stop, Outcome.FILTERED)
    if not answer and stop in ("", "STOP"):
        outcome = Outcome.FILTERED
        stop = (body.get("promptFeedback") or {}).get("blockReason") or stop
    return Reply(
        text=answer,
        outcome=outcome,
        reasoning="\n\n".join(thoughts),
        stop_reason=stop,
        usage=read_usage(body.get("usageMetadata")),
        provider_model=body.get("modelVersion") or "",
        raw=body,
        request_id=arrival.request_id or str(body.get("responseId") or ""),
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Gemini counts thoughts apart from the answer, and leaves out what is zero.
    """
    if not isinstance(usage, dict):
        return Usage()
    thoughts = usage.get("thoughtsTokenCount")
    return Usage(
        input_tokens=usage.get("promptTokenCount"),
        output_tokens=(usage.get("candidatesTokenCount") or 0) + (thoughts or 0),
        cache_read_tokens=usage.get("cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )

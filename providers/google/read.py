"""Reading Gemini's answers: text, thoughts, finish reason and usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalbench.engine.calls import Outcome, Reply, Usage
from evalbench.engine.calls.replies import token_count
from evalbench.providers.wire.exchange import Arrival
from evalbench.providers.wire.lenient import as_list, as_object, as_text, sum_of
from evalbench.providers.wire.stops import known, outcome_of

_OWN = {
    "": Outcome.TRUNCATED,
    "finish_reason_unspecified": Outcome.TRUNCATED,
    "language": Outcome.FILTERED,
    "other": Outcome.FILTERED,
    "image_other": Outcome.FILTERED,
    "no_image": Outcome.FILTERED,
}
"""Finish reasons that other providers do not give, or mean otherwise."""
_BROKEN = "MALFORMED_RESPONSE"


def read_content(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A response as a reply; ``raw`` is the body itself.

    A blocked prompt and an answer without text become outcomes, never empty successful answers.

    Raises:
        KeyError, IndexError, TypeError, AttributeError: the body is not an answer.
        BrokenOff: the answer was malformed, or is incomplete.
    """
    if "candidates" not in body and "promptFeedback" not in body:
        # Nothing was generated; the API reports only the prompt's tokens.
        _ = body["usageMetadata"]
    text: list[object] = []
    thoughts: list[object] = []
    candidate = (body.get("candidates") or [{}])[0]
    for part in map(as_object, as_list(as_object(candidate.get("content")).get("parts"))):
        if "text" in part:
            (thoughts if part.get("thought") else text).append(part["text"])
    stop = as_text(candidate.get("finishReason"))
    if text and not any(isinstance(one, str) for one in text):
        raise TypeError("its text is none")
    answer = "".join(map(as_text, text))
    if answer or stop == _BROKEN:
        outcome = outcome_of(stop, _OWN)
    else:
        # Google's new reasons for giving no answer are those of new filters.
        outcome = _OWN.get(stop.lower()) or known(stop) or Outcome.FILTERED
    if not answer and (outcome is Outcome.OK or not stop):
        outcome = Outcome.FILTERED
        stop = as_text(as_object(body.get("promptFeedback")).get("blockReason")) or stop
    return Reply(
        text=answer,
        outcome=outcome,
        reasoning="\n\n".join(filter(None, map(as_text, thoughts))),
        stop_reason=stop,
        usage=read_usage(body.get("usageMetadata")),
        provider_model=as_text(body.get("modelVersion")),
        raw=body,
        request_id=arrival.request_id or as_text(body.get("responseId"))[:200],
        limits=arrival.limits,
        params=arrival.params,
        latency_s=arrival.latency_s,
    )


def read_usage(usage: object) -> Usage:
    """Token counts in canonical form.

    Gemini counts thoughts separately from the answer, and omits zero counts.
    """
    if not isinstance(usage, dict):
        return Usage()
    thoughts = usage.get("thoughtsTokenCount")
    heard, again = (_audio(usage.get(f"{what}TokensDetails")) for what in ("prompt", "cache"))
    answer = usage.get("candidatesTokenCount")
    return Usage(
        input_tokens=usage.get("promptTokenCount"),
        output_tokens=sum_of(0 if answer is None else answer, thoughts),
        cache_read_tokens=usage.get("cachedContentTokenCount"),
        reasoning_tokens=thoughts,
        audio_tokens=max(0, heard - again) if heard else None,
    )


def _audio(details: object) -> int:
    """The tokens of sound among those of a prompt, by modality."""
    counts = [
        token_count(one.get("tokenCount"))
        for one in map(as_object, as_list(details))
        if one.get("modality") == "AUDIO"
    ]
    return sum(count or 0 for count in counts)

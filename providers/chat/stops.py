"""Stop reasons, as spelled by chat completions servers."""

from __future__ import annotations

from evalbench.engine.calls import Outcome

_WORDS: dict[Outcome, str] = {
    Outcome.OK: (
        "stop stopped end eos eos_token stop_sequence stop_token end_turn end_of_turn complete"
        " completed finish finished done success tool_call tool_calls tool_use function_call"
    ),
    Outcome.TRUNCATED: (
        "length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length"
        " model_length token_limit context_length model_context_window_exceeded repetition"
    ),
    Outcome.FILTERED: (
        "content_filter content_filtered sensitive safety recitation blocklist"
        " prohibited_content spii guardrail_intervened"
    ),
    Outcome.REFUSED: "refusal refused",
}
_OUTCOMES = {word: outcome for outcome, words in _WORDS.items() for word in words.split()}
_OUTCOMES[""] = Outcome.OK


def outcome_of(stop: str) -> Outcome | None:
    """The outcome for a stop reason; None if the answer was cut off and is no answer.

    None applies to ``error``, ``abort``, ``insufficient_system_resource`` and every unknown reason.
    No reason at all counts as a normal end.
    """
    return _OUTCOMES.get(stop.lower())

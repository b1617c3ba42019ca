"""Why an answer ended, in the words of all providers and gateways.

Gateways pass on the words of whatever model they asked, so there is one table for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from evalbench.engine.calls import Outcome
from evalbench.providers.wire.body import BrokenOff

_WORDS: dict[Outcome, str] = {
    Outcome.OK: (
        "stop stopped end eos eos_token stop_sequence stop_token end_turn end_of_turn complete"
        " completed finish finished done success tool_call tool_calls tool_use function_call"
        # The model failed to produce a format; asking again would cost as much.
        " malformed_model_output malformed_tool_use malformed_function_call unexpected_tool_call"
        " too_many_tool_calls missing_thought_signature"
    ),
    Outcome.TRUNCATED: (
        "length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length"
        " model_length token_limit context_length model_context_window_exceeded repetition"
        # Asking again would make the model continue, at extra cost; that is never done.
        " continuation pause_turn compaction"
    ),
    Outcome.FILTERED: (
        "content_filter content_filtered sensitive safety recitation blocklist"
        " prohibited_content spii guardrail_intervened model_armor escalation pup_limited_disabled"
        " image_safety image_prohibited_content image_recitation"
    ),
    Outcome.REFUSED: "refusal refused",
}
_OUTCOMES = {word: outcome for outcome, words in _WORDS.items() for word in words.split()}
_OUTCOMES[""] = Outcome.OK
_NONE: Mapping[str, Outcome] = MappingProxyType({})


def known(stop: str) -> Outcome | None:
    """The outcome for a stop reason; None if it is unknown, or names an answer that broke off."""
    return _OUTCOMES.get(stop.lower())


def outcome_of(stop: str, own: Mapping[str, Outcome] = _NONE) -> Outcome:
    """The outcome for a stop reason.

    No reason at all counts as a normal end.

    Args:
        stop: the reason, in any case.
        own: reasons that mean something else with this provider, in lower case.

    Raises:
        BrokenOff: the answer is none, as with ``error``, ``abort``,
            ``insufficient_system_resource`` and every unknown reason.
    """
    outcome = own.get(stop.lower()) or known(stop)
    if outcome is None:
        raise BrokenOff(stop[:100])
    return outcome

"""A Together request body for a call: pure, for realtime and batch alike.

Its models reason in one of three ways: always; if ``reasoning.enabled`` says so; or at one of three
effort levels.
"""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import Call, Params
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import send_response_format, takes_schema

WHO = "Together"
_EFFORT = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_SWITCH = "reasoning.enabled"


def terms(params: Params, facts: ModelFacts, refused: Refused) -> Terms:
    """Negotiate the parameters.

    Raises:
        CallRejected: the API refuses every way to cap the answer.
    """
    talk = Negotiation(params, refused, WHO)
    talk.cap("max_tokens")
    for name in ("temperature", "top_p", "top_k"):
        if facts.sampling == "no":
            talk.drop(name, "the model takes no sampling parameters")
        else:
            talk.send(name, name)
    talk.send("seed", "seed")
    talk.send("stop", "stop")
    _reasoning(talk, params, facts)
    _logprobs(talk, facts)
    _schema(talk, params, facts)
    return talk.terms()


def _reasoning(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if facts.reasoning is False:
        talk.drop("effort", "the model does not reason")
        talk.drop("thinking_budget", "the model does not reason")
        return
    if params.effort is not None:
        _effort(talk, params.effort, facts)
    if params.thinking_budget == 0 and params.effort is None:
        _off(talk, "thinking_budget", facts)
    else:
        talk.drop("thinking_budget", f"{WHO} takes an effort, not a budget")


def _effort(talk: Negotiation, wanted: str, facts: ModelFacts) -> None:
    if wanted == "none":
        _off(talk, "effort", facts)
        return
    level = _EFFORT.get(wanted)
    if level is None:
        talk.drop("effort", f"{WHO} takes low, medium and high")
    elif facts.efforts != ():
        reason = "" if level == wanted else f"as {level}; {WHO} takes low, medium and high"
        talk.send("effort", "reasoning_effort", level, reason=reason)
    elif "disabled" in (facts.thinking or ()):
        reason = "as reasoning on; the model has no efforts"
        talk.send("effort", _SWITCH, True, aliases=("reasoning",), reason=reason)
    else:
        talk.drop("effort", "the model always reasons, and has no efforts")


def _off(talk: Negotiation, name: str, facts: ModelFacts) -> None:
    if facts.thinking is not None and "disabled" not in facts.thinking:
        talk.drop(name, "the model always reasons")
    else:
        talk.send(name, _SWITCH, False, aliases=("reasoning",), reason="as reasoning off")


def _logprobs(talk: Negotiation, facts: ModelFacts) -> None:
    if facts.logprobs is False:
        talk.drop("logprobs", "the model reports no log-probabilities")
    else:
        talk.send_logprobs("logprobs")


def _schema(talk: Negotiation, params: Params, facts: ModelFacts) -> None:
    if takes_schema(talk, params, facts):
        send_response_format(talk, params)


CHAT = "/v1/chat/completions"


def prepare(call: Call, facts: ModelFacts, terms: Terms) -> Prepared:
    """The request for a call. A prompt that is too long is an error, never truncated.

    Raises:
        CallRejected: the prompt is raw text without turns, or a part cannot be sent.
    """
    body: dict[str, Any] = {
        "model": wire_name(call),
        "messages": chat_messages(call.prompt.messages, WHO, video=facts.video is not False),
        "context_length_exceeded_behavior": "error",
        **terms.fields,
    }
    return Prepared(
        model=wire_name(call),
        path=CHAT,
        body=body,
        headers=terms.headers,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )

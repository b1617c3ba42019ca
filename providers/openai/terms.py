"""Requested parameters in OpenAI's terms, for its two endpoints.

Reasoning models support sampling parameters and log-probabilities only when they do not reason,
that is at effort ``none``, if they have that effort at all.
"""

from __future__ import annotations

from typing import Literal

from evalbench.engine.calls import Params
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.schemas import (
    ALIASES,
    NOT_STRICT,
    named,
    schema_of,
    send_response_format,
)

Endpoint = Literal["chat", "responses"]

FALLBACK_MAX_TOKENS = 4096
LEAST_OUTPUT = 16
"""The minimum ``max_output_tokens`` of the Responses API."""
_MOST_STOPS = 4


def reasons(params: Params, facts: ModelFacts) -> bool:
    """Whether the model will reason in a call with these parameters."""
    if not facts.reasoning:
        return False
    if facts.efforts is None:
        return params.effort != "none"
    effort = params.effort if params.effort in facts.efforts else facts.default_effort
    return effort != "none" or "none" not in facts.efforts


def endpoint_for(facts: ModelFacts, wanted: str, *, official: bool) -> Endpoint:
    """The endpoint for a call.

    Args:
        facts: facts about the model.
        wanted: ``chat``, ``responses`` or ``auto``.
        official: whether the address is OpenAI's own. Gateways and test servers support chat; few
            support Responses.
    """
    if wanted in ("chat", "responses"):
        return "chat" if wanted == "chat" else "responses"
    if facts.endpoints == ("responses",):
        return "responses"
    return "responses" if official and facts.reasoning else "chat"


def terms(params: Params, facts: ModelFacts, refused: Refused, endpoint: Endpoint) -> Terms:
    """Negotiate the parameters for one endpoint.

    Raises:
        CallRejected: the endpoint refuses every way to cap an answer.
    """
    talk = Negotiation(params, refused, "OpenAI's API")
    _cap(talk, params, endpoint)
    _effort(talk, params, facts, endpoint)
    talk.drop("thinking_budget", "OpenAI's models take an effort, not a budget")
    reasoning = reasons(params, facts)
    _sampling(talk, facts, reasoning=reasoning)
    _logprobs(talk, params, facts, endpoint, reasoning=reasoning)
    _schema(talk, params, facts, endpoint)
    if endpoint == "responses":
        talk.drop("seed", "the Responses API takes no seed; see --api chat")
        talk.drop("stop", "the Responses API takes no stop texts; see --api chat")
        return talk.terms()
    talk.send("seed", "seed")
    if facts.stop is False:
        talk.drop("stop", "reasoning models take no stop texts")
    elif len(params.stop) > _MOST_STOPS:
        kept = list(params.stop[:_MOST_STOPS])
        talk.send("stop", "stop", kept, reason=f"the first {_MOST_STOPS}; OpenAI takes no more")
    else:
        talk.send("stop", "stop")
    return talk.terms()


def _cap(talk: Negotiation, params: Params, endpoint: Endpoint) -> None:
    cap = params.max_tokens or FALLBACK_MAX_TOKENS
    if endpoint == "chat":
        # Gateways older than the new name know the old one.
        talk.cap(cap, "max_completion_tokens", "max_tokens")
    elif cap < LEAST_OUTPUT:
        reason = f"raised to {LEAST_OUTPUT}, the least that the Responses API takes"
        talk.fix("max_tokens", "max_output_tokens", LEAST_OUTPUT, reason)
    else:
        talk.fix("max_tokens", "max_output_tokens", cap)


def _effort(talk: Negotiation, params: Params, facts: ModelFacts, endpoint: Endpoint) -> None:
    if params.effort is None:
        return
    if facts.efforts is not None and params.effort not in facts.efforts:
        known = ", ".join(facts.efforts)
        talk.drop("effort", f"the model takes {known}" if known else "the model does not reason")
    elif endpoint == "chat":
        talk.send("effort", "reasoning_effort")
    else:
        talk.send("effort", "reasoning.effort", aliases=("reasoning_effort", "effort"))


def _sampling(talk: Negotiation, facts: ModelFacts, *, reasoning: bool) -> None:
    reason = ""
    if facts.sampling == "no":
        reason = "the model takes no sampling parameters"
    elif facts.sampling == "unreasoned" and reasoning:
        reason = "not while the model reasons; see --effort none"
    for name in ("temperature", "top_p"):
        if reason:
            talk.drop(name, reason)
        else:
            talk.send(name, name)


def _logprobs(
    talk: Negotiation, params: Params, facts: ModelFacts, endpoint: Endpoint, *, reasoning: bool
) -> None:
    if params.logprobs is None:
        return
    if facts.logprobs is False:
        talk.drop("logprobs", "the model reports no log-probabilities")
    elif reasoning:
        talk.drop("logprobs", "not while the model reasons; see --effort none")
    elif talk.send("logprobs", "top_logprobs", aliases=("logprobs", "include")):
        if endpoint == "chat":
            talk.fields["logprobs"] = True
        else:
            talk.fields["include"] = ["message.output_text.logprobs"]


def _schema(talk: Negotiation, params: Params, facts: ModelFacts, endpoint: Endpoint) -> None:
    if params.schema is None:
        return
    if facts.schema is False:
        talk.drop("schema", "the model takes no schema")
        return
    if endpoint == "chat":
        send_response_format(talk, params)
        return
    schema = named(schema_of(params))
    value = {"type": "json_schema", **schema}
    reason = "" if schema["strict"] else NOT_STRICT
    talk.send("schema", "text.format", value, aliases=ALIASES, reason=reason)

"""A body for either of OpenAI's endpoints for a call: pure, for realtime and batch alike.

Reasoning models support sampling parameters and log-probabilities only when they do not reason,
that is at effort ``none``, if they have that effort at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evalbench.engine.calls import Call, MediaPart, Message, Params, TextPart
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.modelfacts import NOTHING, ModelFacts, Negotiable, Refused
from evalbench.providers.modelfacts.refusals import refusal
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.images import data_uri
from evalbench.providers.wire.negotiation import Negotiation, Terms
from evalbench.providers.wire.prompt_checks import raw_text_refused
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.schemas import (
    ALIASES,
    NOT_STRICT,
    named,
    schema_of,
    send_response_format,
    takes_schema,
)

Endpoint = Literal["chat", "responses"]

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
    _cap(talk, endpoint)
    _effort(talk, facts, endpoint)
    talk.drop("thinking_budget", "OpenAI's models take an effort, not a budget")
    reasoning = reasons(params, facts)
    _sampling(talk, facts, reasoning=reasoning)
    _logprobs(talk, facts, endpoint, reasoning=reasoning)
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


def _cap(talk: Negotiation, endpoint: Endpoint) -> None:
    if endpoint == "chat":
        # Gateways older than the new name know the old one.
        talk.cap("max_completion_tokens", "max_tokens")
    elif talk.max_tokens < LEAST_OUTPUT:
        reason = f"raised to {LEAST_OUTPUT}, the least that the Responses API takes"
        talk.fix("max_tokens", "max_output_tokens", LEAST_OUTPUT, reason)
    else:
        talk.fix("max_tokens", "max_output_tokens", talk.max_tokens)


def _effort(talk: Negotiation, facts: ModelFacts, endpoint: Endpoint) -> None:
    if not talk.takes_effort(facts):
        return
    if endpoint == "chat":
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


def _logprobs(talk: Negotiation, facts: ModelFacts, endpoint: Endpoint, *, reasoning: bool) -> None:
    if facts.logprobs is False:
        talk.drop("logprobs", "the model reports no log-probabilities")
    elif reasoning:
        talk.drop("logprobs", "not while the model reasons; see --effort none")
    elif talk.send_logprobs("top_logprobs", aliases=("logprobs", "include")):
        if endpoint == "chat":
            talk.fields["logprobs"] = True
        else:
            talk.fields["include"] = ["message.output_text.logprobs"]


def _schema(talk: Negotiation, params: Params, facts: ModelFacts, endpoint: Endpoint) -> None:
    if not takes_schema(talk, params, facts):
        return
    if endpoint == "chat":
        send_response_format(talk, params)
        return
    schema = named(schema_of(params))
    value = {"type": "json_schema", **schema}
    reason = "" if schema["strict"] else NOT_STRICT
    talk.send("schema", "text.format", value, aliases=ALIASES, reason=reason)


WHO = "OpenAI"
LEAST_CACHED = 1024
"""Minimum tokens of a prefix that is cached."""
CACHED_S = 300.0
"""Older models keep a prefix for 5 to 10 minutes after its last use, newer ones half an hour."""
_CACHE_KEY = "prompt_cache_key"
PATHS: dict[Endpoint, str] = {"chat": "/chat/completions", "responses": "/responses"}


@dataclass(frozen=True, slots=True)
class BodySettings:
    """Settings that affect the body but are not parameters of the call.

    Attributes:
        image_detail: ``auto``, ``low``, ``high`` or ``original``.
        service_tier: empty: omitted.
    """

    image_detail: str = "auto"
    service_tier: str = ""


def prepare(
    call: Call,
    facts: ModelFacts,
    terms: Terms,
    endpoint: Endpoint,
    habits: BodySettings,
    refused: Refused = NOTHING,
) -> Prepared:
    """The request for a call at one endpoint.

    Nothing is stored at OpenAI, and a prompt that is too long is an error there, never truncated.
    Calls with the same long prefix send a key for it, so that they are routed to the same machine
    and its cache.

    Raises:
        CallRejected: the prompt is raw text without turns, or a part cannot be sent.
    """
    messages = call.prompt.messages
    body: dict[str, Any] = {"model": wire_name(call)}
    if endpoint == "chat":
        body["messages"] = chat_messages(
            messages,
            WHO,
            system_role="developer" if facts.reasoning else "system",
            detail=habits.image_detail,
        )
    else:
        body["input"] = _items(messages, habits.image_detail)
        body["store"] = False
        body["truncation"] = "disabled"
    body |= terms.fields
    if habits.service_tier:
        body["service_tier"] = habits.service_tier
    negotiable = terms.negotiable
    prefix = shared_prefix(messages)
    if prefix and prefix.tokens >= LEAST_CACHED and refusal(refused, _CACHE_KEY) is None:
        name = body[_CACHE_KEY] = prefix_name(call.model, messages, prefix)
        negotiable = (*negotiable, Negotiable(_CACHE_KEY, name))
    return Prepared(
        model=wire_name(call),
        path=PATHS[endpoint],
        body=body,
        headers=terms.headers,
        notes=terms.notes,
        negotiable=negotiable,
    )


def _items(messages: Sequence[Message], detail: str) -> list[dict[str, Any]]:
    """The ``input`` of a Responses request."""
    items: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "context":
            raise raw_text_refused(WHO)
        role = "developer" if message.role == "system" else message.role
        if not any(isinstance(part, MediaPart) for part in message.parts):
            items.append({"role": role, "content": message.text})
            continue
        content: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                content.append({"type": "input_text", "text": part.text})
            else:
                url = data_uri(part, WHO)
                content.append({"type": "input_image", "image_url": url, "detail": detail})
        items.append({"role": role, "content": content})
    return items

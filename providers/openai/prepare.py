"""Build a body for OpenAI from a call: pure, for realtime and batch alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Call, MediaPart, Message, TextPart
from evalbench.engine.calls.prefixes import prefix_name, shared_prefix
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.modelfacts import NOTHING, ModelFacts, Negotiable, Refused
from evalbench.providers.openai.terms import Endpoint
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.images import data_uri
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.prompts import raw_text_refused
from evalbench.providers.wire.provider import wire_name

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
    if prefix and prefix.tokens >= LEAST_CACHED and refused.reason(_CACHE_KEY, "") is None:
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

"""Build a Together request body from a call: pure, for realtime and batch alike."""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import Call
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.modelfacts import ModelFacts
from evalbench.providers.together.terms import WHO
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name

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

"""Build a body for a compatible server from a call: pure, for realtime and batch alike."""

from __future__ import annotations

from typing import Any

from evalbench.engine.calls import Call, MediaPart
from evalbench.engine.errors import CallRejected
from evalbench.providers.chat.conversation import chat_messages
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.prompts import raw_text_refused
from evalbench.providers.wire.provider import wire_name

CHAT = "/chat/completions"
TEXT = "/completions"


def is_raw(call: Call) -> bool:
    """Whether a call continues raw text instead of a conversation."""
    messages = call.prompt.messages
    return bool(messages) and messages[0].role == "context"


def prepare(call: Call, terms: Terms, quirks: Quirks, who: str) -> Prepared:
    """The request for a call: chat turns, or raw text if the server can continue it.

    Raises:
        CallRejected: the server does not accept raw text, or a part cannot be sent.
    """
    messages = call.prompt.messages
    body: dict[str, Any] = {"model": wire_name(call)}
    fields = terms.fields
    if is_raw(call):
        if not quirks.raw_text:
            raise raw_text_refused(who)
        if len(messages) > 1 or any(isinstance(part, MediaPart) for part in messages[0].parts):
            raise CallRejected(f"{who} continues one raw text, without turns or images")
        body["prompt"] = messages[0].text
        path = TEXT
        fields = _for_text(terms)
    else:
        _check_images(call, quirks, who)
        body["messages"] = chat_messages(messages, who)
        path = CHAT
    return Prepared(
        model=wire_name(call),
        path=path,
        body={**body, **quirks.extra, **fields},
        headers=terms.headers,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def _check_images(call: Call, quirks: Quirks, who: str) -> None:
    images = sum(isinstance(part, MediaPart) for m in call.prompt.messages for part in m.parts)
    if quirks.most_images and images > quirks.most_images:
        raise CallRejected(
            f"{who} takes {quirks.most_images} images in one request, and the call has {images}",
            hint="show fewer: benchmarks of videos have an option for the number of frames",
        )


def _for_text(terms: Terms) -> dict[str, Any]:
    """The fields in the form of ``/completions``, where ``logprobs`` is a number."""
    fields = dict(terms.fields)
    if fields.pop("logprobs", None):
        fields["logprobs"] = fields.pop("top_logprobs")
    if "max_completion_tokens" in fields:
        fields["max_tokens"] = fields.pop("max_completion_tokens")
    return fields

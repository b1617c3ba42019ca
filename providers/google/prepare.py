"""Build the body of ``generateContent`` from a call: pure, for realtime and batch alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Call, Message, TextPart
from evalbench.engine.errors import CallRejected
from evalbench.providers.google.media import WHO, media_part
from evalbench.providers.wire.exchange import Prepared
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.prompts import leading_system, raw_text_refused
from evalbench.providers.wire.provider import wire_name

_HARMS = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
_ROLES = {"user": "user", "assistant": "model"}


@dataclass(frozen=True, slots=True)
class BodySettings:
    """Settings that affect the body but are not parameters of the call.

    Attributes:
        safety: threshold for every harm category, as the API spells it; empty: its default.
        service_tier: ``standard``, ``flex`` or ``priority``; empty: omitted.
        fps: frames per second sampled from a video; None: the default of 1.
    """

    safety: str = ""
    service_tier: str = ""
    fps: float | None = None


def prepare(call: Call, terms: Terms, habits: BodySettings, uris: Mapping[str, str]) -> Prepared:
    """The request for a call.

    Turns without text or media are omitted: the API rejects empty ones.

    Args:
        call: the call.
        terms: its negotiated parameters.
        habits: settings of the provider.
        uris: URIs of uploaded files by the SHA-256 of their bytes.

    Raises:
        CallRejected: Gemini does not accept this form of conversation.
    """
    messages = call.prompt.messages
    leading = leading_system(messages)
    system, turns = messages[:leading], messages[leading:]
    body: dict[str, Any] = {}
    if head := "\n\n".join(message.text for message in system if message.text):
        body["systemInstruction"] = {"parts": [{"text": head}]}
    body["contents"] = _contents(turns, habits, uris)
    body |= terms.fields
    if habits.safety:
        body["safetySettings"] = [
            {"category": f"HARM_CATEGORY_{harm}", "threshold": habits.safety} for harm in _HARMS
        ]
    if habits.service_tier:
        body["serviceTier"] = habits.service_tier
    name = bare_name(wire_name(call))
    return Prepared(
        model=name,
        path=f"/models/{name}:generateContent",
        body=body,
        notes=terms.notes,
        negotiable=terms.negotiable,
    )


def bare_name(model: str) -> str:
    """A model's name without the ``models/`` prefix used in the API's own lists."""
    return model.removeprefix("models/")


def _contents(
    turns: Sequence[Message], habits: BodySettings, uris: Mapping[str, str]
) -> list[dict[str, Any]]:
    contents = []
    for turn in turns:
        if turn.role == "context":
            raise raw_text_refused(WHO)
        if turn.role == "system":
            raise CallRejected(f"{WHO} takes system messages only at the start")
        if parts := _parts(turn, habits, uris):
            contents.append({"role": _ROLES[turn.role], "parts": parts})
    if not contents:
        raise CallRejected("the call has a system message and no question")
    return contents


def _parts(turn: Message, habits: BodySettings, uris: Mapping[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        if not isinstance(part, TextPart):
            parts.append(media_part(part, uris, habits.fps))
        elif parts and "text" in parts[-1]:
            parts[-1]["text"] += part.text
        elif part.text:
            parts.append({"text": part.text})
    return parts

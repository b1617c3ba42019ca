"""Messages in chat completions format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalbench.engine.calls import MediaPart, Message, TextPart
from evalbench.providers.wire.images import data_uri, video_uri
from evalbench.providers.wire.prompt_checks import raw_text_refused


def chat_messages(
    messages: Sequence[Message],
    who: str,
    *,
    system_role: str = "system",
    detail: str = "",
    video: bool = False,
) -> list[dict[str, Any]]:
    """The ``messages`` of a request. Text-only turns stay plain strings.

    Args:
        messages: the conversation.
        who: the provider's name, for errors.
        system_role: role name of system messages.
        detail: image detail to request; empty: the provider's default.
        video: whether videos can be sent as they are.

    Raises:
        CallRejected: the prompt is raw text without turns, or a part cannot be sent.
    """
    turns = []
    for message in messages:
        if message.role == "context":
            raise raw_text_refused(who)
        role = system_role if message.role == "system" else message.role
        turns.append({"role": role, "content": _content(message, who, detail, video)})
    return turns


def _content(message: Message, who: str, detail: str, video: bool) -> str | list[dict[str, Any]]:
    parts = message.parts
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    if not any(isinstance(part, MediaPart) for part in parts):
        return message.text
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            blocks.append({"type": "text", "text": part.text})
        elif video and part.media_type.startswith("video/"):
            blocks.append({"type": "video_url", "video_url": {"url": video_uri(part)}})
        else:
            image = {"url": data_uri(part, who)}
            if detail:
                image["detail"] = detail
            blocks.append({"type": "image_url", "image_url": image})
    return blocks

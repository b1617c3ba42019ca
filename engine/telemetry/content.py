"""Prompts and answers as span attributes, if requested."""

from __future__ import annotations

from typing import Any

import orjson

from evalbench.engine.calls import MediaPart, Message, Reply
from evalbench.engine.errors import counted
from evalbench.engine.journal import CallRow

LONGEST = 100_000
"""Maximum characters of one text; the rest is cut off, as collectors refuse large requests."""

_NOT_SENT = "(content is not sent)"
_ROLES = {"context": "user"}


def content(row: CallRow, wanted: bool, flat: bool) -> dict[str, str]:
    """Messages and answer of a call in the conventions' JSON; empty if not wanted.

    Args:
        row: the call, with its reply.
        wanted: whether to send prompts and answers.
        flat: whether each message also has a plain ``content``, as read by Galileo. Galileo
            accepts no call without input and output, so placeholders are used if they are
            not wanted.
    """
    if not wanted and not flat:
        return {}
    reply = row.reply
    assert reply is not None
    if wanted:
        given = [_message(message) for message in row.prompt.messages]
        made = [_answer(row, reply)]
    else:
        given = [{"role": "user", "parts": [_text(_NOT_SENT)]}]
        made = [{"role": "assistant", "parts": [_text(_NOT_SENT)]}]
    made[0]["finish_reason"] = reply.stop_reason or reply.outcome.value
    if flat:
        for message in (*given, *made):
            message["content"] = "\n".join(part.get("content", "") for part in message["parts"])
    return {
        "gen_ai.input.messages": orjson.dumps(given).decode(),
        "gen_ai.output.messages": orjson.dumps(made).decode(),
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": _ROLES.get(message.role, message.role),
        "parts": [
            # The bytes are not sent: their hash identifies the image.
            {"type": "media", "mime_type": part.media_type, "sha256": part.sha256}
            if isinstance(part, MediaPart)
            else _text(part.text)
            for part in message.parts
        ],
    }


def _answer(row: CallRow, reply: Reply) -> dict[str, Any]:
    parts = []
    if reply.reasoning:
        parts.append({"type": "reasoning", "content": _cut(reply.reasoning)})
    if reply.logprobs:
        pairs = zip(row.prompt.continuations, reply.logprobs, strict=False)
        parts.append(_text("\n".join(f"{value:.4f} {text!r}" for text, value in pairs)))
    if reply.text or not parts:
        parts.append(_text(reply.text))
    return {"role": "assistant", "parts": parts}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": _cut(text)}


def _cut(text: str) -> str:
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}… ({counted(left, 'more character')})"

"""Prefixes shared by many calls, which providers may cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalbench.engine.calls.messages import Call, MediaPart, Message, ModelRef, TextPart

_CHARS_PER_TOKEN = 3.0
"""Low, so that a prefix near a provider's minimum is tried rather than missed."""


@dataclass(frozen=True, slots=True)
class SharedPrefix:
    """The start of a conversation, up to a part that is marked as shared.

    Attributes:
        message, part: the position of that part.
        tokens: approximate length.
    """

    message: int
    part: int
    tokens: float


def shared_prefix(messages: Sequence[Message]) -> SharedPrefix | None:
    """The shared prefix of a conversation; None if its start is not shared.

    It ends before the first part that is not marked. System messages need no mark if a marked
    part follows: they are the same for all calls.
    """
    found: SharedPrefix | None = None
    tokens = 0.0
    for i, message in enumerate(messages):
        for j, part in enumerate(message.parts):
            if isinstance(part, MediaPart):
                return found
            if not part.shared and message.role != "system":
                return found
            tokens += len(part.text) / _CHARS_PER_TOKEN
            if part.shared and part.text:
                found = SharedPrefix(i, j, tokens)
    return found


def prefix_name(model: ModelRef | None, messages: Sequence[Message], prefix: SharedPrefix) -> str:
    """A name shared by all calls with the same model and prefix."""
    digest = hashlib.blake2b(str(model).encode(), digest_size=16)
    for i, message in enumerate(messages[: prefix.message + 1]):
        parts = message.parts[: prefix.part + 1] if i == prefix.message else message.parts
        digest.update(f"\0{message.role}\0".encode())
        for part in parts:
            digest.update((part.sha256 if isinstance(part, MediaPart) else part.text).encode())
            digest.update(b"\0")
    return digest.hexdigest()


def unshared(call: Call) -> Call:
    """The same call with nothing marked as shared, so that no provider caches it."""
    messages = tuple(
        replace(
            message,
            parts=tuple(
                replace(part, shared=False) if isinstance(part, TextPart) else part
                for part in message.parts
            ),
        )
        for message in call.prompt.messages
    )
    return replace(call, prompt=replace(call.prompt, messages=messages))

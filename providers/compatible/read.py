"""Reading responses of compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Outcome, Reply
from evalbench.providers.chat.reply import read_chat
from evalbench.providers.wire.exchange import Arrival

_OPEN, _CLOSE = "<think>", "</think>"


def read_completion(body: Mapping[str, Any], arrival: Arrival) -> Reply:
    """A chat completion; thoughts that a server left in the text are moved to ``reasoning``.

    Raises:
        KeyError, IndexError, TypeError: the body is not a completion.
    """
    reply = read_chat(body, arrival)
    return _without_thoughts(reply) if _OPEN in reply.text or _CLOSE in reply.text else reply


def _without_thoughts(reply: Reply) -> Reply:
    """Split off one leading block of thoughts; templates often put its opening tag in the prompt.

    Tags elsewhere are ordinary text.
    """
    text = reply.text
    thoughts, closed, answer = text.partition(_CLOSE)
    opened = thoughts.lstrip().startswith(_OPEN)
    if closed and (opened or _OPEN not in thoughts):
        thoughts = thoughts.lstrip().removeprefix(_OPEN).strip()
        return replace(reply, text=answer.lstrip(), reasoning=reply.reasoning or thoughts)
    if opened and reply.outcome is Outcome.TRUNCATED:
        thoughts = text.lstrip().removeprefix(_OPEN).strip()
        return replace(reply, text="", reasoning=reply.reasoning or thoughts)
    return reply

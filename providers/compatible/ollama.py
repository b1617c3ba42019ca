"""The preset ``ollama``: a server that drops the start of prompts longer than its own context."""

from __future__ import annotations

from typing import ClassVar

from evalbench.engine.calls import Call, KeyNeed, Reply, TextPart
from evalbench.engine.errors import ContextTooLong
from evalbench.providers.compatible.provider import Compatible
from evalbench.providers.compatible.quirks import Quirks

_CHARS_PER_TOKEN_AT_MOST = 8.0
"""No tokenizer in use packs ordinary text tighter than this."""


class Ollama(Compatible):
    """An Ollama server."""

    name: ClassVar[str] = "ollama"
    title: ClassVar[str] = "Ollama"
    own_address: ClassVar[str] = "http://127.0.0.1:11434/v1"
    key: ClassVar[KeyNeed | None] = KeyNeed(("OLLAMA_API_KEY",), required=False)
    quirks: ClassVar[Quirks] = Quirks(raw_text=True)

    async def attempt(self, call: Call) -> Reply:
        """See :class:`NetworkProvider`; an answer to a cut prompt is refused."""
        reply = await super().attempt(call)
        check_whole_prompt(call, reply)
        return reply


def check_whole_prompt(call: Call, reply: Reply) -> None:
    """Refuse an answer to a prompt that the server cut.

    The server counts the tokens it read. Far fewer than the text can have
    been made of means that the start is gone, and with it the examples or the
    question: such an answer is no answer.

    Raises:
        ContextTooLong: when that happened.
    """
    read = reply.usage.input_tokens
    if not read:
        return
    sent = sum(
        len(part.text)
        for message in call.prompt.messages
        for part in message.parts
        if isinstance(part, TextPart)
    )
    least = int(sent / _CHARS_PER_TOKEN_AT_MOST)
    if read < least:
        raise ContextTooLong(
            f"the server cut the prompt: it read {read} tokens of at least {least}",
            why="its context is smaller than the model's, and it drops the start without a word",
            cure="give it more, with OLLAMA_CONTEXT_LENGTH=16384 ollama serve",
        )

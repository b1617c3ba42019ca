"""The preset ``ollama``: a server that truncates prompts longer than its own context.

The only sign is the number of tokens that it reports having read. That number is compared with the
text, and with the context that the server allocated to the model, which is seldom the model's own.
Older servers read a truncated prompt up to the whole context; newer ones up to half of it plus two
tokens (ollama/ollama#17427). With several turns, older ones are dropped first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalbench.engine.calls import Call, KeyNeed, ParamNote, Reply, TextPart
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import ContextTooLong
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.compatible.ollama_native import native, native_failure, read_native
from evalbench.providers.compatible.provider import Compatible, CompatibleOptions
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.modelfacts import Refused
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.provider import wire_name

_CHARS_PER_TOKEN_AT_MOST = 8.0
"""No common tokenizer packs ordinary text more tightly than this."""
_TIGHT, _USUAL, _LOOSE = 6.0, 4.0, 3.0
"""Characters per token: in a few texts, in most, and in code and tables."""
_SHORT = 4_000
"""Characters that fit the smallest common context, 2,048 tokens."""
_KEPT = 16
"""Newer servers keep half of the context, and a few tokens of the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaOptions(CompatibleOptions):
    """Options of :class:`Ollama`."""

    num_ctx: int | None = setting(
        None,
        "context length to load the model with (default: the server's, often 4096)",
        minimum=256,
        affects_answers=True,
    )


class Ollama(Compatible):
    """An Ollama server."""

    name: ClassVar[str] = "ollama"
    title: ClassVar[str] = "Ollama"
    free: ClassVar[bool] = True
    own_address: ClassVar[str | None] = "http://127.0.0.1:11434/v1"
    key: ClassVar[KeyNeed | None] = KeyNeed(("OLLAMA_API_KEY",), required=False)
    settings = OllamaOptions()
    quirks: ClassVar[Quirks] = Quirks(raw_text=True)

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        super().__init__(settings, secret)
        self._windows: dict[str, int] = {}
        self._root = self.address.url.removesuffix("/v1")
        self._num_ctx = record_of(OllamaOptions, settings).num_ctx

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        """Uses Ollama's own API if a context size is requested."""
        prepared = super().prepared(call, refused)
        return native(prepared, self._root, self._num_ctx) if self._num_ctx else prepared

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        if not self._num_ctx:
            return super().read(answered, prepared)
        opened = open_good(answered, self.who, self.scrub, native_failure)
        if not isinstance(opened, Opened):
            return super().read(opened, prepared)
        return read_reply(opened, prepared, self.who, self.scrub, read_native, None, REQUEST_ID)

    @override
    async def attempt(self, call: Call) -> Reply:
        """An answer to a truncated prompt is rejected."""
        reply = await super().attempt(call)
        if self._num_ctx:
            # That API reports a prompt that does not fit as an error.
            return reply
        if (sent := _characters(call)) < _SHORT:
            return reply
        model = wire_name(call)
        # Known only once the model is loaded, and queried once.
        await self._aside(f"context of {model}", lambda: self._learn_window(model))
        window = self._windows.get(model, 0)
        check_whole_prompt(call, reply, window)
        if window and sent > _LOOSE * window:
            note = ParamNote(
                "prompt", "sent", f"may not fit the server's {window} tokens of context"
            )
            reply = replace(reply, params=(*reply.params, note))
        return reply

    async def _learn_window(self, model: str) -> None:
        """Ask the server how many tokens of context each loaded model has."""
        answered = await self.get(f"{self._root}/api/ps")
        loaded = parsed(answered, self.who, self.scrub).get("models")
        for entry in loaded if isinstance(loaded, list) else ():
            size = entry.get("context_length") if isinstance(entry, dict) else None
            names = (model, f"{model}:latest")
            if isinstance(size, int) and size > 0 and entry.get("name") in names:
                self._windows[model] = size


def _characters(call: Call) -> int:
    return sum(
        len(part.text)
        for message in call.prompt.messages
        for part in message.parts
        if isinstance(part, TextPart)
    )


def check_whole_prompt(call: Call, reply: Reply, window: int = 0) -> None:
    """Reject an answer to a prompt that the server truncated.

    The server reports the tokens it read. If they are far fewer than the text can consist of, or
    exactly as many as in a truncated prompt, the start is missing, and with it the examples or the
    question: such an answer is worthless.

    Args:
        call: the call.
        reply: its reply.
        window: tokens of context that the server gives the model; 0: unknown.

    Raises:
        ContextTooLong: the prompt was truncated.
    """
    read = reply.usage.input_tokens
    if not read:
        return
    sent = _characters(call)
    least = int(sent / _CHARS_PER_TOKEN_AT_MOST)
    if read < least:
        raise _cut(f"it read {read} tokens of at least {least}")
    if not window:
        return
    half = window // 2 <= read <= window // 2 + _KEPT and sent > _LOOSE * window
    if read >= window - 1 or half or sent > _TIGHT * window:
        raise _cut(
            f"it read {read} tokens of about {int(sent / _USUAL)}, and has room for {window}"
        )


def _cut(how: str) -> ContextTooLong:
    return ContextTooLong(
        f"the server cut the prompt: {how}",
        why="its context is smaller than the model's, and it silently drops the start",
        hint="give it more: --num-ctx 16384, or OLLAMA_CONTEXT_LENGTH=16384 ollama serve",
    )

"""From messages to token ids, like the lm-evaluation-harness.

Equal tokens make log-likelihoods comparable between the two: the context is encoded alone, context
and continuation are encoded together, and the continuation's tokens are those of the second beyond
the length of the first. Trailing white space of a context is first moved to the continuation, an
empty context becomes the start token, and what is too long loses its beginning.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalbench.engine.calls import Message, Prompt, TextPart
from evalbench.engine.errors import CallRejected, counted
from evalbench.providers.local.chat import ChatTemplate
from evalbench.providers.local.packing import common

_REMEMBERED = 32


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of a prompt.

    Attributes:
        tokens: what the model reads.
        shared: how many of the first ``tokens`` also occur in other prompts.
        chat: whether they are chat turns, not raw text.
    """

    tokens: tuple[int, ...]
    shared: int
    chat: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One continuation to be scored.

    Attributes:
        tokens: what the model reads: context and continuation without its last token.
        targets: the continuation's tokens; the last positions of ``tokens`` predict them.
        shared: how many of the first ``tokens`` also occur in other prompts.
        cut: leading tokens omitted because the context had no room for them.
        rest: what follows, if a text without a context is longer than the model's.
    """

    tokens: tuple[int, ...]
    targets: tuple[int, ...]
    shared: int = 0
    cut: int = 0
    rest: tuple[Choice, ...] = ()

    @property
    def windows(self) -> tuple[Choice, ...]:
        """All parts; their log-likelihoods add up to the continuation's."""
        return (self, *self.rest)


@dataclass(frozen=True, slots=True)
class _Rendered:
    text: str
    shared: str
    raw: bool


def split_thinking(text: str) -> tuple[str, str]:
    """Split the output of a reasoning model into reasoning and answer.

    The opening ``<think>`` may already be in the prompt; an answer that was cut off while thinking
    is all reasoning.
    """
    thinking, closed, answer = text.partition("</think>")
    if not closed:
        if not text.lstrip().startswith("<think>"):
            return "", text
        thinking, answer = text, ""
    return thinking.strip().removeprefix("<think>").strip(), answer.lstrip()


class Encoder:
    """Renders and encodes prompts for one model."""

    def __init__(self, tokenizer: Any, context_tokens: int, chat: ChatTemplate) -> None:
        self._tokenizer = tokenizer
        self._chat = chat
        self._limit = context_tokens
        start = tokenizer.bos_token_id
        self._start = start if start is not None else tokenizer.eos_token_id
        self._start_text = tokenizer.decode([self._start]) if self._start is not None else ""
        self._known: OrderedDict[tuple[str, bool], tuple[int, ...]] = OrderedDict()

    def choices(self, prompt: Prompt) -> tuple[int, list[Choice]]:
        """Length of the context in tokens, and every continuation of a ``choose`` prompt.

        Raises:
            CallRejected: a continuation is empty or longer than the model's context, there is an
                image, or the chat template does not accept the turns.
        """
        rendered = self._render(prompt.messages)
        context = rendered.text.rstrip()
        moved = rendered.text[len(context) :]
        continuations = [moved + text for text in prompt.continuations]
        if not context:
            return self._from_nothing(continuations)
        texts = [context, *(context + text for text in continuations)]
        ids, *wholes = self._encode(texts, rendered.raw)
        shared = self._shared_length(ids, rendered)
        return len(ids), [self._choice(ids, whole[len(ids) :], shared) for whole in wholes]

    def prompt(self, prompt: Prompt) -> Encoded:
        """What the model reads before it generates.

        Raises:
            CallRejected: there is an image, or the chat template does not accept the turns.
        """
        rendered = self._render(prompt.messages)
        (ids,) = self._encode([rendered.text], rendered.raw)
        if not ids and self._start is not None:
            ids = [self._start]
        shared = self._shared_length(ids, rendered)
        return Encoded(tuple(ids), shared, chat=not rendered.raw)

    def _from_nothing(self, continuations: Sequence[str]) -> tuple[int, list[Choice]]:
        choices = []
        for ids in self._encode(continuations, special=False):
            if self._start is None or ids[:1] == [self._start]:
                start, targets = ids[:1], ids[1:]
            else:
                start, targets = [self._start], ids
            first = self._choice(start, targets[: self._limit], 0)
            rest = self._windows(targets) if len(targets) > self._limit else ()
            choices.append(replace(first, rest=rest) if rest else first)
        return 1, choices

    def _windows(self, ids: Sequence[int]) -> tuple[Choice, ...]:
        """The windows of a long text after the first, each as long as the model's context.

        Each begins where the last ended; the last one has as many tokens before its own as fit.
        Source: ``get_rolling_token_windows`` of lm-evaluation-harness, with ``context_len=1``.
        """
        found = []
        for begin in range(self._limit, len(ids), self._limit):
            end = min(begin + self._limit, len(ids))
            tokens = ids[end - self._limit - 1 : end - 1]
            found.append(Choice(tuple(tokens), tuple(ids[begin:end])))
        return tuple(found)

    def _choice(self, context: Sequence[int], targets: Sequence[int], shared: int) -> Choice:
        if not targets:
            raise CallRejected(
                "a continuation adds no token to its context",
                hint="continuations must not be empty",
            )
        if len(targets) > self._limit:
            raise CallRejected(
                f"a continuation of {counted(len(targets), 'token')} is longer than the model's"
                f" context of {self._limit} tokens"
            )
        tokens = (*context, *targets)[:-1]
        if len(tokens) > self._limit:
            cut = len(tokens) - self._limit
            return Choice(tokens[cut:], tuple(targets), cut=cut)
        return Choice(tokens, tuple(targets), shared)

    def _encode(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        if special and self._start_text and texts[0].startswith(self._start_text):
            special = False
        ids: list[list[int]] = self._tokenizer(
            list(texts), add_special_tokens=special, return_attention_mask=False
        )["input_ids"]
        return ids

    def _render(self, messages: Sequence[Message]) -> _Rendered:
        if any(not isinstance(part, TextPart) for turn in messages for part in turn.parts):
            raise CallRejected("this model reads text only, and the call holds an image")
        raw = all(turn.role == "context" for turn in messages)
        if raw:
            text = "".join(turn.text for turn in messages)
        else:
            text = self._chat.render(self._tokenizer, messages)
        end = 0
        for part in (part for turn in messages for part in turn.parts):
            if isinstance(part, TextPart) and part.shared and part.text:
                at = text.find(part.text, end)
                end = at + len(part.text) if at >= 0 else end
        return _Rendered(text, text[:end], raw)

    def _shared_length(self, ids: Sequence[int], rendered: _Rendered) -> int:
        """How many of ``ids`` the shared text covers; tokens merged across its end do not count."""
        if not rendered.shared:
            return 0
        key = rendered.shared, rendered.raw
        if key not in self._known:
            self._known[key] = tuple(self._encode([rendered.shared], rendered.raw)[0])
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return common(self._known[key], tuple(ids))

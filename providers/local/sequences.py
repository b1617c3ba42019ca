"""An answer being generated: which token comes next, and when it is finished."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from evalbench.engine.calls import Outcome, ParamNote, Params, Reply, Usage
from evalbench.engine.errors import ContextTooLong, counted
from evalbench.providers.local.tokens import Encoded, split_thinking

_TAKEN = {"max_tokens", "temperature", "top_p", "top_k", "seed", "stop"}
CUT = ParamNote(
    "whole prompt", "dropped", "its beginning, where the model's context had no room for all of it"
)
_SPARE_TOKENS = 4
_SEEDS = 2**63


class Sequence:
    """A prompt and the tokens generated for it so far.

    Temperature 0, or none requested, takes the most likely token. Otherwise tokens are sampled with
    a generator of the sequence's own, so the answer does not depend on what else is generated at
    the same time. The seed is the requested one, or else is derived from the call's key, which
    differs between epochs.

    Attributes:
        key: the call's key.
        prompt: its tokens, without those that were cut.
        cut: number of leading prompt tokens that the model does not read.
        ids: tokens generated so far, including an end token.
        most: maximum number of tokens to generate.
        seed: sampling seed.
    """

    def __init__(
        self,
        key: str,
        prompt: Encoded,
        params: Params,
        tokenizer: Any,
        context_tokens: int,
        *,
        may_cut: bool = True,
        whole: bool = False,
    ) -> None:
        """Begin an answer.

        Args:
            key: the call's key.
            prompt: what the model reads.
            params: the requested parameters.
            tokenizer: the model's.
            context_tokens: maximum tokens of prompt and answer together.
            may_cut: an answer may get less room than requested, and a prompt that leaves too little
                loses its beginning; otherwise that is an error.
            whole: the prompt itself must not be cut.

        Raises:
            ContextTooLong: prompt and answer do not fit.
        """
        self.cut = 0
        if may_cut and not whole:
            self.cut = _cut(len(prompt.tokens), params.max_tokens, context_tokens)
        if self.cut:
            prompt = replace(prompt, tokens=prompt.tokens[self.cut :], shared=0)
        room = context_tokens - len(prompt.tokens)
        asked = room if params.max_tokens is None else params.max_tokens
        self.key = key
        self.prompt = prompt
        self.ids: list[int] = []
        self.most = min(asked, room) if may_cut else asked
        if room < max(1, self.most):
            raise ContextTooLong(
                f"prompt and answer do not fit the model's context of {context_tokens} tokens",
                why=f"the prompt has {counted(len(prompt.tokens), 'token')},"
                f" and up to {asked} may follow",
                hint="lower the number of answer tokens or choose a model with a longer context",
            )
        self._params = params
        self._tokenizer = tokenizer
        self._began: float | None = None
        self._generator: torch.Generator | None = None
        self.seed = 0
        if params.temperature:
            digest = hashlib.sha256(key.encode()).digest()[:6]
            seed = int.from_bytes(digest) if params.seed is None else params.seed
            self.seed = seed % _SEEDS
            self._generator = torch.Generator()
        self.restart()

    def begin(self) -> None:
        """Its turn has come: start timing it."""
        self._began = self._began or time.monotonic()

    def restart(self) -> None:
        """Discard the answer so far, and reset the generator."""
        self.ids.clear()
        if self._generator is not None:
            self._generator.manual_seed(self.seed)

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and answer so far."""
        return (*self.prompt.tokens, *self.ids)

    @property
    def temperature(self) -> float:
        """0 for greedy."""
        return self._params.temperature or 0.0

    @property
    def top_p(self) -> float:
        """1 if not requested."""
        return 1.0 if self._params.top_p is None else self._params.top_p

    @property
    def top_k(self) -> int:
        """0 if not requested."""
        return self._params.top_k or 0

    @property
    def greedy(self) -> bool:
        """Whether to take the most likely token."""
        return self._generator is None

    def draw(self, logits: Tensor) -> int:
        """Sample a token by temperature, top-k and top-p from ``logits``, ``[vocabulary]``."""
        assert self._generator is not None
        weights = torch.softmax(logits.cpu().double() / self.temperature, dim=-1)
        tokens = torch.arange(len(weights))
        if 0 < (top_k := self.top_k) < len(weights):
            weights, tokens = weights.topk(top_k)
            weights = weights / weights.sum()
        if (top_p := self.top_p) < 1:
            # Tokens this unlikely sum to less than 1 - top_p, so they are outside the smallest set
            # that reaches top_p, and need not be sorted.
            likely = (weights > (1 - top_p) / len(weights)).nonzero()[:, 0]
            weights, order = weights[likely].sort(descending=True, stable=True)
            kept = int((weights.cumsum(0) < top_p).sum()) + 1
            weights, tokens = weights[:kept], tokens[likely[order[:kept]]]
        reach = weights.cumsum(0)
        point = torch.rand((), generator=self._generator, dtype=torch.float64) * reach[-1]
        return int(tokens[min(int(torch.searchsorted(reach, point)), len(tokens) - 1)])

    def take(self, token: int, ends: frozenset[int]) -> Reply | None:
        """Add a token; returns the finished reply if the answer ends with it."""
        self.ids.append(token)
        if token in ends:
            return self._reply(self._text(self.ids[:-1]), Outcome.OK, "end")
        if (text := self._stopped()) is not None:
            return self._reply(text, Outcome.OK, "stop")
        if len(self.ids) >= self.most:
            asked = self._params.max_tokens
            reason = "length" if asked == self.most else "context"
            return self._reply(self._text(self.ids), Outcome.TRUNCATED, reason)
        return None

    def _stopped(self) -> str | None:
        """The answer up to the first stop sequence, if there is one."""
        if not self._params.stop:
            return None
        # A token has at least one byte, so this tail contains any stop sequence that just ended.
        tail = max(len(stop.encode()) for stop in self._params.stop) + _SPARE_TOKENS
        if not any(stop in self._text(self.ids[-tail:]) for stop in self._params.stop):
            return None
        text = self._text(self.ids)
        found = [at for stop in self._params.stop if (at := text.find(stop)) >= 0]
        return text[: min(found)] if found else None

    def _text(self, ids: list[int]) -> str:
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text

    def _reply(self, text: str, outcome: Outcome, reason: str) -> Reply:
        thinking, text = split_thinking(text) if self.prompt.chat else ("", text)
        sampled = {"decoding": "sampled", "seed": self.seed}
        return Reply(
            text=text,
            reasoning=thinking,
            outcome=outcome,
            stop_reason=reason,
            usage=Usage(input_tokens=len(self.prompt.tokens), output_tokens=len(self.ids)),
            latency_s=round(time.monotonic() - (self._began or time.monotonic()), 3),
            params=(*notes(self._params), *([CUT] if self.cut else [])),
            raw={"decoding": "greedy"} if self.greedy else sampled,
            cut_tokens=self.cut,
        )


def _cut(prompt: int, answer: int | None, context: int) -> int:
    """How many leading tokens a prompt loses so that its answer has room.

    The answer gets the requested room, but never more than half of the context: otherwise models
    with a short one could not be used at all.
    """
    room = 1 if answer is None else min(answer, context // 2)
    return max(0, prompt + room - context)


def notes(params: Params) -> tuple[ParamNote, ...]:
    """How each requested parameter is handled."""
    return tuple(
        ParamNote(name, "sent")
        if name in _TAKEN
        else ParamNote(name, "dropped", "local models do not take it")
        for name in params.asked()
    )

"""``/completions``: servers on one's own machine continue raw text; vLLM also scores it.

vLLM's answers tell the log-probability of every token, the prompt's too when
``echo`` is asked for. The token after a context is likely when it is what the
brain would answer to that context, so scored options agree with generated ones.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from tests.simulator import chat_reply, tokens
from tests.simulator.brain import Ask, Completion
from tests.simulator.compatible_access import Access
from tests.simulator.exchange import Answer, Bill, Exchange, Refused
from tests.simulator.limits import written
from tests.simulator.models import Model
from tests.simulator.refusals import word
from tests.simulator.world import price

_START = "<s>"


class Vocabulary:
    """Token ids of pieces of text, given out in order of appearance; 1 begins a prompt."""

    def __init__(self) -> None:
        self._ids = {_START: 1}
        self._pieces = {1: _START}

    def encode(self, text: str, *, start: bool = True) -> list[int]:
        """The token ids of a text."""
        return ([1] if start else []) + [self._id(piece) for piece in tokens.pieces(text)]

    def _id(self, piece: str) -> int:
        known = self._ids.get(piece)
        if known is None:
            known = self._ids[piece] = len(self._ids) + 1
            self._pieces[known] = piece
        return known

    def decode(self, ids: list[int]) -> list[str]:
        """The pieces of token ids.

        Raises:
            KeyError: for an id that was never given out.
        """
        return [self._pieces[number] for number in ids]


class TextCompletions:
    """Raw text in, more text out."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._world = access.world
        self._scores = access.name == "vllm"
        self._vocabulary = Vocabulary()

    def tokenize(self, exchange: Exchange) -> Answer:
        """vLLM: the token ids of a prompt."""
        value = self._access.body(exchange)
        model = self._access.model(value["model"])
        text = value.get("prompt")
        if not isinstance(text, str):
            self._access.refuse("'prompt' must be a string", param="prompt")
        ids = self._vocabulary.encode(text, start=value.get("add_special_tokens", True))
        return Answer({"count": len(ids), "max_model_len": model.context, "tokens": ids})

    def complete(self, exchange: Exchange) -> Answer:
        """``POST /completions``."""
        access = self._access
        value = access.body(exchange)
        access.admit(exchange, value["model"])
        model = access.model(value["model"])
        prompts = self._prompts(value.get("prompt"))
        cap = value.get("max_tokens", 16)
        if not isinstance(cap, int) or isinstance(cap, bool) or cap < 1:
            access.refuse(f"max_tokens must be at least 1, got {cap}.", param="max_tokens")
        longest = max(len(prompt) for prompt in prompts)
        if longest + cap > model.context:
            raise Refused(
                word(
                    access.name,
                    "overflow",
                    tokens=longest,
                    cap=cap,
                    asked=longest + cap,
                    most=model.context,
                )
            )
        choices = []
        generated = 0
        for index, prompt in enumerate(prompts):
            completion = self._continue(value, model, prompt, cap)
            generated += completion.output_tokens
            choices.append(self._choice(value, index, prompt, completion))
        bill = price(Bill(model.id, sum(map(len, prompts)), generated), model)
        buckets = self._world.limits.buckets(access.name, exchange.key, model.id, exchange.now)
        body = {
            "id": f"cmpl-{exchange.number:024d}",
            "object": "text_completion",
            "created": int(exchange.now),
            "model": model.id,
            "choices": choices,
            "usage": {
                "prompt_tokens": bill.input_tokens,
                "completion_tokens": bill.output_tokens,
                "total_tokens": bill.input_tokens + bill.output_tokens,
            },
        }
        headers = written(access.flavour.headers, buckets, exchange.now)
        return Answer(body, headers=headers, bill=bill)

    def _prompts(self, prompt: Any) -> list[list[str]]:
        """The prompts as pieces of text: one or many, as text or (vLLM) as token ids."""
        if isinstance(prompt, str):
            return [self._vocabulary.decode(self._vocabulary.encode(prompt))]
        if not isinstance(prompt, list) or not prompt:
            self._access.refuse("Either prompt or prompt_embeds must be provided.", param="prompt")
        if isinstance(prompt[0], int):
            prompt = [prompt]
        out = []
        for one in prompt:
            if isinstance(one, str):
                out.append(self._vocabulary.decode(self._vocabulary.encode(one)))
                continue
            try:
                out.append(self._vocabulary.decode(one))
            except (KeyError, TypeError):
                self._access.refuse("Token id is out of vocabulary", param="prompt")
        return out

    def _continue(
        self, value: dict[str, Any], model: Model, prompt: list[str], cap: int
    ) -> Completion:
        text = "".join(prompt).removeprefix(_START)
        stops = value.get("stop") or ()
        return self._world.brain.complete(
            Ask(
                _fingerprint(text),
                model.id,
                text,
                text,
                cap,
                model.chars_per_token,
                (stops,) if isinstance(stops, str) else tuple(stops),
            )
        )

    def _choice(
        self, value: dict[str, Any], index: int, prompt: list[str], completion: Completion
    ) -> dict[str, Any]:
        echo = bool(value.get("echo"))
        text = completion.text
        top = value.get("logprobs")
        found = None
        if self._scores and (ids := value.get("logprob_token_ids")):
            found = self._of_tokens(prompt, ids)
        elif self._scores and top is not None:
            found = self._logprobs(prompt if echo else [], tokens.pieces(text), int(top))
        shown = "".join(prompt).removeprefix(_START) + text if echo else text
        return {
            "index": index,
            "text": shown,
            "logprobs": found,
            "finish_reason": chat_reply.finish_reason(completion),
        }

    def _logprobs(self, prompt: list[str], generated: list[str], top: int) -> dict[str, Any]:
        pieces = [*prompt, *generated]
        values: list[float | None] = []
        offsets = []
        text = ""
        for place, piece in enumerate(pieces):
            offsets.append(len(text))
            if place == 0 and prompt:
                values.append(None)
            elif place == len(prompt) - 1:
                values.append(self._judged(text, piece))
            else:
                values.append(-0.05 - 2 * _fingerprint(f"{place}|{piece}") / 2**64)
            text += "" if piece == _START else piece
        return {
            "tokens": pieces,
            "token_logprobs": values,
            "top_logprobs": [
                None if value is None else {piece: value} | ({" the": value - 2} if top > 1 else {})
                for piece, value in zip(pieces, values, strict=True)
            ],
            "text_offset": offsets,
        }

    def _of_tokens(self, prompt: list[str], ids: list[int]) -> dict[str, Any]:
        """vLLM: the named tokens in the place after a prompt; the likeliest of them is chosen."""
        context = "".join(prompt).removeprefix(_START)
        try:
            pieces = self._vocabulary.decode(ids)
        except (KeyError, TypeError):
            self._access.refuse("token_id(s) out of vocabulary", param="logprob_token_ids")
        scores = {
            f"token_id:{number}": self._judged(context, piece)
            for number, piece in zip(ids, pieces, strict=True)
        }
        best = max(scores, key=lambda token: scores[token])
        return {
            "tokens": [best],
            "token_logprobs": [scores[best]],
            "top_logprobs": [scores],
            "text_offset": [0],
        }

    def _judged(self, context: str, piece: str) -> float:
        """Natural-log likelihood of the token that ends a prompt, as the brain sees it."""
        ask = Ask(_fingerprint(context), "", context, context, None, 4.0)
        answer = self._world.brain.complete(ask).text.strip()
        spread = _fingerprint(f"{context}|{piece}") / 2**64
        wanted = bool(piece.strip()) and answer.startswith(piece.strip())
        return -0.05 - 0.2 * spread if wanted else -1.5 - 3 * spread


def _fingerprint(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest())

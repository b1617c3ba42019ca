"""The preset ``vllm``: a server that also scores given texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

from evalbench.engine.calls import Call, Capabilities, KeyNeed, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, ServerFault
from evalbench.engine.inference_servers import ServerProgram
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.compatible import loglikelihoods
from evalbench.providers.compatible.programs import VLLM
from evalbench.providers.compatible.provider import Compatible
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.wire.body import Opened, ReadBody, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.lenient import as_text
from evalbench.providers.wire.provider import wire_name


class Vllm(Compatible):
    """A vLLM server."""

    name: ClassVar[str] = "vllm"
    title: ClassVar[str] = "vLLM"
    free: ClassVar[bool] = True
    server: ClassVar[ServerProgram | None] = VLLM
    own_address: ClassVar[str | None] = "http://127.0.0.1:8000/v1"
    key: ClassVar[KeyNeed | None] = KeyNeed(("VLLM_API_KEY",), required=False)
    quirks: ClassVar[Quirks] = Quirks(raw_text=True)
    _lists_tokens = True  # until the server is found not to

    @cached_property
    def _starts(self) -> dict[str, int]:
        """By model: the token that texts without a context follow."""
        return {}

    @cached_property
    def _contexts(self) -> dict[str, int | None]:
        """By model: the tokens of its context, as far as the server tells."""
        return {}

    @override
    def capabilities(self, model: str) -> Capabilities:
        return replace(super().capabilities(model), choose=True, reason="")

    @override
    async def attempt(self, call: Call) -> Reply:
        """Scores the continuations of a ``choose`` call."""
        if call.prompt.kind != "choose":
            return await super().attempt(call)
        model = wire_name(call)
        texts = loglikelihoods.texts_of(call)
        if not texts.context:
            return await self._score(model, await self._after_nothing(model, texts.wholes))
        context, *wholes = await asyncio.gather(
            *(self._tokens(model, text) for text in (texts.context, *texts.wholes))
        )
        ends = loglikelihoods.next_tokens(context, wholes) if self._lists_tokens else []
        if ends:
            request = loglikelihoods.next_token_request(model, context, ends)
            opened = open_good(await self.send(request), self.who, self.scrub, self.failed_status)
            if isinstance(opened, Opened):
                self._lists_tokens = loglikelihoods.lists_tokens(opened.body, ends)
            else:
                self._lists_tokens = b"logprob_token_ids" not in opened.body
            if self._lists_tokens:
                added = [whole[len(texts.context) :] for whole in texts.wholes]
                return self._read(
                    opened,
                    request,
                    lambda body, arrival: loglikelihoods.read_next_tokens(
                        body, arrival, ends, added
                    ),
                )
        return await self._score(model, loglikelihoods.after_context(context, wholes))

    async def _score(self, model: str, continuations: Sequence[loglikelihoods.Windows]) -> Reply:
        prepared = loglikelihoods.scoring_request(model, continuations)
        opened = open_good(await self.send(prepared), self.who, self.scrub, self.failed_status)
        return self._read(
            opened,
            prepared,
            lambda body, arrival: loglikelihoods.read_scores(body, arrival, continuations),
        )

    async def _after_nothing(
        self, model: str, texts: Sequence[str]
    ) -> list[loglikelihoods.Windows]:
        """The windows of texts without a context."""
        start, encoded = await asyncio.gather(
            self._start(model),
            asyncio.gather(*(self._tokens(model, text, special=False) for text in texts)),
        )
        # Besides the token before the text, vLLM wants room for one that it generates.
        context = self._contexts.get(model)
        limit = context - 2 if context else None
        return [loglikelihoods.after_nothing(start, text, limit) for text in encoded]

    async def _start(self, model: str) -> int:
        """The token that texts without a context follow.

        Raises:
            CallRejected: the server does not tell.
        """
        if (known := self._starts.get(model)) is not None:
            return known
        if not (begun := await self._tokens(model, "")):
            answered = await self.get(f"{self._root}/tokenizer_info")
            if answered.status == 404:
                raise CallRejected(
                    "a text without a context cannot be scored here: this model's tokenizer has no"
                    " token that begins a text, and the server does not tell which ends one",
                    hint="start vLLM with --enable-tokenizer-info-endpoint",
                )
            told = parsed(answered, self.who, self.scrub)
            named = told.get("bos_token") or told.get("eos_token")
            begun = await self._tokens(model, as_text(named), special=False)
        if len(begun) != 1:
            raise CallRejected(
                "a text without a context cannot be scored here: this model's tokenizer has no"
                " token that begins a text, and none that ends one"
            )
        self._starts[model] = begun[0]
        return begun[0]

    def _read(self, opened: Opened | Answered, prepared: Prepared, read: ReadBody) -> Reply:
        answered = opened.answered if isinstance(opened, Opened) else opened
        limits = self.quirks.limits(answered.headers)
        if not isinstance(opened, Opened):
            return self.read_refusal(opened, prepared.model, limits)
        return read_reply(opened, prepared, self.who, self.scrub, read, limits, REQUEST_ID)

    @property
    def _root(self) -> str:
        return self.address.url.removesuffix("/v1")

    async def _tokens(self, model: str, text: str, *, special: bool = True) -> list[int]:
        """Tokenize a text with the server's tokenizer; ``special``: with tokens that begin it."""
        body = {"model": model, "prompt": text, "add_special_tokens": special}
        answered = await self.send(Prepared(model, f"{self._root}/tokenize", body))
        if answered.status != 200:
            raise self.error_of(answered, model, "the text was refused")
        told = parsed(answered, self.who, self.scrub)
        tokens = told.get("tokens")
        if not isinstance(tokens, list):
            raise ServerFault(f"{self.title} does not cut texts into tokens")
        longest = told.get("max_model_len")
        known = isinstance(longest, int) and longest > 2
        self._contexts[model] = longest if known else None
        return tokens

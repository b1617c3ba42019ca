"""The preset ``vllm``: the only kind of server that also scores given texts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import ClassVar

from evalbench.engine.calls import Call, Capabilities, KeyNeed, Reply
from evalbench.engine.compat import override
from evalbench.engine.errors import ServerFault
from evalbench.engine.inference_servers import ServerProgram
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.compatible import loglikelihoods
from evalbench.providers.compatible.programs import VLLM
from evalbench.providers.compatible.provider import Compatible
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.wire.body import Opened, ReadBody, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
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
        context, *wholes = await asyncio.gather(
            *(self._tokens(model, text) for text in (texts.context, *texts.wholes))
        )
        prepared = loglikelihoods.scoring_request(model, context, wholes)
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
        opened = open_good(await self.send(prepared), self.who, self.scrub, self.failed_status)
        lengths = [len(whole) for whole in wholes]
        return self._read(
            opened,
            prepared,
            lambda body, arrival: loglikelihoods.read_scores(body, arrival, len(context), lengths),
        )

    def _read(self, opened: Opened | Answered, prepared: Prepared, read: ReadBody) -> Reply:
        answered = opened.answered if isinstance(opened, Opened) else opened
        limits = self.quirks.limits(answered.headers)
        if not isinstance(opened, Opened):
            return self.read_refusal(opened, prepared.model, limits)
        return read_reply(opened, prepared, self.who, self.scrub, read, limits, REQUEST_ID)

    async def _tokens(self, model: str, text: str) -> list[int]:
        """Tokenize a text with the server's own tokenizer, including beginning-of-prompt tokens."""
        root = self.address.url.removesuffix("/v1")
        body = {"model": model, "prompt": text, "add_special_tokens": True}
        answered = await self.send(Prepared(model, f"{root}/tokenize", body))
        if answered.status != 200:
            raise self.error_of(answered, model, "the text was refused")
        tokens = parsed(answered, self.who, self.scrub).get("tokens")
        if not isinstance(tokens, list):
            raise ServerFault(f"{self.title} does not cut texts into tokens")
        return tokens

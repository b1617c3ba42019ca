"""The provider ``compatible``: any server with OpenAI's chat completions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from evalbench.engine.calls import (
    Call,
    Capabilities,
    GatewayOptions,
    KeyNeed,
    ModelInfo,
    ParamNote,
    Reply,
)
from evalbench.engine.calls.messages import system_in_first_turn
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import (
    CallRejected,
    ProviderError,
    RateLimited,
    ServerFault,
    SpecError,
    counted,
)
from evalbench.providers.chat.batches import FileBatches
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.chat.provider import ChatProvider
from evalbench.providers.chat.reply import read_chat
from evalbench.providers.compatible.http import Http
from evalbench.providers.compatible.prepare import CHAT, TEXT, is_raw, prepare, terms
from evalbench.providers.compatible.quirks import Quirks
from evalbench.providers.compatible.read import read_completion
from evalbench.providers.modelfacts import ModelFacts, Negotiable, Refused
from evalbench.providers.modelfacts.refusals import ANY, refusal
from evalbench.providers.wire.address import Address, api_address
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.failures import error_response, json_body, quota
from evalbench.providers.wire.headers import day_limits
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.single_transport import Carrier

SYSTEM = "messages.system"
"""Stands for the system role among the things a model may refuse."""
_NO_SYSTEM_ROLE = re.compile(
    r"system (?:role|message|prompt)s?\b.{0,40}\b(?:not|n't|un)\s?(?:support|allow|accept)"
    r"|(?:does not|doesn't|cannot|can't) (?:support|accept|take|have) (?:a |the )?system"
    r"|only user(?:,| and| or) (?:assistant|model|tool).{0,40}roles? (?:are|is) supported"
    r"|roles must alternate",
    re.IGNORECASE,
)
_NO_CHOICE = "the server gives no likelihoods of given texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleOptions(GatewayOptions):
    """Options of :class:`Compatible`."""

    batches: str | None = setting(
        None,
        "whether the server supports OpenAI-style batches; auto tries",
        choices=("auto", "yes", "no"),
    )


class ChatBatches(FileBatches):
    """Batches of servers, which take chats only."""

    @override
    def write_line(self, prepared: Prepared, item: str) -> bytes:
        if prepared.path != CHAT:
            raise CallRejected(f"{self.title} takes chats only in batches, not raw text")
        return super().write_line(prepared, item)


class Compatible(ChatProvider):
    """Calls a server given by ``--base-url``; presets have their own address."""

    name: ClassVar[str] = "compatible"
    title: ClassVar[str] = "the server"
    settings = CompatibleOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(variables=("COMPATIBLE_API_KEY",), required=False)
    own_address: ClassVar[str | None] = ""
    """Default address; ``{name}`` in it is an option of the provider."""
    key_header: ClassVar[str] = ""
    """Header that holds the bare key; empty: ``Authorization: Bearer``."""
    quirks: ClassVar[Quirks] = Quirks(batches="auto")

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        super().__init__(settings, secret, self.address_for(settings))
        own = record_of(CompatibleOptions, settings)
        self._http = Http(
            self.secret,
            self.address,
            self.title,
            headers={**self.key_headers(), **self.headers},
            query=self.query,
        )
        self._agreed = Agreed()
        self.batch_api = ChatBatches(self, taken=(own.batches or self.batches()) != "no")

    @classmethod
    @override
    def batches(cls) -> Literal["yes", "no", "tried"]:
        setting = cls.defaults.get("batches") or cls.quirks.batches
        return "tried" if setting == "auto" else "yes" if setting == "yes" else "no"

    @classmethod
    @override
    def address_in(cls, settings: Mapping[str, Any]) -> str:
        return cls.address_for(settings).url

    @classmethod
    def address_for(cls, settings: Mapping[str, Any]) -> Address:
        """The address that these settings give.

        Raises:
            SpecError: there is no address, or an option that is part of it is missing.
        """
        given = record_of(CompatibleOptions, settings).base_url
        own = cls.own_address or ""
        for name in re.findall(r"{(\w+)}", own) if not given else ():
            option = next(option for option in cls.options if option.name == name)
            value = str(settings.get(name) or "").strip().strip("/")
            if not value:
                variables = f", or set {option.variables[0]}" if option.variables else ""
                raise SpecError(
                    name,
                    f"{cls.title} needs {option.flag}",
                    why=option.help,
                    hint=f"give it{variables}, or the whole address with --base-url",
                )
            if own.startswith("{" + name + "}") and "://" not in value:
                value = f"https://{value}"
            own = own.replace("{" + name + "}", value)
        if given or not own:
            return api_address(given, own, version="v1", versioned=True)
        return api_address(own, own, version="v1", versioned=True)

    def key_headers(self) -> dict[str, str]:
        """The header that carries the key."""
        if not self.secret:
            return {}
        if self.key_header:
            return {self.key_header: self.secret}
        return {"Authorization": f"Bearer {self.secret}"}

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(model)
        return Capabilities(
            images=facts.images is not False,
            logprobs=self.quirks.logprobs and facts.logprobs is not False,
            batch=self.batched(model),
            cached_from=self.quirks.cached_from,
            cached_for_s=300.0,
            schema=self.quirks.schema and facts.schema is not False,
            thinks=bool(facts.thinks),
            reason=_NO_CHOICE,
        )

    @override
    def check_model(self, model: str) -> None:
        """Servers may use any model names."""
        self.check_name(model)

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected(_NO_CHOICE)
        facts = self.facts.of(wire_name(call))
        messages = call.prompt.messages
        why = refusal(refused, SYSTEM)
        if why is not None and (merged := system_in_first_turn(messages)):
            call = replace(call, prompt=replace(call.prompt, messages=merged))
            note = ParamNote("system", "refused", f"put into the first user turn: {why}")
            made = prepare(call, self.agreed(call, facts, refused), self.quirks, self.title)
            return replace(made, notes=(*made.notes, note))
        made = prepare(call, self.agreed(call, facts, refused), self.quirks, self.title)
        if system_in_first_turn(messages):
            made = replace(made, negotiable=(*made.negotiable, Negotiable(SYSTEM, ANY)))
        return made

    @override
    def _without_blamed(
        self, error: ProviderError, prepared: Prepared, call: Call
    ) -> Prepared | None:
        """A chat template may reject the system role."""
        system = Negotiable(SYSTEM, ANY)
        if system in prepared.negotiable and _NO_SYSTEM_ROLE.search(error.why):
            self.refusals.learn(prepared.model, system, error.why, value_only=False)
            return self.prepare(call)
        return super()._without_blamed(error, prepared, call)

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        params, raw = call.prompt.params, is_raw(call)
        return self._agreed.of(
            call,
            facts,
            refused,
            lambda: terms(params, facts, refused, self.quirks, self.title, raw=raw),
            raw=raw,
        )

    @property
    @override
    def carrier(self) -> Carrier:
        return self._http

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        limits = self.quirks.limits(answered.headers)
        opened = open_good(answered, self.who, self.scrub, self.failed_status)
        if not isinstance(opened, Opened):
            return self.read_refusal(opened, prepared.model, limits, prepared.notes)
        reader = read_chat if prepared.path == TEXT else read_completion
        return read_reply(opened, prepared, self.who, self.scrub, reader, limits, REQUEST_ID)

    @override
    def read_answer(self, body: Mapping[str, Any], arrival: Arrival) -> Reply:
        return read_completion(body, arrival)

    @override
    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        result = super().read_error(answered, model)
        if self.quirks.limits is day_limits and isinstance(result, RateLimited):
            limits = self.quirks.limits(answered.headers)
            if limits is not None and limits.requests_remaining == 0:
                request_id = self.request_id(answered)
                return quota(error_response(answered, self.scrub, None, request_id), self.who)
        return result

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        answered = await self.get("/models")
        if answered.status != 200:
            raise self.error_of(answered, "", "no model list")
        entries = self._entries(answered)
        try:
            lines = [self._line(entry) for entry in entries]
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerFault(
                f"the model list of {self.title} cannot be read", why=str(error)
            ) from None
        return sorted(lines, key=lambda line: line.name)

    def _entries(self, answered: Answered) -> list[Any]:
        """The list's entries: ``{"data": [...]}``, or a bare list as some servers send."""
        body = self.scrub.value(json_body(answered))
        if isinstance(body, list):
            return body
        entries = parsed(answered, self.who, self.scrub).get("data")
        return entries if isinstance(entries, list) else []

    def _line(self, entry: Mapping[str, Any]) -> ModelInfo:
        name = entry["id"]
        known = self.facts.of(name)
        sizes = (
            entry.get(field) for field in ("context_length", "context_window", "max_model_len")
        )
        context = next((size for size in sizes if isinstance(size, int) and size > 0), None)
        title = entry.get("name")
        return ModelInfo(
            name=name,
            title=title if isinstance(title, str) and title != name else "",
            context_tokens=context or known.context_tokens,
            retires=known.retires or "",
            notes="not active" if entry.get("active") is False else "",
        )

    @override
    async def key_report(self) -> str:
        """Uses the path that requires the key."""
        if self.key is not None and not self.key.required:
            offered = counted(len(await self.fetch_models()), "model")
            return f"{self.title} answers; it offers {offered}"
        if self.quirks.key_path == "/models":
            return await super().key_report()
        answered = await self.get(self.quirks.key_path)
        if answered.status != 200:
            raise self.error_of(answered, "", "no answer about the key")
        body = parsed(answered, self.who, self.scrub)
        return f"{self.title} accepts the key{self.key_words(body)}"

    def key_words(self, body: Mapping[str, Any]) -> str:
        """What the server says about a key, to append to "accepts the key"."""
        return ""

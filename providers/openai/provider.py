"""The provider ``openai``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from evalbench.engine.calls import (
    Call,
    Capabilities,
    GatewayOptions,
    KeyNeed,
    ModelInfo,
    Params,
    Reply,
)
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, NoSuchModel, ProviderError, ServerFault
from evalbench.providers.chat.batches import FileBatches
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.chat.provider import ChatProvider
from evalbench.providers.chat.reply import read_chat
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.openai import catalogue
from evalbench.providers.openai.prepare import (
    CACHED_S,
    LEAST_CACHED,
    PATHS,
    BodySettings,
    Endpoint,
    endpoint_for,
    prepare,
    reasons,
    terms,
)
from evalbench.providers.openai.responses import failed_status, read_response
from evalbench.providers.wire.address import api_address
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.headers import openai_limits
from evalbench.providers.wire.lenient import as_object, as_text
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.sdk import SdkClient, openai_client
from evalbench.providers.wire.single_transport import Carrier


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions(GatewayOptions):
    """Options of :class:`OpenAI`."""

    api: str = setting(
        "auto",
        "endpoint; auto uses responses for OpenAI's reasoning models, otherwise chat",
        choices=("auto", "chat", "responses"),
        affects_answers=True,
    )
    image_detail: str = setting(
        "auto",
        "image detail; original is for the newest models only",
        choices=("auto", "low", "high", "original"),
        affects_answers=True,
    )
    service_tier: str | None = setting(
        None,
        "service tier; flex is slower and cheaper, priority faster and more expensive",
        choices=("auto", "default", "flex", "priority"),
    )


class OpenAI(ChatProvider):
    """Calls OpenAI's models."""

    name: ClassVar[str] = "openai"
    title: ClassVar[str] = "OpenAI"
    price_table: ClassVar[str] = "openai"
    extra: ClassVar[str] = "openai"
    address_variables: ClassVar[tuple[str, ...]] = ("OPENAI_BASE_URL",)
    modules: ClassVar[tuple[str, ...]] = ("openai",)
    own_address: ClassVar[str | None] = "https://api.openai.com/v1"
    takes_batches: ClassVar[bool] = True
    settings: GatewayOptions = OpenAIOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("OPENAI_API_KEY",),
        page="https://platform.openai.com/api-keys",
        pattern=r"sk-[\w-]{20,}",
        withheld=("AZURE_OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS"),
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(OpenAIOptions, settings)
        address = api_address(own.base_url, self.own_address or "", version="v1", versioned=True)
        super().__init__(settings, secret, address)
        self._api = own.api
        self._habits = BodySettings(
            image_detail=own.image_detail,
            service_tier=own.service_tier or "",
        )
        asked = own.service_tier or "auto"
        self._usual_tier = "default" if asked == "auto" else asked
        self._agreed = Agreed()
        self._client = SdkClient(
            openai_client,
            self.secret,
            self.address,
            self.title,
            headers=self.headers,
            query=self.query,
        )
        self.batch_api = FileBatches(self) if self.takes_batches else None

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(model)
        return Capabilities(
            images=facts.images is not False,
            logprobs=facts.logprobs is not False,
            batch=self.batched(model),
            cached_from=LEAST_CACHED,
            cached_for_s=CACHED_S,
            schema=facts.schema is not False,
            thinks=reasons(Params(), facts),
            reason="OpenAI's API gives no likelihoods of given texts",
        )

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected("OpenAI's API gives no likelihoods of given texts")
        facts = self.facts.of(wire_name(call))
        agreed = self.agreed(call, facts, refused)
        return prepare(call, facts, agreed, self._endpoint(facts), self._habits, refused)

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        return self._agreed.of(
            call,
            facts,
            refused,
            lambda: terms(call.prompt.params, facts, refused, self._endpoint(facts)),
        )

    def _endpoint(self, facts: ModelFacts) -> Endpoint:
        return endpoint_for(facts, self._api, official=self.address.official)

    @property
    @override
    def carrier(self) -> Carrier:
        return self._client

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        limits = openai_limits(answered.headers)
        reader = read_response if prepared.path == PATHS["responses"] else read_chat
        opened = open_good(answered, self.who, self.scrub, self.failed_status)
        if isinstance(opened, Opened):
            reply = read_reply(opened, prepared, self.who, self.scrub, reader, limits, REQUEST_ID)
            served = as_text(as_object(reply.raw).get("service_tier"))[:100]
            if served not in ("", "auto", self._usual_tier):
                # A project may have a tier of its own, and priority falls back when it is full.
                reply = replace(reply, service_tier=served)
            return reply
        return self.read_refusal(opened, prepared.model, limits, prepared.notes)

    @override
    def read_answer(self, body: Mapping[str, Any], arrival: Arrival) -> Reply:
        reader = read_response if body.get("object") == "response" else read_chat
        return reader(body, arrival)

    @override
    def failed_status(self, body: Mapping[str, Any]) -> int | None:
        responded = isinstance(body.get("output"), list) or body.get("object") == "response"
        return failed_status(body) if responded else super().failed_status(body)

    @override
    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        """A model that is not known to reason may be at the other endpoint only."""
        result = super().read_error(answered, model)
        if isinstance(result, NoSuchModel) and "only supported in v1/responses" in result.why:
            result.what = f"{self.title} serves {model!r} at its Responses endpoint only"
            result.hint = "ask it there: --api responses"
        return result

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        answered = await self.get("/models")
        if answered.status != 200:
            raise self.error_of(answered, "", "no model list")
        body = parsed(answered, self.who, self.scrub)
        try:
            lines = [catalogue.model_info(entry, self.facts) for entry in body["data"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerFault("OpenAI's model list cannot be read", why=str(error)) from None
        return sorted((line for line in lines if line), key=lambda line: line.name)

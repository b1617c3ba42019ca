"""The provider ``anthropic``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from evalbench.engine.calls import (
    Call,
    Capabilities,
    GatewayOptions,
    KeyNeed,
    ModelInfo,
    Reply,
)
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, ServerFault
from evalbench.providers.anthropic import catalogue
from evalbench.providers.anthropic.batches import REQUEST_ID, MessageBatches
from evalbench.providers.anthropic.errors import filtered, hidden_status, read_error
from evalbench.providers.anthropic.prepare import BodySettings, least_cached, prepare, terms
from evalbench.providers.anthropic.read import read_limits, read_message
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.wire.address import api_address
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.sdk import SdkClient, anthropic_client
from evalbench.providers.wire.single_transport import CarriedProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicOptions(GatewayOptions):
    """Options of :class:`Anthropic`."""

    legacy_sampling: str = setting(
        "auto",
        "send temperature and top_p to models that still accept them, using the 2023 API version",
        choices=("auto", "never"),
        affects_answers=True,
    )
    prompt_cache: str = setting(
        "5m", "lifetime of cached shared prefixes", choices=("5m", "1h", "off")
    )
    oversized_image: str = setting(
        "error",
        "what to do with images larger than the model accepts",
        choices=("error", "downsize"),
        affects_answers=True,
    )
    service_tier: str | None = setting(
        None, "service tier; auto also uses committed capacity", choices=("auto", "standard_only")
    )


class Anthropic(CarriedProvider):
    """Calls Claude models."""

    name: ClassVar[str] = "anthropic"
    title: ClassVar[str] = "Anthropic"
    price_table: ClassVar[str] = "anthropic"
    extra: ClassVar[str] = "anthropic"
    address_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_BASE_URL",)
    modules: ClassVar[tuple[str, ...]] = ("anthropic",)
    takes_batches: ClassVar[bool] = True
    settings = AnthropicOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("ANTHROPIC_API_KEY",),
        page="https://platform.claude.com/settings/keys",
        pattern=r"sk-ant-[\w-]{20,}",
        withheld=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"),
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(AnthropicOptions, settings)
        address = api_address(
            own.base_url, "https://api.anthropic.com", version="v1", versioned=False
        )
        super().__init__(settings, secret, address)
        cache = own.prompt_cache
        self._habits = BodySettings(
            prompt_cache="" if cache == "off" else cache,
            oversized_image=own.oversized_image,
            service_tier=own.service_tier or "",
        )
        self._legacy = own.legacy_sampling == "auto"
        self._agreed = Agreed()
        self._client = SdkClient(
            anthropic_client,
            self.secret,
            self.address,
            self.title,
            headers=self.headers,
            query=self.query,
        )
        self.batch_api = MessageBatches(self, self._client)

    @classmethod
    @override
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        return "all"

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(model)
        return Capabilities(
            images=facts.images is not False,
            batch=self.batched(model),
            cached_from=least_cached(facts) if self._habits.prompt_cache else 0,
            cached_for_s=3600.0 if self._habits.prompt_cache == "1h" else 300.0,
            schema=facts.schema is not False,
            thinks=bool(facts.thinks),
            reason="Anthropic's API gives no log-probabilities",
        )

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected("Anthropic's API gives no likelihoods of given texts")
        facts = self.facts.of(wire_name(call))
        return prepare(call, facts, self.agreed(call, facts, refused), self._habits)

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        params = call.prompt.params
        return self._agreed.of(
            call,
            facts,
            refused,
            lambda: terms(params, facts, refused, legacy_sampling=self._legacy),
        )

    @property
    @override
    def carrier(self) -> SdkClient:
        return self._client

    async def warm(self, model: str) -> None:
        """Query the API for what the model supports, once a week."""
        if self.facts.fresh(model):
            return
        answered = await self.get(f"/v1/models/{quote(model, safe='')}")
        if answered.status == 200:
            entry = parsed(answered, self.who, self.scrub)
            if known := catalogue.told_facts(entry):
                self.facts.tell({model: known})

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        limits = read_limits(answered.headers)
        opened = open_good(answered, self.who, self.scrub, hidden_status)
        if isinstance(opened, Opened):
            return read_reply(
                opened, prepared, self.who, self.scrub, read_message, limits, REQUEST_ID
            )
        if reply := filtered(opened, self.scrub):
            return replace(reply, limits=limits, params=prepared.notes)
        error = read_error(opened, self.who, prepared.model, self.scrub)
        error.limits = limits
        raise error

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        listed: list[ModelInfo] = []
        path = "/v1/models?limit=1000"
        while True:
            answered = await self.get(path)
            if answered.status != 200:
                raise read_error(answered, self.who, "", self.scrub)
            body = parsed(answered, self.who, self.scrub)
            try:
                listed += [catalogue.model_info(entry) for entry in body["data"]]
                if not body.get("has_more"):
                    return listed
                path = f"/v1/models?limit=1000&after_id={quote(body['last_id'], safe='')}"
            except (KeyError, TypeError, AttributeError) as error:
                raise ServerFault("Anthropic's model list cannot be read", why=str(error)) from None

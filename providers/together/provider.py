"""The provider ``together``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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
from evalbench.engine.calls.options import record_of
from evalbench.engine.compat import override
from evalbench.engine.errors import CallRejected, NoSuchModel, ProviderError, ServerFault
from evalbench.providers.chat.errors import REQUEST_ID
from evalbench.providers.chat.provider import ChatProvider
from evalbench.providers.modelfacts import ModelFacts, Refused
from evalbench.providers.together import catalogue
from evalbench.providers.together.batches import TogetherBatches
from evalbench.providers.together.errors import (
    is_not_serverless,
    not_serverless,
    read_together_error,
    request_id_of,
)
from evalbench.providers.together.prepare import prepare, terms
from evalbench.providers.together.read import read_limits, read_together
from evalbench.providers.wire.address import api_address
from evalbench.providers.wire.body import Opened, open_good, parsed, read_reply
from evalbench.providers.wire.exchange import Answered, Arrival, Prepared
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.provider import wire_name
from evalbench.providers.wire.sdk import SdkClient, together_client

_NO_CHOICE = "Together's API gives no likelihoods of given texts"
_MOST_PAGES = 50


class Together(ChatProvider):
    """Calls the open models that Together serves."""

    name: ClassVar[str] = "together"
    title: ClassVar[str] = "Together"
    price_table: ClassVar[str] = "together"
    extra: ClassVar[str] = "together"
    address_variables: ClassVar[tuple[str, ...]] = ("TOGETHER_BASE_URL",)
    modules: ClassVar[tuple[str, ...]] = ("together",)
    settings = GatewayOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("TOGETHER_API_KEY",),
        page="https://api.together.ai/settings/api-keys",
        pattern=r"tgp_[\w-]{20,}|[0-9a-f]{64}",
        withheld=("TOGETHER_CUSTOM_HEADERS",),
    )
    tells_prices: ClassVar[bool] = True
    takes_batches: ClassVar[bool] = True

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        address = api_address(
            record_of(GatewayOptions, settings).base_url,
            "https://api.together.ai",
            version="v1",
            versioned=False,
        )
        super().__init__(settings, secret, address)
        self._client = SdkClient(
            together_client,
            self.secret,
            address,
            self.title,
            "httpx",
            headers=self.headers,
            query=self.query,
        )
        self.batch_api = TogetherBatches(self, self._client)
        self._agreed = Agreed()
        self._doubtful: set[str] = set()
        self._dedicated: set[str] = set()
        self._one_first = asyncio.Lock()

    @classmethod
    @override
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        # The one model in Together's list of batch discounts.
        return "all" if model == "meta-llama/Llama-3.3-70B-Instruct-Turbo" else ""

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(model)
        return Capabilities(
            images=facts.images is not False,
            video=bool(facts.video),
            logprobs=facts.logprobs is not False,
            schema=facts.schema is not False,
            thinks=bool(facts.thinks if facts.thinks is not None else facts.reasoning),
            gentle=True,
            batch=self.batched(model),
            reason=_NO_CHOICE,
        )

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected(_NO_CHOICE)
        facts = self.facts.of(wire_name(call))
        return prepare(call, facts, self.agreed(call, facts, refused))

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        params = call.prompt.params
        return self._agreed.of(call, facts, refused, lambda: terms(params, facts, refused))

    @override
    def read_answer(self, body: Mapping[str, Any], arrival: Arrival) -> Reply:
        return read_together(body, arrival)

    @property
    @override
    def carrier(self) -> SdkClient:
        return self._client

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        limits = read_limits(answered.headers)
        opened = open_good(answered, self.who, self.scrub, self.failed_status)
        if isinstance(opened, Opened):
            return read_reply(
                opened, prepared, self.who, self.scrub, read_together, limits, REQUEST_ID
            )
        try:
            return self.read_refusal(opened, prepared.model, limits, prepared.notes)
        except NoSuchModel as error:
            if is_not_serverless(error):
                self._dedicated.add(prepared.model)
            raise

    @override
    def request_id(self, answered: Answered) -> str:
        return request_id_of(answered)

    @override
    def read_error(self, answered: Answered, model: str) -> ProviderError | Reply:
        return read_together_error(answered, self.who, model, self.scrub)

    @override
    async def attempt(self, call: Call) -> Reply:
        """A model that is not serverless is tried once.

        The catalogue does not show whether the user runs an endpoint under its name.
        """
        name = wire_name(call)
        if name not in self._doubtful:
            return await super().attempt(call)
        async with self._one_first:
            if name in self._dedicated:
                raise not_serverless(name)
            reply = await super().attempt(call)
            self._doubtful.discard(name)
            return reply

    @override
    async def warm(self, model: str) -> None:
        """What the catalogue says about the model.

        It does not list the user's own endpoints; neither do gateways.
        """
        entries = await self._entries(catalogue.search_path(model))
        entry = catalogue.find(entries, model)
        if entry is None:
            return
        self.facts.tell({model: catalogue.told_facts(entry)})
        if not catalogue.is_serverless(entry):
            self._doubtful.add(model)

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        """The models that can be called without a dedicated endpoint."""
        entries = await self._entries(catalogue.LIST)
        try:
            lines = [catalogue.model_info(entry) for entry in entries]
            facts = {catalogue.api_name(entry): catalogue.told_facts(entry) for entry in entries}
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerFault("Together's model list cannot be read", why=str(error)) from None
        self.facts.tell(facts)
        return sorted((line for line in lines if line), key=lambda line: line.name)

    async def _entries(self, path: str) -> list[Mapping[str, Any]]:
        """The catalogue's entries, page by page."""
        entries: list[Mapping[str, Any]] = []
        page = path
        for _ in range(_MOST_PAGES):
            body = await self._fetched(page)
            data = body.get("data")
            entries += [entry for entry in data or () if isinstance(entry, Mapping)]
            after = body.get("next_cursor")
            if not after:
                break
            page = f"{path}&after={quote(str(after), safe='')}"
        return entries

    async def _fetched(self, path: str) -> dict[str, Any]:
        answered = await self.get(path)
        if answered.status != 200:
            raise self.error_of(answered, "", f"no answer to {path}")
        return parsed(answered, self.who, self.scrub)

    @override
    async def key_report(self) -> str:
        """Checks whose key it is, which is free."""
        owner = await self._fetched("/v3/whoami")
        names = [
            f"{what} {found['name']}"
            for what in ("project", "organization")
            if isinstance(found := owner.get(what), Mapping) and found.get("name")
        ]
        return "; ".join(["Together accepts the key", *filter(None, [", ".join(names)])])

"""The provider ``google``: the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from evalbench.engine.calls import (
    Call,
    Capabilities,
    KeyNeed,
    MediaPart,
    ModelInfo,
    NetworkOptions,
    Reply,
)
from evalbench.engine.calls.options import record_of, setting
from evalbench.engine.compat import override
from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    CallRejected,
    NoSuchModel,
    ProviderError,
    ServerFault,
)
from evalbench.providers.google import catalogue
from evalbench.providers.google.access import Access
from evalbench.providers.google.batches import GeminiBatches
from evalbench.providers.google.errors import hidden_status, read_error
from evalbench.providers.google.files import Uploads
from evalbench.providers.google.media import too_large_inline
from evalbench.providers.google.prepare import BodySettings, bare_name, prepare, terms
from evalbench.providers.google.read import read_content
from evalbench.providers.google.sdk import GeminiClient
from evalbench.providers.modelfacts import FactsResolver, ModelFacts, Refused, table_facts
from evalbench.providers.wire.address import Address, api_address
from evalbench.providers.wire.body import Opened, open_good, read_reply
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.negotiated import Agreed
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.provider import NetworkProvider, wire_name

_CACHED_S = 300.0
"""Google only says that prompts sent within a short time share a prefix."""
_SAFETY = ("off", "none", "only_high", "medium_and_above", "low_and_above")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiOptions(NetworkOptions):
    """Options of every :class:`Gemini`."""

    safety_settings: str | None = setting(
        None,
        "threshold of the API's harm filters (default: the model's own)",
        choices=_SAFETY,
        affects_answers=True,
    )
    video_fps: float | None = setting(
        None,
        "video frames per second (API default: 1)",
        minimum=0.01,
        maximum=24,
        affects_answers=True,
    )
    service_tier: str | None = setting(
        None,
        "service tier; flex is slower and cheaper, priority faster and more expensive",
        choices=("standard", "flex", "priority"),
    )


class Gemini(NetworkProvider):
    """What the Gemini API and Vertex AI have in common."""

    price_table: ClassVar[str] = "google"
    extra: ClassVar[str] = "google"
    modules: ClassVar[tuple[str, ...]] = ("google.genai",)
    files: Uploads | None = None
    """Where media too large for a request are uploaded; None: nowhere."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        access: Access,
        address: Address,
        version: str,
    ) -> None:
        super().__init__(settings, access.secret, address)
        own = record_of(GeminiOptions, settings)
        # The same models with either kind of access.
        self.facts = FactsResolver(self.name, address.host, partial(table_facts, "google"))
        safety = own.safety_settings or ""
        if safety:
            safety = "OFF" if safety == "off" else f"BLOCK_{safety.upper()}"
        self._habits = BodySettings(
            safety=safety,
            service_tier=own.service_tier or "",
            fps=own.video_fps,
        )
        self._agreed = Agreed()
        self.client = GeminiClient(access, address, version, self.title, self.scrub)

    @classmethod
    @override
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        return "uncached"

    @override
    def capabilities(self, model: str) -> Capabilities:
        facts = self.facts.of(bare_name(model))
        sees = facts.images is not False
        return Capabilities(
            images=sees,
            video=sees and facts.video is not False,
            logprobs=facts.logprobs is not False,
            cached_from=facts.cache_tokens or 0,
            cached_for_s=_CACHED_S if facts.cache_tokens else 0.0,
            schema=facts.schema is not False,
            thinks=bool(facts.thinks),
            batch=self.batched(model),
            reason="Google's API gives no likelihoods of given texts",
        )

    @staticmethod
    def check_name(model: str) -> None:
        """Refuse names that are malformed, or would change the path of the URL."""
        NetworkProvider.check_name(model)
        if ".." in model or any(letter in "?&#%:" for letter in model):
            raise NoSuchModel(f"{model!r} is not the name of a model")

    @override
    def known_as(self, call: Call) -> str:
        """Names may have a longer form here."""
        return bare_name(wire_name(call))

    @override
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        if call.prompt.kind != "generate":
            raise CallRejected("Google's API gives no likelihoods of given texts")
        facts = self.facts.of(self.known_as(call))
        agreed = self.agreed(call, facts, refused)
        large = too_large_inline(call.prompt.messages)
        uris = self.files.uris if self.files and large else {}
        if any(part.sha256 not in uris for part in large):
            raise CallRejected(
                f"the media of this call are larger than {self.title} takes in a request",
                hint="send fewer or smaller ones",
            )
        shown = {part.sha256: uris[part.sha256] for part in large}
        return prepare(call, agreed, self._habits, shown)

    @override
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        work_out = partial(terms, call.prompt.params, facts, refused)
        return self._agreed.of(call, facts, refused, work_out)

    @property
    @override
    def clients(self) -> OnePerLoop[Any]:
        return self.client.clients

    @override
    async def attempt(self, call: Call) -> Reply:
        """Uploads media too large for the request first."""
        large = await self._uploaded(call)
        try:
            return await super().attempt(call)
        except ProviderError as error:
            if large and error.status in (400, 403, 404) and "file" in error.why.lower():
                raise self._gone(large, error) from None
            raise

    async def _uploaded(self, call: Call) -> Sequence[MediaPart]:
        if self.files is None:
            return ()
        large = too_large_inline(call.prompt.messages)
        await self.files.ready(large)
        return large

    def _gone(self, large: Sequence[MediaPart], error: ProviderError) -> ProviderError:
        assert self.files is not None
        self.files.forget(large)
        return ServerFault(
            f"{self.title} no longer has a file of this call",
            why=error.why,
            status=error.status,
            body=error.body,
        )

    @override
    async def send(self, prepared: Prepared) -> Answered:
        return await self.client.generate(prepared)

    @override
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        opened = open_good(answered, self.who, self.scrub, hidden_status)
        if not isinstance(opened, Opened):
            raise read_error(opened, self.who, prepared.model, self.scrub)
        return read_reply(
            opened, prepared, self.who, self.scrub, read_content, None, "x-request-id"
        )

    @override
    async def fetch_models(self) -> list[ModelInfo]:
        listed = await self.client.models()
        if isinstance(listed, Answered):
            raise read_error(listed, self.who, "", self.scrub)
        try:
            lines = [catalogue.model_info(entry, self.facts) for entry in listed]
            limits = {
                str(entry["name"]).rpartition("/")[2]: known
                for entry in listed
                if (known := catalogue.told_facts(entry))
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise ServerFault("Google's model list cannot be read", why=str(error)) from None
        self.facts.tell(limits)
        return sorted((line for line in lines if line), key=lambda line: line.name)

    @override
    async def close(self) -> None:
        try:
            if self.files is not None and self.clients.here() is not None:
                await self.files.close()
        finally:
            await super().close()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleOptions(GeminiOptions):
    """Options of :class:`Google`."""

    api_version: str = setting(
        "v1", "API version; v1beta has preview features", choices=("v1", "v1beta", "v1alpha")
    )


class Google(Gemini):
    """Calls Gemini models with a key of the Gemini API."""

    takes_batches: ClassVar[bool] = True

    name: ClassVar[str] = "google"
    title: ClassVar[str] = "Google"
    trace_name: ClassVar[str] = "gcp.gemini"
    address_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_GEMINI_BASE_URL",)
    settings = GoogleOptions()
    key: ClassVar[KeyNeed | None] = KeyNeed(
        variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        page="https://aistudio.google.com/api-keys",
        pattern=r"AIza[\w-]{35}|AQ\.[\w-]{20,}",
    )

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        own = record_of(GoogleOptions, settings)
        version = own.api_version
        address = api_address(
            own.base_url,
            "https://generativelanguage.googleapis.com",
            version=version,
            versioned=False,
        )
        super().__init__(settings, Access(secret.strip()), address, version)
        self.batch_api = GeminiBatches(self, self.client, version)
        self.files = Uploads(self.client, self.who, self.scrub)
        self._shut_out: ProviderError | None = None

    async def warm(self, model: str) -> None:
        """Fetch the model's entry, which is free, once before the first call.

        An invalid key, or a project without the API, is detected here with one request instead of
        in every concurrent call.
        """
        name = bare_name(model)
        entry = await self.client.model(name)
        if isinstance(entry, Answered):
            error = read_error(entry, self.who, "", self.scrub)
            if isinstance(error, BadKey | AccessDenied):
                self._shut_out = error
        elif known := catalogue.told_facts(entry):
            self.facts.tell({name: known})

    @override
    async def attempt(self, call: Call) -> Reply:
        if self._shut_out is not None:
            raise self._shut_out
        return await super().attempt(call)

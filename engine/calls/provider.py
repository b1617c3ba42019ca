"""The provider interface: what the engine expects of a provider.

A provider is a class found through the entry point group ``evalbench.providers``. Importing its
module must be cheap: no SDK, no torch. The class is instantiated only inside an engine or the
preflight, with its validated options. There are two kinds: one answers calls over a network
(:class:`Provider`), the other has its model in a worker process (:class:`WorkerProvider`).
Whatever belongs to one provider (its key, its prices, how it counts tokens) is declared in its
class and listed nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from evalbench.engine.calls.batches import BatchApi
from evalbench.engine.calls.footprint import Footprint
from evalbench.engine.calls.messages import Call
from evalbench.engine.calls.options import (
    Option,
    declare_options,
    option_values,
    options_of,
    setting,
    with_defaults,
)
from evalbench.engine.calls.replies import ParamNote, Reply
from evalbench.engine.calls.token_rules import TokenRules

if TYPE_CHECKING:
    from evalbench.engine.inference_servers import ServerProgram


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model supports."""

    generate: bool = True
    choose: bool = False
    images: bool = False
    video: bool = False
    """Accepts videos directly, without splitting them into frames first."""
    logprobs: bool = False
    batch: bool = False
    cached_from: int = 0
    """Tokens of the shortest prefix that the provider caches; 0 if it caches none."""
    cached_for_s: float = 0.0
    """Seconds that a prefix stays cached after its last use."""
    schema: bool = False
    """Answers that follow a JSON schema, as far as known in advance."""
    thinks: bool = False
    """Reasons before it answers unless told not to; reasoning counts towards the cap."""
    image_tokens: int = 0
    """Prompt tokens of an image, if they do not depend on its size; 0 if they do."""
    gentle: bool = False
    """Its limits rise with a steady load and not with a burst: start with few calls and add more
    slowly."""
    reason: str = ""
    """Why something is missing, for the model picker."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One entry of a model list."""

    name: str
    title: str = ""
    context_tokens: int | None = None
    retires: str = ""
    notes: str = ""
    rates: Mapping[str, str] = field(default_factory=dict)
    """Its prices, if the list has them: US dollars per million tokens as decimal strings:
    ``input``, ``output``, and ``cache_read`` if that differs."""


@dataclass(frozen=True, slots=True)
class KeyNeed:
    """The key that a provider needs and where to get one.

    Attributes:
        variables: environment variables that may hold it, in order of precedence.
        page: address of the page where keys are created.
        pattern: regular expression of a plausible key; a mismatch only causes a warning.
        required: False for servers that often run without a key.
        parts: for a variable that holds only the first part of a key, those with the other
            parts; a key in several variables becomes one string, joined by colons.
        profile: the variable that names a profile, if the SDK can find (and refresh)
            credentials itself when no key is given. The provider's option ``profile`` names
            one too, and takes precedence over every key.
        withheld: other variables with secrets for its SDK or a related service; processes
            that need no key are started without them.
    """

    variables: tuple[str, ...]
    page: str = ""
    pattern: str = ""
    required: bool = True
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    profile: str = ""
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    """Limits and prices from a vendor's documentation, with the pages as sources.

    Attributes:
        requests_per_minute, tokens_per_minute: the limit of an ordinary paying account, if
            a single figure is published; calls stay below it unless the run says otherwise.
        limits: a description, if figures differ by account or model.
        limits_page, prices_page: the source pages; empty if none could be opened.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    limits: str = ""
    limits_page: str = ""
    prices_page: str = ""


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start a local worker: ``argv`` and additions to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Options of every network provider."""

    base_url: str | None = setting(
        None, "base URL of the API, to use a gateway, a proxy or a test server", metavar="URL"
    )
    timeout: float = setting(600.0, "timeout of one attempt, in seconds", minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions(NetworkOptions):
    """Options of providers whose requests may go through a gateway."""

    header: tuple[str, ...] = setting(
        (),
        "extra request header, 'NAME: VALUE'; ${VARIABLE} in it is replaced by a secret from the"
        " environment or --env-file",
    )
    query: tuple[str, ...] = setting(
        (), "extra query parameter, NAME=VALUE, such as api-version=2024-10-21"
    )


NETWORK_OPTIONS = options_of(NetworkOptions)
GATEWAY_OPTIONS = options_of(GatewayOptions)
"""The same as tables."""

PLACES = (
    *("base_url", "region", "profile", "project", "location", "endpoint", "account", "host"),
    *("workspace", "api_version", "header", "query"),
)
"""Names of options for a provider's address and identity; also used for its model list."""


class BaseProvider(ABC):
    """Everything that the engine asks of a provider, with defaults.

    A provider overrides only what it needs. Class attributes and class methods are read before
    anything is instantiated, so they cost no SDK, no key and no network.

    Attributes:
        name: as in ``provider/model``; equal to the name of the entry point.
        title: display name.
        settings: its own settings, a record (see :func:`setting`): the class's has the defaults, an
            instance's the values of the run.
        options: the same settings as a table; follows from ``settings``.
        key: the key it needs; None if it needs none.
        free: whether calls cost nothing because the model runs on the user's own machine.
        price_table: id of the provider in the bundled price table (``genai-prices``); empty
            if it is not listed.
        tells_prices: whether :meth:`models` returns ``rates``.
        trace_name: value of ``gen_ai.provider.name`` in traces, if OpenTelemetry uses
            another name; empty for ``name``.
        extra: the extra that installs the packages it needs;  modules: those it imports.
        address_variables: environment variables from which its SDK takes its address.
        own_address: its default address; may contain ``{parts}`` to fill in. Empty if it has
            none and the user has to give one; None if the SDK chooses it.
        own_headers, own_query: headers and query parameters of every request; values may
            refer to ``${VARIABLE}``.
        configured: whether it is a server described by the user.
        defaults: values of options and settings in such a description.
        prices: its prices by model, as for ``--price``; ``*`` stands for every other model.
        price_source: where those prices come from, as stated by the user.
        published: the vendor's documented limits and prices.
        server: the program of its server, if evalbench can start that on this machine.
        batch_api: its batches; None if it has none.
        batch_lacks: why it has no batches, if that needs explaining.
        account: identifies credentials that an SDK finds itself: whoever shares an account
            shares its limits. Empty if the key identifies it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    settings: Any = None
    options: ClassVar[tuple[Option, ...]] = ()
    key: ClassVar[KeyNeed | None] = None
    free: ClassVar[bool] = False
    price_table: ClassVar[str] = ""
    tells_prices: ClassVar[bool] = False
    trace_name: ClassVar[str] = ""
    server: ClassVar[ServerProgram | None] = None
    batch_api: BatchApi | None = None
    batch_lacks: ClassVar[str] = ""
    account: str = ""
    extra: ClassVar[str] = ""
    modules: ClassVar[tuple[str, ...]] = ()
    address_variables: ClassVar[tuple[str, ...]] = ()
    own_address: ClassVar[str | None] = None
    own_headers: ClassVar[Mapping[str, str]] = {}
    own_query: ClassVar[Mapping[str, str]] = {}
    configured: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {}
    prices: ClassVar[Mapping[str, str]] = {}
    price_source: ClassVar[str] = ""
    published: ClassVar[Published] = Published()

    def __init_subclass__(cls) -> None:
        declare_options(cls, "settings")

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        """Instantiate it in an engine or a preflight child.

        Args:
            settings: validated values by option name.
            secret: the key; empty for a provider without :attr:`key`.
        """
        self.settings = option_values(type(self).settings, with_defaults(self.options, settings))
        self.secret = secret.strip()

    @classmethod
    def address_in(cls, settings: Mapping[str, Any]) -> str:
        """The address that results from settings, where parts of it are set by the user."""
        return str(settings.get("base_url") or cls.own_address or "")

    @classmethod
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        """What costs half in batches if the bundled price table has no batch prices: nothing,
        everything, or whatever is not read from a cache, as the provider documents it."""
        return ""

    @classmethod
    def batches(cls) -> Literal["yes", "no", "tried"]:
        """Whether it supports batches; ``tried`` means that the first one will show."""
        return "no"

    @classmethod
    def token_rules(cls, model: str) -> TokenRules:
        """How it counts input tokens of texts, images and videos."""
        return TokenRules()

    @property
    def endpoint(self) -> str:
        """The address of the API in use; empty if there is none, or it is unknown."""
        return ""

    def capabilities(self, model: str) -> Capabilities:
        """What ``model`` supports; must not use the network or load the model."""
        return Capabilities()

    def check_model(self, model: str) -> None:  # noqa: B027 - most know no list of all models
        """Reject a model that cannot exist, without using the network or loading it.

        Raises:
            NoSuchModel: unknown model, with the closest known names.
        """

    def modules_for(self, model: str) -> Sequence[str]:
        """The modules that ``model`` needs with these settings."""
        return self.modules

    def param_notes(self, call: Call) -> Sequence[ParamNote] | None:
        """How a call's parameters would be handled, without network access. None if unknown.

        Raises:
            CallRejected: the parameters conflict, or this provider cannot take the call.
        """
        return None

    async def models(self) -> Sequence[ModelInfo]:
        """The available models."""
        return ()

    async def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release connections."""


class Provider(BaseProvider):
    """Answers calls over a network. Raises only :class:`ProviderError` subclasses.

    :meth:`answer` is the only required method. A provider with an address of its own derives its
    settings from :class:`NetworkOptions`.
    """

    async def get_ready(self, call: Call) -> None:
        """Do slow preparation, such as importing an SDK, before the first call is sent.

        It counts against no call's deadline, and may be called for every call.

        Raises:
            ProviderError: no call can be answered.
        """

    @abstractmethod
    async def answer(self, call: Call) -> Reply:
        """One attempt at one call. No retries, no hidden waiting.

        Sets ``limits`` on the reply, or on the error, if the provider reported them.
        """

    async def check_key(self) -> str:
        """Check the key with the cheapest real request; returns one line on what it can access.

        Raises:
            ProviderError: the key does not work.
        """
        return f"{self.title} has no way to check a key"


class WorkerProvider(BaseProvider):
    """Runs a model in a worker process that speaks :mod:`evalbench.engine.calls.frames`."""

    free: ClassVar[bool] = True

    @abstractmethod
    def worker_command(self, model: str) -> WorkerCommand:
        """The process to start for ``model``."""

    def footprint(self, model: str) -> Footprint | None:
        """What determines the memory use of ``model``, without loading it; None if unknown.

        Raises:
            ProviderError: it cannot be determined; a model hub may have to be queried.
        """
        return None

    @abstractmethod
    def load_request(self, model: str) -> dict[str, Any]:
        """The body of the worker's ``load`` frame."""

    @property
    def keep_loaded_s(self) -> float | None:
        """Seconds that a worker waits for the next run of its model; 0 ends it with the run.

        None if its workers cannot stay.
        """
        return None

    def load_identity(self, model: str) -> Mapping[str, Any]:
        """What a worker must have loaded to stand in for a new one; asked if it may be kept.

        Raises:
            ProviderError, OSError: it cannot be determined; the worker is not kept.
        """
        return self.load_request(model)

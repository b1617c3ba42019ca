"""Who answers: what the engine expects of a provider.

A provider is a class found through the entry point group
``evalbench.providers``. Importing its module must be cheap: no SDK, no torch.
The class is built only inside an engine or the preflight, with its validated
options. Two kinds exist: one that answers calls over a network
(:class:`Provider`), and one whose model lives in a worker process on this
machine (:class:`WorkerProvider`). What belongs to one provider (its key, its
prices, how it counts tokens) is declared here and listed nowhere else. A
provider that takes batches has the methods of
:class:`evalbench.engine.calls.batches.BatchProvider` too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from evalbench.engine.calls.messages import Call
from evalbench.engine.calls.options import Option
from evalbench.engine.calls.replies import ParamNote, Reply
from evalbench.engine.calls.token_rules import TokenRules


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can be asked for."""

    generate: bool = True
    choose: bool = False
    images: bool = False
    video: bool = False
    """Videos as they are, without being cut into frames first."""
    logprobs: bool = False
    batch: bool = False
    cached_from: int = 0
    """Tokens of the shortest prefix that the provider caches; 0: it caches none."""
    cached_for_s: float = 0.0
    """Seconds that a prefix stays cached after its last use."""
    schema: bool = False
    """Answers that follow a JSON schema, as far as is known before asking."""
    thinks: bool = False
    """Thinks before it answers unless told not to; the thinking counts towards the cap."""
    image_tokens: int = 0
    """Prompt tokens of an image, where they do not depend on its size; 0: they do."""
    gentle: bool = False
    """Its limits rise with a steady load and not with a burst: calls begin few, and more come
    slowly."""
    reason: str = ""
    """Why something is missing, for the picker."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One line of a model list."""

    name: str
    title: str = ""
    context_tokens: int | None = None
    retires: str = ""
    notes: str = ""
    rates: Mapping[str, str] = field(default_factory=dict)
    """What it costs, where the list says so: US dollars per million tokens as decimal
    texts: ``input``, ``output``, and ``cache_read`` if that differs."""


@dataclass(frozen=True, slots=True)
class KeyNeed:
    """What key a provider takes and where people get one.

    Attributes:
        variables: environment variables that may hold it, in order of precedence.
        page: address where keys are made.
        pattern: regular expression of a plausible key; a wrong one is only warned about.
        required: False for servers that often run without a key.
        parts: for a variable that holds only the first part of a key, those that hold
            the others; a key in several variables is one text, joined by colons.
        profile: the variable that names a profile, where the SDK has a chain of its own
            to find (and refresh) credentials when no key is given. The provider's option
            ``profile`` names one too, and comes before every key.
        withheld: other variables that hold secrets for its SDK or for a neighbour; processes
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
    """What a vendor's documentation says of limits and prices. Its pages are the sources.

    Attributes:
        requests_per_minute, tokens_per_minute: the most that an ordinary paying account gets,
            where one figure is published; calls are kept below it unless a run says otherwise.
        limits: in words, where figures differ by account or model.
        limits_page, prices_page: where it stands; empty where no source could be opened.
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


NETWORK_OPTIONS: tuple[Option, ...] = (
    Option(
        "base_url",
        str,
        None,
        "base URL of the API, to use a gateway, a proxy or a test server",
        metavar="URL",
    ),
    Option("timeout", float, 600.0, "timeout of one attempt, in seconds", minimum=1),
)
"""Options that every network provider takes."""

GATEWAY_OPTIONS: tuple[Option, ...] = (
    *NETWORK_OPTIONS,
    Option(
        "header",
        str,
        (),
        "extra request header, 'NAME: VALUE'; ${VARIABLE} in it is replaced by a secret from the"
        " environment or --env-file",
        many=True,
    ),
    Option(
        "query",
        str,
        (),
        "extra query parameter, NAME=VALUE, such as api-version=2024-10-21",
        many=True,
    ),
)
"""Options of providers whose requests may go through a gateway."""

PLACES = (
    *("base_url", "region", "profile", "project", "location", "endpoint", "account", "host"),
    *("workspace", "api_version", "header", "query"),
)
"""Names of options that say where a provider is asked, and as whom: also for its model list."""


class BaseProvider(ABC):
    """What every provider declares: all that the engine asks of one, with a default.

    A provider that needs no more overrides nothing more. Class attributes and class methods are
    read before anything is built, so they cost no SDK, no key and no network.

    Attributes:
        name: as in ``provider/model``; equal to the name of the entry point.
        title: for people.
        options: the provider's own settings.
        key: what key it takes; None: none.
        free: calls cost nothing: the model runs on a machine of one's own.
        price_table: id of the provider in the table of prices that is bundled
            (``genai-prices``); empty: it is not in there.
        tells_prices: :meth:`models` gives ``rates``.
        trace_name: value of ``gen_ai.provider.name`` in traces, where OpenTelemetry knows the
            provider by another name; empty: ``name``.
        extra: what installs the packages that it needs;  modules: those that it imports.
        address_variables: variables of the environment that its SDK takes its address from.
        own_address: its address, where evalbench holds it; may have ``{parts}`` to fill. Empty:
            it has none of its own, and the user has to give one.
        own_headers, own_query: headers and query parameters of every request; values may refer
            to ``${VARIABLE}``.
        configured: it is a server that the user described.
        defaults: values of options and settings that such a description has.
        prices: prices by model that it has, as for ``--price``; ``*`` is every other model.
        price_source: where those prices come from, in the user's words.
        published: what the vendor says of limits and prices.
        batch_lacks: why it has no batches, where there is more to say than that.
        account: stands for the key where an SDK finds credentials itself: those who share an
            account share its limits. Empty: the key tells.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()
    key: ClassVar[KeyNeed | None] = None
    free: ClassVar[bool] = False
    price_table: ClassVar[str] = ""
    tells_prices: ClassVar[bool] = False
    trace_name: ClassVar[str] = ""
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

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None:
        """Build it in an engine or a preflight child.

        Args:
            settings: values of :attr:`options` by name, validated.
            secret: the key; empty for a provider without :attr:`key`.
        """
        self.settings = settings
        self.secret = secret.strip()

    @classmethod
    def address_in(cls, settings: Mapping[str, Any]) -> str:
        """The address that settings lead to, where parts of it are the user's own words."""
        return str(settings.get("base_url") or cls.own_address or "")

    @classmethod
    def batch_discount(cls, model: str) -> Literal["", "all", "uncached"]:
        """What costs half in batches where the bundled table of prices has no price of them:
        nothing, everything, or what is not read from a cache; as the provider's documents say."""
        return ""

    @classmethod
    def batches(cls) -> Literal["yes", "no", "tried"]:
        """Whether it takes batches; tried: the first one shows."""
        return "no"

    @classmethod
    def token_rules(cls, model: str) -> TokenRules:
        """How many input tokens texts, images and videos come to."""
        return TokenRules()

    @property
    def endpoint(self) -> str:
        """The address of the API as it is asked now; empty: there is none, or it is not known."""
        return ""

    def capabilities(self, model: str) -> Capabilities:
        """What ``model`` can be asked for; must not touch the network, or load it."""
        return Capabilities()

    def check_model(self, model: str) -> None:  # noqa: B027 - most know no list of all models
        """Refuse a model that cannot exist, without touching the network or loading it.

        Raises:
            NoSuchModel: with the nearest known names.
        """

    def param_notes(self, call: Call) -> Sequence[ParamNote] | None:
        """What would become of a call's parameters; touches no network. None: not known before.

        Raises:
            CallRejected: the parameters exclude one another, or the call cannot be asked here.
        """
        return None

    async def models(self) -> Sequence[ModelInfo]:
        """The models on offer."""
        return ()

    async def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release connections."""


class Provider(BaseProvider):
    """Answers calls over a network. Raises only :class:`ProviderError` subclasses.

    :meth:`answer` is all that a provider must have. One with an address of its own takes
    :data:`NETWORK_OPTIONS` among its options.
    """

    async def get_ready(self, call: Call) -> None:
        """Do what takes time before the first call leaves, such as importing an SDK.

        It is in no call's deadline, and may be called for every call.

        Raises:
            ProviderError: no call can be answered.
        """

    @abstractmethod
    async def answer(self, call: Call) -> Reply:
        """One attempt at one call. No retries, no hidden waiting.

        Sets ``limits`` on the reply, or on the error, when the provider told them.
        """

    async def check_key(self) -> str:
        """One line on what the key can see, by the cheapest real request.

        Raises:
            ProviderError: when the key does not work.
        """
        return f"{self.title} has no way to check a key"


class WorkerProvider(BaseProvider):
    """Runs a model in a worker process that speaks :mod:`evalbench.engine.calls.frames`."""

    free: ClassVar[bool] = True

    @abstractmethod
    def worker_command(self, model: str) -> WorkerCommand:
        """The process to start for ``model``."""

    @abstractmethod
    def load_request(self, model: str) -> dict[str, Any]:
        """The body of the worker's ``load`` frame."""

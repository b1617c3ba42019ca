"""Who answers: what the engine expects of a provider.

A provider is a class found through the entry point group
``evalbench.providers``. Importing its module must be cheap: no SDK, no torch.
The class is built only inside an engine or the desk, with its validated
options. Two shapes exist: one that answers calls over a network
(:class:`Provider`), and one whose model lives in a worker process on this
machine (:class:`WorkerProvider`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from evalbench.engine.calls.messages import Call
from evalbench.engine.calls.options import Option
from evalbench.engine.calls.replies import Reply


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
    """

    variables: tuple[str, ...]
    page: str = ""
    pattern: str = ""
    required: bool = True
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    profile: str = ""


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start a local worker: ``argv`` and additions to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


NETWORK_OPTIONS: tuple[Option, ...] = (
    Option("base_url", str, None, "another address of the API: a gateway, a proxy, a test server"),
    Option("timeout", float, 600.0, "seconds for one whole attempt at one call", minimum=1),
)
"""Options that every network provider takes."""

GATEWAY_OPTIONS: tuple[Option, ...] = (
    *NETWORK_OPTIONS,
    Option(
        "header",
        str,
        (),
        "a header of every request, 'NAME: VALUE', for gateways; ${VARIABLE} in it stands for a"
        " secret of the environment or of --env-file",
        many=True,
    ),
    Option(
        "query",
        str,
        (),
        "a query parameter of every request, NAME=VALUE, such as api-version=2024-10-21",
        many=True,
    ),
)
"""Options of providers whose requests may go through a gateway."""

PLACES = (
    *("base_url", "region", "profile", "project", "location", "endpoint", "account", "host"),
    *("workspace", "api_version", "header", "query"),
)
"""Names of options that say where a provider is asked, and as whom: also for its model list."""


@runtime_checkable
class Provider(Protocol):
    """Answers calls over a network. Raises only :class:`ProviderError` subclasses.

    Every one of them takes the options of :data:`NETWORK_OPTIONS` among its own.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    options: ClassVar[tuple[Option, ...]]
    key: ClassVar[KeyNeed | None]
    # Besides, ``address_variables``: environment variables that its SDK takes its address from;
    # ``tells_prices``: true where the model list has ``rates``; ``modules``: those that
    # it imports besides evalbench's own, and ``extra``: what installs them.

    def __init__(self, settings: Mapping[str, Any], secret: str = "") -> None: ...

    def capabilities(self, model: str) -> Capabilities:
        """What ``model`` can be asked for; must not touch the network."""

    def check_model(self, model: str) -> None:
        """Refuse a model that cannot exist, without touching the network.

        Raises:
            NoSuchModel: with the nearest known names.
        """

    async def models(self) -> Sequence[ModelInfo]:
        """The models on offer."""

    async def check_key(self) -> str:
        """One line on what the key can see, by the cheapest real request.

        Raises:
            ProviderError: when the key does not work.
        """

    async def answer(self, call: Call) -> Reply:
        """One attempt at one call. No retries, no hidden waiting.

        Sets ``limits`` on the reply, or on the error, when the provider told them.
        """

    async def close(self) -> None:
        """Release connections."""


@runtime_checkable
class WorkerProvider(Protocol):
    """Runs a model in a worker process that speaks :mod:`evalbench.engine.calls.frames`."""

    name: ClassVar[str]
    title: ClassVar[str]
    options: ClassVar[tuple[Option, ...]]

    def __init__(self, settings: Mapping[str, Any]) -> None: ...

    def capabilities(self, model: str) -> Capabilities:
        """What ``model`` can be asked for; must not load it."""

    def check_model(self, model: str) -> None:
        """Refuse a model that cannot exist here, without loading it.

        Raises:
            NoSuchModel: with the nearest known names.
        """

    async def models(self) -> Sequence[ModelInfo]:
        """The models known by name."""

    def worker_command(self, model: str) -> WorkerCommand:
        """The process to start for ``model``."""

    def load_request(self, model: str) -> dict[str, Any]:
        """The body of the worker's ``load`` frame."""

"""What all network providers share: one attempt at one call, reported truthfully."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Literal, TypeVar

from evalbench.engine.calls import (
    Call,
    Capabilities,
    GatewayOptions,
    ModelInfo,
    ParamNote,
    Provider,
    Reply,
)
from evalbench.engine.calls.options import record_of
from evalbench.engine.calls.secrets import filled, header, query, unbundled
from evalbench.engine.calls.token_rules import TokenRules
from evalbench.engine.compat import override
from evalbench.engine.errors import (
    CallRejected,
    ContextTooLong,
    DeadlineExceeded,
    NoSuchModel,
    ProviderError,
    RunFatal,
    ServerFault,
    TransientError,
    counted,
    nearest,
)
from evalbench.providers.modelfacts import (
    FactsResolver,
    ModelFacts,
    Refusals,
    Refused,
    other_provider,
)
from evalbench.providers.modelfacts.refusals import blamed
from evalbench.providers.modelfacts.token_rules import token_rules
from evalbench.providers.wire.address import Address
from evalbench.providers.wire.connection_made import new_attempt
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.failures import ProviderIdentity, may_be_billed, no_key, see_models
from evalbench.providers.wire.listing import keep_list, kept_list
from evalbench.providers.wire.negotiation import Terms
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.reply_scrubbing import SecretScrubber
from evalbench.providers.wire.transport import unreachable

_ASIDE_S = 3.0
"""Maximum wait for something that only improves a message or a decision."""
_LISTED_S = 60.0
"""Maximum wait for a list of models, or a word about a key."""

T = TypeVar("T")


class NetworkProvider(Provider):
    """Base class of the network providers.

    A provider defines how a call becomes a request (:meth:`prepared`), how it is sent
    (:meth:`send`) and how a response is read (:meth:`read`). Deadlines, learning from refused
    parameters and error handling are here. Its transport and its batches are objects of their own.
    """

    takes_batches: ClassVar[bool] = False
    """Whether :attr:`batch_api` has batches, as far as is known without settings."""

    def __init__(self, settings: Mapping[str, Any], secret: str, address: Address) -> None:
        key, found = unbundled(secret)
        super().__init__(settings, key)
        self.address = address
        self.scrub = SecretScrubber(key, *found.values())
        own = record_of(GatewayOptions, settings)
        given = [header(text) for text in own.header]
        asked = [query(text) for text in own.query]
        self.headers = {n: filled(v, found) for n, v in {**self.own_headers, **dict(given)}.items()}
        self.query = {n: filled(v, found) for n, v in {**self.own_query, **dict(asked)}.items()}
        self.facts = FactsResolver(self.name, address.host)
        self.refusals = Refusals(self.name, address.host)
        page = self.key.page if self.key else ""
        self.who = ProviderIdentity(self.name, self.title, page, address)
        self.timeout = own.timeout
        self.spoke = False
        self._warmed: set[str] = set()
        self._asides: dict[str, asyncio.Task[None]] = {}
        self._names: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.address.host}>"

    @property
    @abstractmethod
    def clients(self) -> OnePerLoop[Any]:
        """The clients that send requests."""

    @abstractmethod
    def prepared(self, call: Call, refused: Refused) -> Prepared:
        """The request for a call, given what the model refuses; does no I/O.

        Raises:
            CallRejected: the call cannot be expressed for this provider.
        """

    @abstractmethod
    def agreed(self, call: Call, facts: ModelFacts, refused: Refused) -> Terms:
        """The negotiated parameters of a call, cached for similar calls."""

    @abstractmethod
    async def send(self, prepared: Prepared) -> Answered:
        """Send a request and read the whole response, whatever its status."""

    @abstractmethod
    def read(self, answered: Answered, prepared: Prepared) -> Reply:
        """A response as a reply.

        Raises:
            ProviderError: the error that the response reports.
        """

    def known_as(self, call: Call) -> str:
        """The model's name among :attr:`facts` and :attr:`refusals`."""
        return wire_name(call)

    def prepare(self, call: Call) -> Prepared:
        """The request for a call, given what is known; raises as :meth:`prepared`."""
        return self.prepared(call, self.refusals.of(self.known_as(call)))

    def notes(self, call: Call) -> tuple[ParamNote, ...]:
        """How each requested parameter is handled; must be fast, as every result asks for it."""
        model = self.known_as(call)
        return self.agreed(call, self.facts.of(model), self.refusals.of(model)).notes

    @classmethod
    @override
    def batches(cls) -> Literal["yes", "no", "tried"]:
        return "yes" if cls.takes_batches else "no"

    def batched(self, model: str) -> bool:
        """Whether a model has batches, as far as is known by now."""
        return self.batch_api is not None and self.batch_api.terms(model) is not None

    @classmethod
    def token_rules(cls, model: str) -> TokenRules:
        """Token rules of the model's vendor: gateways and clouds serve models of all vendors."""
        return token_rules(model)

    @property
    def endpoint(self) -> str:
        """The address that requests go to."""
        return self.address.url

    def param_notes(self, call: Call) -> Sequence[ParamNote]:
        """How the request for a call handles its parameters."""
        return self.prepare(call).notes

    @abstractmethod
    @override
    def capabilities(self, model: str) -> Capabilities:
        """Must be implemented by the provider."""

    @abstractmethod
    async def fetch_models(self) -> list[ModelInfo]:
        """The live model list."""

    async def warm(self, model: str) -> None:
        """Fetch what the API itself reports about a model."""

    def check_model(self, model: str) -> None:
        """Reject impossible model names. Unknown names pass: catalogues change daily."""
        self.check_name(model)
        if self.address.official and (owner := other_provider(self.name, model)):
            raise NoSuchModel(
                f"{self.title} has no model {model!r}", hint=f"did you mean {owner}/{model}?"
            )

    @staticmethod
    def check_name(model: str) -> None:
        """Reject malformed names."""
        if not model.strip() or any(ord(letter) < 32 for letter in model):
            raise NoSuchModel(f"{model!r} is not the name of a model")

    def check_secret(self) -> None:
        """Fail before anything is sent if a required key is missing."""
        if self.key is not None and self.key.required and not self.secret:
            raise no_key(self.who)

    async def models(self) -> Sequence[ModelInfo]:
        """The live list; the copy on disk if the provider cannot be reached."""
        self.check_secret()
        try:
            listed = await self._asked(self._clean_list, "about its models")
        except TransientError:
            if copy := kept_list(self.name, self.address.host):
                return copy
            raise
        keep_list(self.name, self.address.host, listed)
        return listed

    async def _clean_list(self) -> list[ModelInfo]:
        """The live list without the key, in case the server echoes it."""
        listed = await self.fetch_models()
        fields = [asdict(model) for model in listed]
        clean = self.scrub.value(fields)
        return listed if clean is fields else [ModelInfo(**model) for model in clean]

    @override
    async def check_key(self) -> str:
        self.check_secret()
        return await self._asked(self.key_report, "about the key")

    async def key_report(self) -> str:
        """What the provider says of its key, for free: here that it lists its models."""
        listed = await self.fetch_models()
        return f"{self.title} accepts the key; it sees {counted(len(listed), 'model')}"

    async def _asked(self, work: Callable[[], Awaitable[T]], about: str) -> T:
        """Do what belongs to no call."""
        with self.scrub.errors():
            await self.clients.get()
            return await self.within(work(), about, min(self.timeout, _LISTED_S))

    async def within(
        self, request: Awaitable[T], about: str, limit_s: float, *, possibly_billed: bool = False
    ) -> T:
        """Await a request for something other than an answer, for a limited time.

        Args:
            request: what to await.
            about: what it is about, for the error.
            limit_s: the most seconds to wait.
            possibly_billed: whether it may have been billed when the time is over.

        Raises:
            DeadlineExceeded: the time is over.
        """
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                return await request
        except TimeoutError:
            if not deadline.expired():
                raise
            raise DeadlineExceeded(
                f"{self.title} said nothing {about} within {limit_s:g} s",
                hint="raise --timeout" if limit_s == self.timeout else "",
                possibly_billed=possibly_billed,
            ) from None

    @override
    async def close(self) -> None:
        for task in self._asides.values():
            task.cancel()
        await self.clients.close()

    @override
    async def answer(self, call: Call) -> Reply:
        """A 400 that blames a parameter is remembered, and the call is sent again without it. Each
        such step removes a parameter, so there are never more steps than parameters.
        """
        await self.get_ready(call)
        name = wire_name(call)
        attempt = new_attempt()
        deadline = asyncio.timeout(self.timeout)
        try:
            async with deadline:
                with self.scrub.errors():
                    return self.scrub.reply(await self.attempt(call))
        except TimeoutError:
            if not deadline.expired():
                raise
            if attempt.reached is False:
                why = f"no connection within {self.timeout:g} s"
                raise unreachable(self.title, self.address, why) from None
            raise DeadlineExceeded(
                f"{self.title} gave no whole answer within {self.timeout:g} s",
                hint="raise --timeout, or lower --max-tokens",
                possibly_billed=True,
            ) from None
        except NoSuchModel as error:
            raise await self._with_nearest(error, name) from None

    async def get_ready(self, call: Call) -> None:
        """Do slow preparation once before the first call, outside of any deadline.

        An SDK takes seconds to import, and some APIs are queried about the model.
        """
        self.check_secret()
        if self.clients.here() is None:
            with self.scrub.errors():
                await self.clients.get()
        name = wire_name(call)
        if name not in self._warmed:
            await self._aside(f"warm {name}", lambda: self.warm(name))
            self._warmed.add(name)

    async def attempt(self, call: Call) -> Reply:
        """Send a call, again for each parameter that the provider refuses."""
        prepared = self.prepare(call)
        while True:
            answered = await self.send(prepared)
            try:
                reply = self.read(answered, prepared)
            except (CallRejected, NoSuchModel) as error:
                again = self._without_blamed(error, prepared, call)
                if again is None:
                    raise
                prepared = again
                continue
            except RunFatal as error:
                raise self.if_it_spoke(error) from None
            self.spoke = True
            return reply

    def _without_blamed(
        self, error: ProviderError, prepared: Prepared, call: Call
    ) -> Prepared | None:
        """The request without the field that a 400 blames; None if it blames none."""
        if error.status not in (400, 422) or isinstance(error, ContextTooLong):
            return None
        found = blamed(prepared.negotiable, error.param, error.why)
        if found is None:
            return None
        one, value_only = found
        self.refusals.learn(prepared.model, one, error.why, value_only=value_only)
        again = self.prepare(call)
        return None if one in again.negotiable else again

    def if_it_spoke(self, error: ProviderError) -> ProviderError:
        """An address that responded properly before has a temporary problem; it is not wrong."""
        if type(error) is not RunFatal or not self.spoke:
            return error
        return ServerFault(
            f"{self.title} sent something that is not its protocol",
            why=error.why,
            status=error.status,
            # A web page instead of an answer: the work may still have been done behind the sender.
            possibly_billed=200 <= (error.status or 0) < 300 or may_be_billed(error.status or 0),
            body=error.body,
            request_id=error.request_id,
        )

    async def _aside(self, key: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do side work once, however many calls wait for it, and for a few seconds at most."""

        async def guarded() -> None:
            with contextlib.suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(_ASIDE_S):
                    await work()

        task = self._asides.get(key)
        if task is None:
            task = self._asides[key] = asyncio.ensure_future(guarded())
        if not task.done():
            await asyncio.shield(task)

    async def _with_nearest(self, error: NoSuchModel, model: str) -> NoSuchModel:
        """The error with similar model names, if the list is quickly available.

        A hint derived from the provider's own message is kept.
        """
        if error.hint != see_models(self.who):
            return error
        await self._aside("names", self._learn_names)
        facts = self.facts.of(model)
        if facts.retires and facts.retires <= time.strftime("%Y-%m-%d"):
            error.what = f"{self.title} retired the model {model!r} on {facts.retires}"
            if facts.successor:
                error.hint = f"its successor is {facts.successor}"
        elif model not in self._names and (hint := nearest(model, self._names)):
            error.hint = hint
        return error

    async def _learn_names(self) -> None:
        self._names = [listed.name for listed in await self.fetch_models()]


def wire_name(call: Call) -> str:
    """The model's name as the provider knows it, where ``@`` is part of the name."""
    model = call.model
    return f"{model.name}@{model.revision}" if model.revision else model.name

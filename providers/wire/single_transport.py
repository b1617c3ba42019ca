"""Providers with a single transport: an SDK client, or plain HTTP."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from evalbench.engine.compat import override
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.provider import NetworkProvider
from evalbench.providers.wire.streams import FileCarrier


class Carrier(FileCarrier, Protocol):
    """A transport: sends requests and files, and fetches them."""

    @property
    def clients(self) -> OnePerLoop[Any]:
        """Sends requests."""
        ...

    async def post(self, prepared: Prepared) -> Answered:
        """Send a request; raises ProviderError if no complete response arrived."""
        ...

    async def fetch(self, path: str) -> Answered:
        """GET a path; raises as :meth:`post`."""
        ...


class CarriedProvider(NetworkProvider):
    """Base class of providers that reach their API through a single transport."""

    @property
    @abstractmethod
    def carrier(self) -> Carrier:
        """The transport for requests and files."""

    @property
    @override
    def clients(self) -> OnePerLoop[Any]:
        return self.carrier.clients

    @override
    async def send(self, prepared: Prepared) -> Answered:
        return await self.carrier.post(prepared)

    async def get(self, path: str) -> Answered:
        """GET a path below the address, whatever the response's status."""
        return await self.carrier.fetch(path)

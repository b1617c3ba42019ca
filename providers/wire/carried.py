"""Providers whose requests one carrier takes: an SDK's client, or plain HTTP."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from evalbench.engine.compat import override
from evalbench.providers.wire.exchange import Answered, Prepared
from evalbench.providers.wire.per_loop import OnePerLoop
from evalbench.providers.wire.provider import NetworkProvider
from evalbench.providers.wire.streams import FileCarrier


class Carrier(FileCarrier, Protocol):
    """Sends requests and files, and fetches them."""

    @property
    def clients(self) -> OnePerLoop[Any]:
        """What requests go through."""

    async def post(self, prepared: Prepared) -> Answered:
        """Send a request; raises ProviderError when no complete response came back."""

    async def fetch(self, path: str) -> Answered:
        """Fetch a path; raises as :meth:`post`."""


class CarriedProvider(NetworkProvider):
    """Base of the providers that reach their API by a carrier alone."""

    @property
    @abstractmethod
    def carrier(self) -> Carrier:
        """Carries requests and files."""

    @property
    @override
    def clients(self) -> OnePerLoop[Any]:
        return self.carrier.clients

    @override
    async def send(self, prepared: Prepared) -> Answered:
        return await self.carrier.post(prepared)

    async def get(self, path: str) -> Answered:
        """Fetch a path below the address, whatever the status of the response."""
        return await self.carrier.fetch(path)

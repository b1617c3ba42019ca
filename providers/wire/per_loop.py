"""One client per event loop.

Every async HTTP client is tied to the loop it first ran in; used in a second loop, it fails on the
first call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OnePerLoop(Generic[T]):
    """Makes a client on first use in a loop, once, however many calls wait for it."""

    def __init__(
        self, make: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[None]]
    ) -> None:
        self._make = make
        self._close = close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._making: asyncio.Future[T] | None = None

    def here(self) -> T | None:
        """The running loop's client, if there is one."""
        making = self._making
        if making is None or not making.done() or self._loop is not asyncio.get_running_loop():
            return None
        failed = making.cancelled() or making.exception() is not None
        return None if failed else making.result()

    async def get(self) -> T:
        """The running loop's client, made if necessary."""
        if (client := self.here()) is not None:
            return client
        loop = asyncio.get_running_loop()
        if self._making is None or self._loop is not loop:
            # A client of another loop is dropped: only that loop could close it.
            self._loop = loop
            self._making = asyncio.ensure_future(self._make())
        making = self._making
        if making.done():
            # It failed before: this call reports why, the next one tries again.
            self._making = None
        # Shielded: cancelling one call must not cancel the client for the others.
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Close the running loop's client, if there is one."""
        making, self._making = self._making, None
        if making is None or self._loop is not asyncio.get_running_loop():
            return
        if not making.done():
            making.cancel()
        elif not making.cancelled() and making.exception() is None:
            await self._close(making.result())

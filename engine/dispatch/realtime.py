"""Answers calls over a provider's network API, as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Call, Provider, Reply
from evalbench.engine.dispatch.base import Halted, Report, failed_reply
from evalbench.engine.dispatch.retry import wait_before_retry
from evalbench.engine.errors import ProviderError, RunFatal

DEFAULT_CONCURRENCY = 16


class Slots:
    """A counting gate whose size can change while it is in use."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> None:
        while self.taken >= self.size:
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(ready)
            try:
                await ready
            except asyncio.CancelledError:
                if ready.done() and not ready.cancelled():
                    self._wake()
                raise
        self.taken += 1

    async def __aexit__(self, *_: object) -> None:
        self.taken -= 1
        self._wake()

    def resize(self, size: int) -> None:
        """Let ``size`` holders in from now on; those inside stay."""
        self.size = size
        for _ in range(size - self.taken):
            self._wake()

    def _wake(self) -> None:
        while self._waiting:
            ready = self._waiting.pop(0)
            if not ready.done():
                ready.set_result(None)
                return


class Realtime:
    """Dispatcher for network providers: bounded concurrency, retries by class.

    A waiting call holds no slot, so one call's Retry-After delays nobody else.
    """

    def __init__(
        self, provider: Provider, *, concurrency: int | None, attempts: int, report: Report
    ) -> None:
        self.window = 2 * (concurrency or DEFAULT_CONCURRENCY)
        self._provider = provider
        self._slots = Slots(concurrency or DEFAULT_CONCURRENCY)
        self._attempts = attempts
        self._report = report
        self._waiting = 0
        self._retries = 0
        self._halted = asyncio.Event()

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        attempt = 0
        billed = False
        while True:
            attempt += 1
            async with self._slots:
                if self._halted.is_set():
                    raise Halted
                if attempt == 1:
                    await before_send()
                started = time.perf_counter()
                try:
                    reply = await self._provider.answer(call)
                    latency = reply.latency_s or time.perf_counter() - started
                    return replace(
                        reply, attempts=attempt, latency_s=latency, possibly_billed=billed
                    )
                except RunFatal:
                    raise
                except ProviderError as error:
                    failure = error
            billed = billed or failure.possibly_billed
            pause = wait_before_retry(failure, attempt, self._attempts)
            if pause is None:
                failure.possibly_billed = billed
                return failed_reply(failure, attempt)
            self._report(
                "wait",
                reason=type(failure).__name__,
                what=failure.what,
                asked=failure.retry_after,
            )
            self._retries += 1
            self._waiting += 1
            try:
                await asyncio.wait_for(self._halted.wait(), pause)
            except TimeoutError:
                continue
            finally:
                self._waiting -= 1
            raise Halted

    def halt(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._halted.set()

    def set_concurrency(self, calls: int) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self.window = 2 * calls
        self._slots.resize(calls)

    def gauges(self) -> dict[str, Any]:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        return {
            "in_flight": self._slots.taken,
            "concurrency": self._slots.size,
            "waiting": self._waiting,
            "retries": self._retries,
        }

    async def close(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        await self._provider.close()

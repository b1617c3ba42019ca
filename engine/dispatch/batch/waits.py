"""The waits in a batch's life. Each can be cut short, and none is made where nobody wants to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.circuit_breaker import (
    LONGEST_PROBE_WAIT_S,
    LONGEST_S,
    is_provider_down,
)
from evalbench.engine.dispatch.retry import (
    LONGEST_RETRY_AFTER_S,
    RetryPolicy,
    wait_too_long,
)
from evalbench.engine.errors import ProviderError, TransientError

T = TypeVar("T")

QUEUE_FULL_S = 60.0
LONGEST_QUEUE_S = 600.0
_UNREACHED_PAUSE_S = 2.0


class Abandoned(Exception):
    """Nothing more can be done for this batch now."""


class Waits:
    """How one batch waits."""

    def __init__(self, context: BatchContext) -> None:
        self._context = context
        self._look = asyncio.Event()
        self._without_answer_s = 0.0

    def cut_short(self) -> None:
        """End the wait that is going on, if any."""
        self._look.set()

    def unless_halted(self) -> None:
        """Before something is sent.

        Raises:
            Abandoned: the run is stopping.
        """
        if self._context.halted.is_set():
            raise Abandoned

    async def patiently(self, step: Callable[[], Awaitable[T]]) -> T:
        """A step that may be taken twice, until it works or there is no use in trying.

        Raises:
            ProviderError: the last failure.
        """
        retry_policy = RetryPolicy(self._context.attempts)
        while True:
            try:
                self._context.contact.begin()
                done = await step()
                self._context.contact.made = True
                return done
            except TransientError as error:
                await self.after(error, retry_policy)

    async def after(self, error: TransientError, retry_policy: RetryPolicy) -> None:
        """Wait before the next try; for a provider that is down as long as calls do.

        Raises:
            TransientError: there is no use in another; the one that was given.
            QuotaExhausted: the provider asks to wait for too long.
            RunFatal: the server was never reached.
        """
        if self.unreached(error):
            await self.pause(_UNREACHED_PAUSE_S)
            return
        pause = retry_policy.wait(error)
        if pause is None and is_provider_down(error) and not self._context.leave:
            pause = max(LONGEST_PROBE_WAIT_S, error.retry_after or 0.0)
        if pause is None or self._without_answer_s + pause > LONGEST_S:
            asked = error.retry_after or 0.0
            raise wait_too_long(error) if asked > LONGEST_RETRY_AFTER_S else error
        self._without_answer_s += pause
        await self.told(error, pause)

    def unreached(self, error: TransientError) -> bool:
        """Whether the server was not reached once so far.

        Raises:
            RunFatal: it was tried for long enough.
        """
        contact = self._context.contact
        if contact.missed(error):
            contact.left(error)
            return True
        contact.made = True
        return False

    async def told(self, error: ProviderError, seconds: float) -> None:
        """Say why the next step waits, and wait so long."""
        self._context.report("wait", reason=type(error).__name__, what=error.what)
        await self.pause(seconds)

    async def for_queue(self, times: int) -> None:
        """Wait until the provider may have room, longer after each refusal.

        Raises:
            Abandoned: nobody wants to wait.
        """
        await self.later(min(LONGEST_QUEUE_S, QUEUE_FULL_S * 2.0**times))

    async def later(self, seconds: float) -> None:
        """Wait for the provider.

        Raises:
            Abandoned: nobody wants to wait.
        """
        if self._context.leave:
            raise Abandoned
        await self.pause(seconds)

    async def pause(self, seconds: float) -> None:
        """Wait, whoever wants to; :meth:`cut_short` ends it."""
        self._look.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return

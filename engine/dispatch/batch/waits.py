"""The waits in a batch's lifecycle. Each can be interrupted, or skipped by engines not waiting."""

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
    """The waits of one batch."""

    def __init__(self, context: BatchContext) -> None:
        self._context = context
        self._look = asyncio.Event()
        self._without_answer_s = 0.0

    def cut_short(self) -> None:
        """Interrupt the current wait, if any."""
        self._look.set()

    def unless_halted(self) -> None:
        """Check before sending anything.

        Raises:
            Abandoned: the run is stopping.
        """
        if self._context.halted.is_set():
            raise Abandoned

    async def patiently(self, step: Callable[[], Awaitable[T]]) -> T:
        """Repeat a step that is safe to repeat, until it works or retrying is pointless.

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
        """Wait before the next attempt; if the provider is down, as long as calls would.

        Raises:
            TransientError: retrying is pointless; this is ``error`` itself.
            QuotaExhausted: the provider asks to wait too long.
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
        await self.report(error, pause)

    def unreached(self, error: TransientError) -> bool:
        """Whether the server has never been reached so far.

        Raises:
            RunFatal: it has been tried for long enough.
        """
        contact = self._context.contact
        if contact.missed(error):
            contact.left(error)
            return True
        contact.made = True
        return False

    async def report(self, error: ProviderError, seconds: float) -> None:
        """Report why the next step waits, and wait that long."""
        self._context.report("wait", reason=type(error).__name__, what=error.what)
        await self.pause(seconds)

    async def for_queue(self, times: int) -> None:
        """Wait until the provider may have room, longer after each refusal.

        Raises:
            Abandoned: this engine does not wait.
        """
        await self.later(min(LONGEST_QUEUE_S, QUEUE_FULL_S * 2.0**times))

    async def later(self, seconds: float) -> None:
        """Wait for the provider.

        Raises:
            Abandoned: this engine does not wait.
        """
        if self._context.leave:
            raise Abandoned
        await self.pause(seconds)

    async def pause(self, seconds: float) -> None:
        """Wait unconditionally; :meth:`cut_short` ends it."""
        self._look.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return

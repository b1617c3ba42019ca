"""The waits in a batch's life. Each can be cut short, and none is made where nobody wants to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from evalbench.engine.dispatch.batch.shared import Shared
from evalbench.engine.dispatch.outage import (
    LONGEST_KNOCK_S,
    LONGEST_S,
    never_connected,
    says_nobody_is_there,
)
from evalbench.engine.dispatch.retry import (
    LONGEST_RETRY_AFTER_S,
    Patience,
    too_long_a_wait,
)
from evalbench.engine.errors import ProviderError, TransientError

T = TypeVar("T")

QUEUE_FULL_S = 60.0
LONGEST_QUEUE_S = 600.0
_UNREACHED_PAUSE_S = 2.0


class Left(Exception):
    """Nothing more can be done for this batch now."""


class Waits:
    """How one batch waits."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._look = asyncio.Event()
        self._without_answer_s = 0.0

    def cut_short(self) -> None:
        """End the wait that is going on, if any."""
        self._look.set()

    def unless_halted(self) -> None:
        """Before something is sent.

        Raises:
            Left: the run is stopping.
        """
        if self._shared.halted.is_set():
            raise Left

    async def patiently(self, step: Callable[[], Awaitable[T]]) -> T:
        """A step that may be taken twice, until it works or there is no use in trying.

        Raises:
            ProviderError: the last failure.
        """
        patience = Patience(self._shared.attempts)
        while True:
            try:
                self._shared.contact.begin()
                done = await step()
                self._shared.contact.made = True
                return done
            except TransientError as error:
                await self.after(error, patience)

    async def after(self, error: TransientError, patience: Patience) -> None:
        """Wait before the next try; for a provider that is down as long as calls do.

        Raises:
            TransientError: there is no use in another; the one that was given.
            QuotaExhausted: the provider asks to wait for too long.
            RunFatal: the server was never reached.
        """
        if self.unreached(error):
            await self.pause(_UNREACHED_PAUSE_S)
            return
        pause = patience.wait(error)
        if pause is None and says_nobody_is_there(error) and not self._shared.leave:
            pause = max(LONGEST_KNOCK_S, error.retry_after or 0.0)
        if pause is None or self._without_answer_s + pause > LONGEST_S:
            asked = error.retry_after or 0.0
            raise too_long_a_wait(error) if asked > LONGEST_RETRY_AFTER_S else error
        self._without_answer_s += pause
        await self.told(error, pause)

    def unreached(self, error: TransientError) -> bool:
        """Whether the server was not reached once so far; says so the first time.

        Raises:
            RunFatal: it was tried for long enough.
        """
        contact = self._shared.contact
        if contact.made or not never_connected(error):
            contact.made = True
            return False
        left = contact.left(error)
        if not contact.told:
            contact.told = True
            until = round(time.time() + left)
            self._shared.report("server-unreached", what=error.what, why=error.why, until=until)
        return True

    async def told(self, error: ProviderError, seconds: float) -> None:
        """Say why the next step waits, and wait so long."""
        self._shared.report("wait", reason=type(error).__name__, what=error.what)
        await self.pause(seconds)

    async def for_queue(self, times: int) -> None:
        """Wait until the provider may have room, longer after each refusal.

        Raises:
            Left: nobody wants to wait.
        """
        await self.later(min(LONGEST_QUEUE_S, QUEUE_FULL_S * 2.0**times))

    async def later(self, seconds: float) -> None:
        """Wait for the provider.

        Raises:
            Left: nobody wants to wait.
        """
        if self._shared.leave:
            raise Left
        await self.pause(seconds)

    async def pause(self, seconds: float) -> None:
        """Wait, whoever wants to; :meth:`cut_short` ends it."""
        self._look.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._look.wait()
        except TimeoutError:
            return

"""Answers calls over a provider's network API, as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from evalbench.engine.calls import Call, MediaPart, Provider, Reply
from evalbench.engine.dispatch.base import ZERO, BudgetSpent, Halted, Report, failed_reply
from evalbench.engine.dispatch.limits import Limiter
from evalbench.engine.dispatch.retry import Patience
from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.money.budget import BudgetReached, Ticket
from evalbench.engine.money.purse import Purse

_MOST_IN_WORK = 4096


class Realtime:
    """Dispatcher for network providers: the limiter says when, the patience how often.

    A waiting call holds no place, so one call's Retry-After delays nobody else.
    """

    def __init__(
        self,
        provider: Provider,
        limiter: Limiter,
        purse: Purse,
        *,
        attempts: int,
        report: Report,
    ) -> None:
        self._provider = provider
        self._purse = purse
        self._limiter = limiter
        self._attempts = attempts
        self._report = report
        self._waiting = 0
        self._retries = 0
        self._halted = asyncio.Event()
        self.ready_at = time.monotonic()

    @property
    def window(self) -> int:
        """Twice what may be in flight, and those that wait for another try."""
        return min(_MOST_IN_WORK, 2 * self._limiter.slots.size + self._waiting)

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        patience = Patience(self._attempts)
        weight = _bytes(call)
        billed = False
        possible = ZERO
        attempt = 0
        while True:
            attempt += 1
            async with self._limiter.turn(weight, unless=self._halted):
                if self._halted.is_set():
                    raise Halted
                ticket = await self._admit(call)
                if self._halted.is_set():
                    self._purse.cut(ticket, sent=False)
                    raise Halted
                sent = attempt > 1
                try:
                    if not sent:
                        await before_send()
                        sent = True
                    started = time.perf_counter()
                    reply = await self._provider.answer(call)
                except ProviderError as error:
                    failure = error
                    possible += self._purse.failed(ticket, failure)
                    if isinstance(failure, RunFatal):
                        raise
                    self._limiter.refused(failure)
                except BaseException:
                    # Cut from outside, by a stop after its grace; or never sent.
                    self._purse.cut(ticket, sent=sent)
                    raise
                else:
                    self._limiter.succeeded(reply.limits)
                    return replace(
                        reply,
                        attempts=attempt,
                        latency_s=reply.latency_s or time.perf_counter() - started,
                        possibly_billed=billed,
                        cost=self._purse.answered(ticket, reply),
                        possible_cost=possible,
                    )
            billed = billed or failure.possibly_billed
            pause = patience.wait(failure)
            if pause is None:
                failure.possibly_billed = billed
                return failed_reply(failure, attempt, possible)
            await self._wait(failure, pause)

    async def _admit(self, call: Call) -> Ticket:
        try:
            return await self._purse.admit(call)
        except BudgetReached as reached:
            self._report(
                "budget-reached", next_call_usd=str(reached.worst), left_usd=str(reached.left)
            )
            raise BudgetSpent from None

    async def _wait(self, failure: ProviderError, pause: float) -> None:
        self._report(
            "wait", reason=type(failure).__name__, what=failure.what, asked=failure.retry_after
        )
        self._retries += 1
        self._waiting += 1
        try:
            await asyncio.wait_for(self._halted.wait(), pause)
        except TimeoutError:
            return
        finally:
            self._waiting -= 1
        raise Halted

    def halt(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._halted.set()

    def set_concurrency(self, calls: int) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        self._limiter.resize(calls)

    def gauges(self) -> dict[str, Any]:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        slots = self._limiter.slots
        return {
            "in_flight": slots.taken,
            "concurrency": slots.size,
            "waiting": self._waiting,
            "retries": self._retries,
            "paused_s": round(self._limiter.paused_for(), 1),
            "paused_why": self._limiter.why if self._limiter.paused_for() else "",
        }

    async def close(self) -> None:
        """See :class:`evalbench.engine.dispatch.base.Dispatcher`."""
        await self._provider.close()


def _bytes(call: Call) -> int:
    """Bytes of media in a call, as they travel (base64)."""
    total = 0
    for message in call.prompt.messages:
        for part in message.parts:
            if isinstance(part, MediaPart):
                total += len(part.data) * 4 // 3
    return total

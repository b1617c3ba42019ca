"""Answers calls over a provider's network API as they come."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from decimal import Decimal

from evalbench.engine.calls import Call, MediaPart, Provider, RateLimits, Reply
from evalbench.engine.cost.budget import Reservation
from evalbench.engine.cost.meter import CostMeter
from evalbench.engine.dispatch.base import ZERO, Halted, Report, SendLog, failed_reply
from evalbench.engine.dispatch.budget_gate import BudgetGate
from evalbench.engine.dispatch.circuit_breaker import CircuitBreaker, is_provider_down
from evalbench.engine.dispatch.limiter import Limiter
from evalbench.engine.dispatch.retry import RetryPolicy, requested_wait
from evalbench.engine.dispatch.single_flight import Flight, SingleFlight
from evalbench.engine.errors import ProviderError, RunFatal
from evalbench.engine.record_schemas import Gauges

_MOST_IN_WORK = 4096
_USUAL_REPLY = 512
"""Assumed tokens of a reply without a cap."""


@dataclass(slots=True)
class _Attempts:
    """The attempts at one call."""

    before_send: SendLog
    weight: int
    prefix: str
    attempts: int = 0
    begun: bool = False
    billed: bool = False
    possible: Decimal = ZERO
    waited: float = 0.0

    def ended(self, *, possibly_billed: bool = False) -> None:
        """Record that the call is not in flight."""
        if self.begun:
            self.before_send.ended(possibly_billed=possibly_billed)


class RealtimeDispatcher:
    """Dispatcher for network providers: the limiter decides when, the retry policy how often.

    A waiting call holds no permit, so one call's Retry-After does not delay the others.
    """

    def __init__(
        self,
        provider: Provider,
        limiter: Limiter,
        meter: CostMeter,
        *,
        attempts: int,
        report: Report,
        wait_s: float | None = None,
    ) -> None:
        """``wait_s``: seconds to keep trying a server never reached; None for a short default."""
        self.provider = provider
        self.meter = meter
        self._limiter = limiter
        self.attempts = attempts
        self._report = report
        self._waiting = 0
        self._retries = 0
        self._budget_gate = BudgetGate(meter.budget, report)
        self._breaker = CircuitBreaker(report, wait_s)
        self._halted = asyncio.Event()
        self._ready = False
        self._single_flight = SingleFlight(provider.capabilities, report)
        self.ready_at = time.monotonic()

    @property
    def window(self) -> int:
        """Twice the concurrency, plus calls waiting for a retry or a warm cache."""
        twice = 2 * self._limiter.semaphore.size
        return min(_MOST_IN_WORK, twice + self._waiting + min(twice, self._single_flight.waiting))

    async def answer(self, call: Call, key: str, before_send: SendLog) -> Reply:
        """The final reply to one call, after any retries."""
        if not self._ready:
            await self._get_ready(call)
        if self._limiter.wants_sizes:
            self._limiter.expect(_tokens(call))
        retry_policy = RetryPolicy(self.attempts)
        tried = _Attempts(before_send, _bytes(call), self._single_flight.name_of(call))
        while True:
            try:
                if not tried.prefix:
                    return await self._attempt(call, tried, None)
                async with self._single_flight.turn(call, tried.prefix) as turn:
                    return await self._attempt(call, tried, turn)
            except RunFatal:
                raise
            except ProviderError as error:
                failure = error
            tried.billed = tried.billed or failure.possibly_billed
            if self._breaker.on and is_provider_down(failure):
                continue
            pause = requested_wait(failure, tried.waited)
            if pause is not None:
                tried.waited += pause
            else:
                pause = retry_policy.wait(
                    failure, answering=self._limiter.answering, steered=self._limiter.steered
                )
            if pause is None:
                failure.possibly_billed = tried.billed
                return failed_reply(failure, tried.attempts, tried.possible)
            await self._wait(failure, pause)

    async def _get_ready(self, call: Call) -> None:
        """Let the provider get ready before the first call takes its turn.

        Otherwise calls would take their turns while it does, and then all be sent at once. Not
        every plug-in needs to prepare.
        """
        await self.provider.get_ready(call)
        self._ready = True

    async def _attempt(self, call: Call, tried: _Attempts, warm: Flight | None) -> Reply:
        """One attempt, from waiting for a permit to settling its cost."""
        tried.attempts += 1
        async with (
            self._limiter.turn(tried.weight, unless=self._halted) as permit,
            self._breaker.turn(call, unless=self._halted) as waited,
        ):
            if waited:
                # Those that were held back during an outage are not sent all at once.
                await self._limiter.until_allowed(self._halted)
            reservation = await self._admitted(call, tried)
            permit.sent()
            try:
                clock = asyncio.get_running_loop().time
                started, left = time.perf_counter(), clock()
                reply = await self.provider.answer(warm.leaves() if warm else call)
            except ProviderError as failure:
                tried.ended(possibly_billed=failure.possibly_billed)
                tried.possible += self.meter.failed(reservation, failure)
                if not isinstance(failure, RunFatal) and not self._breaker.on:
                    self._limiter.refused(failure)
                raise
            except BaseException:
                # Cancelled from outside, by a stop after its grace period.
                self.meter.cut(reservation, sent=True)
                raise
            if warm:
                warm.answered()
            seconds, used = clock() - left, reply.usage
            tokens = (used.input_tokens or 0) + (used.output_tokens or 0)
            self._limiter.succeeded(reply.limits, seconds, tokens)
            return reply.settled(
                attempts=tried.attempts,
                latency_s=reply.latency_s or time.perf_counter() - started,
                possibly_billed=tried.billed,
                cost=self.meter.answered(reservation, reply),
                possible_cost=tried.possible,
            )

    async def _admitted(self, call: Call, tried: _Attempts) -> Reservation:
        """The reservation of an attempt that may be sent now; the attempt is recorded."""
        while True:
            if self._halted.is_set():
                raise Halted
            reservation = self.meter.reservation(call)
            if not self.meter.budget.admit_now(reservation):
                self._limiter.unfunded += 1
                try:
                    await self._budget_gate.admit(reservation)
                finally:
                    self._limiter.unfunded -= 1
            try:
                if self._halted.is_set():
                    raise Halted
                if tried.begun:
                    await tried.before_send.again()
                else:
                    tried.begun = True
                    await tried.before_send()
            except BaseException:
                tried.ended()
                self.meter.cut(reservation, sent=False)
                raise
            if not self.meter.budget.overdrawn:
                return reservation
            # Meanwhile a reply arrived that cost more than its worst case.
            tried.ended()
            self.meter.cut(reservation, sent=False)

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
        """Send nothing more: calls that are not in flight raise :class:`Halted`."""
        self._halted.set()
        self.meter.budget.withdraw()
        self._limiter.wake()
        self._breaker.wake()
        self._single_flight.halt()

    def set_concurrency(self, calls: int | None) -> None:
        """Change the number of calls in flight, live; None for adaptive."""
        self._limiter.resize(calls)

    def gauges(self) -> Gauges:
        """Numbers for display: in flight, waiting, memory and so on."""
        slots = self._limiter.semaphore
        self._limiter.share()
        paused = max(self._limiter.paused_for(), self._breaker.paused_for())
        why = self._breaker.why if self._breaker.on else self._limiter.why if paused else ""
        return {
            "in_flight": self._limiter.in_flight,
            "concurrency": slots.size,
            "fixed": self._limiter.fixed,
            "limited_by": "" if paused or self._breaker.on else self._limiter.limited_by,
            "rate_limit": self._limiter.rate_limit,
            "unfunded": self._limiter.unfunded,
            "waiting": self._waiting,
            "retries": self._retries,
            "down": self._breaker.on,
            "paused_s": round(paused, 1),
            "paused_why": why,
            "headroom": _headroom(self._limiter.reported),
        }

    async def close(self) -> None:
        """Release all resources. Calls still in flight are cut off."""
        self._limiter.close()
        await self.provider.close()


def _headroom(limits: RateLimits | None) -> dict[str, list[int | None]]:
    """What the provider said is left of each limit, and the limit, by what it counts."""
    if limits is None:
        return {}
    found: dict[str, list[int | None]] = {
        "requests": [limits.requests_remaining, limits.requests_limit],
        "tokens": [limits.tokens_remaining, limits.tokens_limit],
    }
    return {what: pair for what, pair in found.items() if pair[0] is not None}


def _tokens(call: Call) -> float:
    """Rough maximum tokens of a call: four characters of prompt per token, plus its cap."""
    letters = sum(len(message.text) for message in call.prompt.messages)
    return letters / 4 + (call.prompt.params.max_tokens or _USUAL_REPLY)


def _bytes(call: Call) -> int:
    """Bytes of media in a call, base64-encoded."""
    total = 0
    for message in call.prompt.messages:
        for part in message.parts:
            if isinstance(part, MediaPart):
                total += len(part.data) * 4 // 3
    return total

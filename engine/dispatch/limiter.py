"""Decides when a call may be sent: concurrency, request rate, and pauses set by the provider.

One limiter serves one key and model within an engine; engines that use the same key on the
same machine share its pauses, its ``--qps``, its ``--tpm`` and their adaptive concurrency
through a small locked file (:mod:`evalbench.engine.dispatch.shared_limits`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque
from math import inf, log

from evalbench.engine.calls import RateLimits
from evalbench.engine.dispatch.headroom import Headroom
from evalbench.engine.dispatch.load_trial import TOLERATED
from evalbench.engine.dispatch.number_limit import Sent
from evalbench.engine.dispatch.resizable_semaphore import ResizableSemaphore
from evalbench.engine.dispatch.retry import LONGEST_OUTAGE_S
from evalbench.engine.dispatch.shared_limits import BURST_S, MOST, SharedLimits
from evalbench.engine.dispatch.steering import SHRINK, Refusal, Steering
from evalbench.engine.errors import Overloaded, ProviderError, RateLimited

START = 6
GENTLE_STEP_S = 2.0
"""Seconds between steps of a gentle rise, each of one call or a tenth of the current size."""
GENTLE_HOLD_S = 10.0
"""Seconds for which it holds its load steady after a refusal."""
_LAST = 20
_SHARE_S = 0.25
_MOMENT_S = 0.001
_LOOK_S = 0.05
_DOUBLES_S = 1.0
"""How long the first calls in flight take to double while none is refused or answered."""
_UNANSWERED = 16
"""Most calls in flight before the first answers show that they are not only queued."""
_NEARLY_ALL = 0.9
_LONGEST_QUEUE_S = 120.0
"""Calls queue for no longer than this at the rate of answers so far."""
_WEIGHT = 0.1
"""Weight of the latest reply in the moving average of tokens."""


class Limiter:
    """Adaptive concurrency (unless fixed), pauses, and a steady request rate.

    A fixed size never changes. Otherwise it starts small, grows by one per accepted call while
    calls wait for it and for nothing else (doubling each round, or each second if answers take
    longer) until too many are refused, and is steered after that
    (:mod:`evalbench.engine.dispatch.steering`). The permit of a refused call stays unused until
    calls of the same age are known to be accepted: otherwise refusals, which come back at once,
    would be retried many times as often. The whole key pauses only when the provider reports that
    nothing is left, or when most of the recent calls were refused.

    A gentle limiter is for limits that a steady load raises and a burst does not. It starts
    with one call, at most doubles each round, and takes at least 14 seconds to double. While
    the provider has no capacity it keeps its size: this key's own limit was not the cause.

    Attributes:
        unfunded: calls that have a permit and wait for money.
    """

    def __init__(
        self,
        *,
        concurrency: int | None,
        qps: float | None = None,
        tpm: int | None = None,
        shared_limits: SharedLimits | None = None,
        gentle: bool = False,
    ) -> None:
        self.fixed = concurrency is not None
        start = 1 if gentle else START
        self.semaphore = ResizableSemaphore(concurrency or start)
        self._gentle = gentle
        self._stepped = float("-inf")
        self._qps = qps
        self._tpm = tpm
        self._tokens = 0.0
        self._shared_limits = shared_limits
        self._next = 0.0
        self._paused_until = 0.0
        self._in_flight: dict[object, Sent] = {}
        self._undecided: dict[object, Sent] = {}
        self._steering = Steering(self._in_flight)
        self._rising: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._answers = 0
        self._takes_s = 0.0
        self._answered = False
        self._refused = False
        self._headroom = Headroom()
        self.reported: RateLimits | None = None
        self._numbers = itertools.count()
        self._kept: dict[int, tuple[asyncio.TimerHandle, int]] = {}
        self._last_shrink = float("-inf")
        self._recent: deque[bool] = deque()
        self.why = ""
        self.unfunded = 0
        self._line = asyncio.Lock()
        self._held_by = ""
        self._alone = True
        self._level = self.semaphore.size
        self._grown = 0
        self._shared = float("-inf")
        self._shrunk = 0.0
        self._found = inf
        if self._shared_limits and not self.fixed:
            self._agree(start)

    def turn(self, weight: int = 0, *, unless: asyncio.Event | None = None) -> Permit:
        """Hold a permit for one attempt; entered when the call may be sent.

        Once ``unless`` is set, nothing waits any longer for a pause or the rate: entering then
        does not mean that the call may be sent.
        """
        return Permit(self, weight, unless or asyncio.Event())

    async def until_allowed(self, unless: asyncio.Event) -> bool:
        """Wait until no pause or rate limit holds a call back, or ``unless`` is set.

        Returns:
            Whether the rate that was found held it back.
        """
        limited = self._qps is not None or self._tpm is not None
        if not limited and not self._paced and not self._counts_left:
            if self.paused_for() > 0:
                await self._until_unpaused(unless)
            return False
        paced = False
        async with self._line:
            clock = asyncio.get_running_loop().time
            while not unless.is_set():
                await self._until_unpaused(unless)
                wait = self._next_slot(clock())
                if wait <= 0:
                    break
                paced = self._held_by == "rate"
                await _sleep(wait, unless)
        return paced

    async def _until_unpaused(self, unless: asyncio.Event) -> None:
        while (wait := self.paused_for()) > 0 and not unless.is_set():
            await _sleep(wait, unless)

    def _next_slot(self, now: float) -> float:
        """Take the next turn at the configured and the found rate.

        Returns:
            0 if it was taken, else seconds until a retry.
        """
        if self._counts_left and self._in_flight:
            wait = self._headroom.wait(self._tokens, now)
            if wait > 0:
                self._held_by = "headroom"
                return min(wait, _LOOK_S)
        if self._paced and (wait := self._steering.pace.wait(now)) > 0:
            self._held_by = "rate"
            return wait
        if self._qps is None and self._tpm is None:
            return 0.0
        qps = self._rate()
        self._held_by = "qps" if qps == self._qps else "tpm"
        if self._shared_limits:
            return self._shared_limits.next_slot(qps)
        if self._next > now:
            return self._next - now
        self._next = now + 1.0 / qps
        return 0.0

    def _rate(self) -> float:
        """Calls per second allowed: ``qps``, or ``tpm`` divided by the usual size."""
        rate = float("inf") if self._qps is None else self._qps
        if self._tpm is not None and self._tokens:
            rate = min(rate, self._tpm / 60.0 / self._tokens)
        return rate

    @property
    def _counts_left(self) -> bool:
        """Whether calls wait for what the provider says is left, as it does refuse.

        Without a call in flight one is sent all the same: its answer will tell what is left.
        """
        return self._refused and self.reported is not None and not self.fixed

    @property
    def _paced(self) -> bool:
        return self._steering.pace.rate < inf and not self.fixed and not self._gentle

    @property
    def wants_sizes(self) -> bool:
        """Whether an estimate of a call's tokens is needed: no reply has arrived yet."""
        return self._tpm is not None and not self._answered

    def expect(self, tokens: float) -> None:
        """Set the expected tokens per call before any reply has shown them."""
        self._tokens = max(self._tokens, tokens)

    @property
    def answering(self) -> bool:
        """Whether most of the recent calls were answered."""
        return self._recent.count(True) > len(self._recent) // 2

    @property
    def steered(self) -> bool:
        """Whether it is known which requests the model refuses: those over a rate, or any."""
        return self._paced or (not self.fixed and self._steering.always > TOLERATED)

    @property
    def in_flight(self) -> int:
        """Calls that were sent and have not returned."""
        return len(self._in_flight)

    @property
    def limited_by(self) -> str:
        """What keeps more calls from being in flight: a value of ``Gauges.limited_by``."""
        if self.unfunded:
            return "budget"
        if self._line.locked():
            return self._held_by
        return "concurrency" if self.semaphore.waiting else ""

    @property
    def rate_limit(self) -> float | None:
        """Calls a second that this engine may send, where that limits them."""
        match self.limited_by:
            case "rate":
                return self._steering.pace.rate * self._steering.pace.part
            case "qps" | "tpm":
                return self._rate()
        return None

    @property
    def _wanted(self) -> bool:
        """Whether more concurrency would let more calls be sent."""
        if self._paced and self.in_flight + len(self._kept) < _NEARLY_ALL * self.semaphore.size:
            return False  # the others wait for the pace
        return self.limited_by == "concurrency" and self._level < MOST

    @property
    def _has_room(self) -> bool:
        """Whether more calls in flight would not queue for long, as far as is known."""
        took = asyncio.get_running_loop().time() - self._began
        queued = self._answers / max(took, _MOMENT_S) * _LONGEST_QUEUE_S
        return self.semaphore.size < max(_UNANSWERED, queued)

    def succeeded(
        self, limits: RateLimits | None, took_s: float = 0.0, tokens: int | None = None
    ) -> None:
        """Record an answered attempt: its headers, duration and tokens."""
        self._note(answered=True)
        self._answers += 1
        if tokens:
            weight = _WEIGHT if self._answered else 1.0
            self._tokens += weight * (tokens - self._tokens)
            self._answered = True
        self._takes_s += 0.1 * (took_s - self._takes_s) if self._takes_s else took_s
        if limits is not None:
            self._learn(limits)
        if self.fixed:
            return
        if self._wanted:
            if self._gentle:
                self._grow(self._step())
            elif self._steering.ramping and not self._has_room:
                self._grow(1)
        if self._shared_limits is not None:
            self.share()

    def _steer(self, sent: float, *, accepted: bool) -> None:
        """Adjust the concurrency to an outcome."""
        size = self.semaphore.size
        now = asyncio.get_running_loop().time()
        change = self._steering.heard(
            accepted=accepted,
            sent=sent,
            size=size,
            wanted=self._wanted and self._has_room,
            now=now,
            undecided=len(self._undecided) + len(self._kept),
            kept=len(self._kept),
            paced=self._held_back,
        )
        if change:
            self._changed(size, change)

    def _decide(self) -> None:
        """Count the calls that were accepted by now: refusals of the same age have come back."""
        accepted = asyncio.get_running_loop().time() - self._steering.decided_s
        while self._undecided:
            permit, sent = next(iter(self._undecided.items()))
            if sent.at > accepted:
                return
            self._accepted(permit)

    def _accepted(self, permit: object) -> None:
        if (sent := self._undecided.pop(permit, None)) is None:
            return
        self._steering.was_accepted(sent.beside, paced=sent.paced or self._held_back)
        if not (self.fixed or self._gentle):
            self._steer(sent.at, accepted=True)

    def rise(self) -> None:
        """Let one more call be sent at times, while none is refused and many wait.

        So the first calls in flight double each second, however long an answer takes.
        """
        if self._rising is None and self._steering.ramping and not (self.fixed or self._gentle):
            delay = _DOUBLES_S / log(2) / self.semaphore.size
            self._rising = asyncio.get_running_loop().call_later(delay, self._rise)

    def _rise(self) -> None:
        self._rising = None
        self._decide()
        if self._steering.ramping and self._wanted:
            if not self._kept and self._has_room and not self.paused_for():
                self._grow(1)
            self.share()
        if self.semaphore.waiting and self._level < MOST:
            self.rise()

    def _changed(self, size: int, change: int) -> None:
        if change > 0:
            self._grow(change)
        elif change < 0:
            if self._alone:
                self._level = size + change
                self.semaphore.resize(self._level)
            self.share(refused=True, left=(size + change) / size)

    def _step(self) -> int:
        """How much a gentle rise grows for the time since its last step; at most a doubling."""
        now = asyncio.get_running_loop().time()
        if self._stepped == float("-inf"):
            self._stepped = now - GENTLE_STEP_S
        steps = int((now - self._stepped) / GENTLE_STEP_S)
        if steps <= 0:
            return 0
        self._stepped = now
        return min(self._level, steps * max(1, self._level // 10))

    def _grow(self, more: int) -> None:
        if self._alone:
            self._level = min(MOST, self._level + more)
            self.semaphore.resize(self._level)
        else:
            self._grown += more

    def refused(self, error: ProviderError) -> None:
        """Record an attempt that was refused for load."""
        if not isinstance(error, RateLimited | Overloaded):
            return
        now = asyncio.get_running_loop().time()
        self._refused = True
        self._note(answered=False)
        if isinstance(error.limits, RateLimits):
            self._learn(error.limits)
        if self._mostly_refused():
            pause = min(error.retry_after or 1.0, LONGEST_OUTAGE_S)
            self._pause(now, pause, "most calls are refused")
            self._recent.clear()
        if self._gentle:
            self._gently_refused(error, now)

    def _gently_refused(self, error: ProviderError, now: float) -> None:
        self._stepped = now + GENTLE_HOLD_S
        if self.fixed or isinstance(error, Overloaded) or now - self._last_shrink <= BURST_S:
            return
        self._last_shrink = now
        if self._alone:
            self._level = max(1, int(self.semaphore.size * SHRINK))
            self.semaphore.resize(self._level)
        self.share(refused=True)

    @property
    def _whole_rounds(self) -> int:
        """Number of outcomes to judge by: whole rounds, because refusals come back first."""
        return max(_LAST, 2 * self.semaphore.size)

    def _note(self, *, answered: bool) -> None:
        self._recent.append(answered)
        most = self._whole_rounds
        while len(self._recent) > most:
            self._recent.popleft()

    def _mostly_refused(self) -> bool:
        """Whether most of the recent calls were refused."""
        enough = self._whole_rounds
        return len(self._recent) == enough and self._recent.count(False) > enough // 2

    def keep(self, weight: int, sent: Sent) -> None:
        """Keep the permit of a refused call unused until others of its age were accepted.

        The refusal counts only then: otherwise refusals of the latest calls would count before
        the calls beside them that were accepted.

        Args:
            weight: the call's size in bytes.
            sent: what was so when it was sent.
        """
        if self.fixed or self._gentle:
            self.semaphore.give(weight)
            return
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        wait = min(self._takes_s or inf, self._steering.decided_s)
        timer = loop.call_later(wait, self._give, number, sent.at)
        self._kept[number] = timer, weight
        size, paced = self.semaphore.size, sent.paced or self._held_back
        refused = len(self._kept)
        of = refused + len(self._undecided)
        if not self._alone and self._shared_limits:
            if paced:
                # Another engine may have heard of the same limit just now.
                self._agree_on_rate()
            else:
                of = of * self._level // size
                refused = self._shared_limits.refusals(refused)
        rate = self._steering.pace.rate
        refusal = Refusal(sent, refused, of)
        change = self._steering.was_refused(refusal, size, loop.time(), paced=paced)
        self._changed(size, change)
        if rate != self._steering.pace.rate and not self._alone:
            self._agree_on_rate()

    @property
    def _held_back(self) -> bool:
        return self._line.locked() and self._paced

    def _give(self, number: int, sent: float | None = None) -> None:
        """Stop keeping a permit; the refusal counts if it is said when the call was sent."""
        _, weight = self._kept.pop(number)
        self.semaphore.give(weight)
        if sent is not None and not self.fixed:
            self._decide()
            self._steer(sent, accepted=False)

    def answered(self, sent: float) -> None:
        """Record that a call was answered which was sent then.

        If it is the first that was accepted after an outage, what was known before holds again.
        """
        now = asyncio.get_running_loop().time()
        known = self._steering.outage_before(sent, now)
        if known is None:
            return
        self.wake()
        self._recent.clear()
        if not self._alone:
            # Another engine may have gone back to its rate just now.
            self._agree_on_rate()
        size = self.semaphore.size
        self._changed(size, self._steering.resume(known, size, now))
        if not self._alone:
            self._agree_on_rate()

    def wake(self) -> None:
        """Stop keeping permits unused, so that nothing waits for them."""
        for number, (timer, _) in list(self._kept.items()):
            timer.cancel()
            self._give(number)

    def share(self, *, refused: bool = False, left: float = SHRINK) -> None:
        """Coordinate with the other engines on this key, at most four times a second.

        Args:
            refused: too many calls were refused just now; shared immediately.
            left: the share of the concurrency that should remain in that case.
        """
        if self._shared_limits is None or self.fixed:
            return
        now = asyncio.get_running_loop().time()
        if refused or now - self._shared >= _SHARE_S:
            self._shared = now
            self._agree(self.semaphore.taken + self.semaphore.waiting, refused=refused, left=left)

    def _agree(self, wanted: int, *, refused: bool = False, left: float = SHRINK) -> None:
        assert self._shared_limits is not None
        part = self._shared_limits.share(
            size=self.semaphore.size, wanted=wanted, grown=self._grown, refused=refused, left=left
        )
        self._grown = 0
        size, shrunk, self._shrunk = self.semaphore.size, self._shrunk, part.shrunk
        if part.shrunk > shrunk and not refused and not self._alone and part.size < size:
            now = asyncio.get_running_loop().time()
            self._steering.cut_elsewhere(size, part.size, now)
        self._steering.pace.part = part.part
        self._alone, self._level = part.alone, part.level
        self._steering.ramping = self._steering.ramping and part.ramping
        if part.size != size:
            self.semaphore.resize(part.size)
        if part.alone:
            self._found = inf
        else:
            self._agree_on_rate()

    def _agree_on_rate(self) -> None:
        assert self._shared_limits is not None
        pace = self._steering.pace
        self._found = self._shared_limits.found_rate(pace.rate, self._found)
        if self._found == inf:
            self._steering.forget_pace()
        elif self._found != pace.rate:
            pace.follow(self._found, asyncio.get_running_loop().time())

    def close(self) -> None:
        """Return this engine's share of the key's concurrency to the others."""
        if self._rising is not None:
            self._rising.cancel()
        if self._shared_limits:
            self._shared_limits.leave()

    def _learn(self, limits: RateLimits) -> None:
        self.reported = limits
        now = asyncio.get_running_loop().time()
        self._headroom.learn(limits, now)
        for left, reset, what in (
            (limits.requests_remaining, limits.requests_reset_s, "requests"),
            (limits.tokens_remaining, limits.tokens_reset_s, "tokens"),
        ):
            # A longer pause is about a daily quota: the next call is allowed before it ends.
            if left is not None and left <= 0 and reset and reset <= LONGEST_OUTAGE_S:
                refills = self._headroom.wait(max(1.0, self._tokens), now)
                self._pause(now, min(reset, refills), f"no {what} left")

    def _pause(self, now: float, seconds: float, why: str) -> None:
        self._paused_until = max(self._paused_until, now + seconds)
        self._steering.paused(now)
        self.why = why
        if self._shared_limits:
            self._shared_limits.pause(self._paused_until - now, why)

    def paused_for(self) -> float:
        """Seconds for which the whole key is still paused, whichever engine was told to wait."""
        if not self._paused_until and not self._shared_limits:
            return 0.0
        now = asyncio.get_running_loop().time()
        until = self._paused_until
        if self._shared_limits and (shared := self._shared_limits.paused_until(now)) > until:
            until, self.why = shared, self._shared_limits.why
        return max(0.0, until - now)

    def resize(self, size: int | None) -> None:
        """Fix the concurrency at ``size``; None makes it adaptive, from its current size."""
        self.fixed = size is not None
        if size is None:
            self._level = self.semaphore.size
            self.share()
            return
        self.semaphore.resize(size)
        if self._shared_limits:
            self._shared_limits.leave()
        self._alone = True


async def _sleep(seconds: float, unless: asyncio.Event) -> None:
    """Sleep, or return early when ``unless`` is set."""
    with contextlib.suppress(TimeoutError):
        # Anything smaller is lost in floating point: it would never pass.
        await asyncio.wait_for(unless.wait(), max(seconds, _MOMENT_S))


class Permit:
    """A permit held for one attempt, as a context manager."""

    __slots__ = ("_limiter", "_paced", "_unless", "_weight")

    def __init__(self, limiter: Limiter, weight: int, unless: asyncio.Event) -> None:
        self._limiter = limiter
        self._weight = weight
        self._unless = unless
        self._paced = False

    async def __aenter__(self) -> Permit:
        limiter = self._limiter
        limiter.share()
        if limiter.semaphore.taken >= limiter.semaphore.size:
            limiter.rise()
        await limiter.semaphore.take(self._weight)
        try:
            self._paced = await limiter.until_allowed(self._unless)
        except BaseException:
            limiter.semaphore.give(self._weight)
            raise
        limiter._headroom.use(limiter._tokens)
        return self

    def sent(self) -> None:
        """Record that the call is sent now: it is in flight until the permit is given back."""
        limiter = self._limiter
        sent = Sent(asyncio.get_running_loop().time(), limiter.in_flight, self._paced)
        limiter._began = limiter._began or sent.at
        limiter._in_flight[self] = limiter._undecided[self] = sent
        limiter._steering.sent(sent.at)
        limiter._decide()

    async def __aexit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        limiter = self._limiter
        sent = limiter._in_flight.pop(self, None)
        if sent is not None:
            if isinstance(error, RateLimited | Overloaded):
                limiter._undecided.pop(self, None)
                limiter.keep(self._weight, sent)
                return
            if error is None:
                limiter._accepted(self)
                limiter.answered(sent.at)
            limiter._undecided.pop(self, None)
        limiter.semaphore.give(self._weight)

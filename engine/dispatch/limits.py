"""When a call may leave: concurrency, request rate, and pauses that a provider asks for.

One limiter serves one key and model inside an engine; engines that use the
same key on the same machine share its pauses and its ``--qps`` through a small
locked file (:class:`SharedPace`).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import orjson

from evalbench.engine.calls import RateLimits
from evalbench.engine.errors import Overloaded, ProviderError, RateLimited

START = 8
MOST = 256
_SHRINK = 0.7
_BURST_S = 2.0
_LAST = 20
_BYTES_IN_FLIGHT = 256 * 1024 * 1024


class Slots:
    """A counting gate whose size can change while it is in use; first come, first served."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.weight = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def waiting(self) -> int:
        """How many stand at the gate."""
        return len(self._waiting)

    async def take(self, weight: int = 0) -> None:
        """Wait for a place. ``weight`` is the call's size in bytes; a lone call always fits."""
        if not self._waiting and self._fits(weight):
            self._enter(weight)
            return
        entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = entered, weight
        self._waiting.append(place)
        try:
            await entered
        except asyncio.CancelledError:
            if entered.cancelled():
                with contextlib.suppress(ValueError):
                    self._waiting.remove(place)
                self._admit()
            else:
                self.give(weight)
            raise

    def give(self, weight: int = 0) -> None:
        """Leave the place taken with the same weight."""
        self.taken -= 1
        self.weight -= weight
        self._admit()

    def resize(self, size: int) -> None:
        """Let ``size`` holders in from now on; those inside stay."""
        self.size = size
        self._admit()

    def _fits(self, weight: int) -> bool:
        light = not self.taken or self.weight + weight <= _BYTES_IN_FLIGHT
        return self.taken < self.size and light

    def _enter(self, weight: int) -> None:
        self.taken += 1
        self.weight += weight

    def _admit(self) -> None:
        # A place is handed over, so that nobody who comes meanwhile can slip in.
        while self._waiting and self._fits(self._waiting[0][1]):
            entered, weight = self._waiting.popleft()
            if not entered.done():
                self._enter(weight)
                entered.set_result(None)


class Limiter:
    """Concurrency that finds its own size, unless it is fixed; pauses; a steady rate.

    A fixed size never changes by itself. Otherwise it starts small, grows by
    one for every reply while calls wait (doubling each round) until the first
    refusal, after that by one a round; and shrinks once per burst of refusals.
    The whole key pauses only when the provider says that nothing is left, or
    when most of the recent calls were refused.
    """

    def __init__(
        self, *, concurrency: int | None, qps: float | None = None, pace: SharedPace | None = None
    ) -> None:
        self.fixed = concurrency is not None
        self.slots = Slots(concurrency or START)
        self._qps = qps
        self._pace = pace
        self._next = 0.0
        self._paused_until = 0.0
        self._ramping = True
        self._credit = 0.0
        self._last_shrink = float("-inf")
        self._recent: deque[bool] = deque(maxlen=_LAST)
        self.why = ""

    def turn(self, weight: int = 0, *, unless: asyncio.Event | None = None) -> Turn:
        """Hold a place for one attempt; entered when the call may leave.

        Once ``unless`` is set, nobody waits any more for a pause to end or for
        the rate: entering then does not mean that the call may leave.
        """
        return Turn(self, weight, unless or asyncio.Event())

    async def until_allowed(self, unless: asyncio.Event) -> None:
        """Wait until no pause and no rate keeps a call from leaving, or ``unless`` is set."""
        clock = asyncio.get_running_loop().time
        in_turn = self._qps is None
        while not unless.is_set():
            now = clock()
            due = max(self._paused_until, self._pace.paused_until(now) if self._pace else 0.0)
            wait = due - now
            if wait > 0:
                # A turn that a pause overtook is void: all would leave at once after it.
                in_turn = self._qps is None
            elif in_turn:
                return
            else:
                wait = self._next_turn(now)
                in_turn = True
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(unless.wait(), wait)

    def _next_turn(self, now: float) -> float:
        """Take the next place at the wanted rate; seconds to wait for it."""
        assert self._qps is not None
        if self._pace:
            return self._pace.next_turn(self._qps, now)
        wait = max(0.0, self._next - now)
        self._next = max(self._next, now) + 1.0 / self._qps
        return wait

    def succeeded(self, limits: RateLimits | None) -> None:
        """Tell of an answered attempt and what its headers said."""
        self._recent.append(True)
        self._learn(limits)
        if self.fixed or not self.slots.waiting or self.slots.size >= MOST:
            return
        self._credit += 1.0 if self._ramping else 1.0 / self.slots.size
        if self._credit >= 1.0:
            self._credit -= 1.0
            self.slots.resize(self.slots.size + 1)

    def refused(self, error: ProviderError) -> None:
        """Tell of an attempt that was refused for load."""
        if not isinstance(error, RateLimited | Overloaded):
            return
        now = asyncio.get_running_loop().time()
        self._recent.append(False)
        limits = error.limits
        self._learn(limits if isinstance(limits, RateLimits) else None)
        refusals = self._recent.count(False)
        if len(self._recent) == _LAST and refusals > _LAST // 2:
            self._pause(now, error.retry_after or 1.0, "most calls are refused")
            self._recent.clear()
        if not self.fixed and now - self._last_shrink > _BURST_S:
            self._last_shrink = now
            self._ramping = False
            self.slots.resize(max(1, int(self.slots.size * _SHRINK)))

    def _learn(self, limits: RateLimits | None) -> None:
        if limits is None:
            return
        now = asyncio.get_running_loop().time()
        for left, reset, what in (
            (limits.requests_remaining, limits.requests_reset_s, "requests"),
            (limits.tokens_remaining, limits.tokens_reset_s, "tokens"),
        ):
            if left is not None and left <= 0 and reset:
                self._pause(now, reset, f"no {what} left")

    def _pause(self, now: float, seconds: float, why: str) -> None:
        self._paused_until = max(self._paused_until, now + seconds)
        self.why = why
        if self._pace:
            self._pace.pause(self._paused_until - now)

    def paused_for(self) -> float:
        """Seconds for which the whole key stands still from now."""
        return max(0.0, self._paused_until - asyncio.get_running_loop().time())

    def resize(self, size: int | None) -> None:
        """Fix the concurrency at ``size``; None lets it find its own from where it is."""
        self.fixed = size is not None
        if size is not None:
            self.slots.resize(size)


class Turn:
    """A place held for one attempt, as a context."""

    __slots__ = ("_limiter", "_unless", "_weight")

    def __init__(self, limiter: Limiter, weight: int, unless: asyncio.Event) -> None:
        self._limiter = limiter
        self._weight = weight
        self._unless = unless

    async def __aenter__(self) -> None:
        await self._limiter.slots.take(self._weight)
        try:
            await self._limiter.until_allowed(self._unless)
        except BaseException:
            self._limiter.slots.give(self._weight)
            raise

    async def __aexit__(self, *_: object) -> None:
        self._limiter.slots.give(self._weight)


class SharedPace:
    """Pauses and the request rate of one key, shared by the engines of one user.

    A file of a few bytes under a lock; times in it are wall-clock, so that
    processes agree on them.
    """

    def __init__(self, folder: Path, fingerprint: str, model: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        safe = "".join(c if c.isalnum() or c in "-." else "-" for c in model)
        self._path = folder / f"{fingerprint}-{safe}.json"
        self._seen = 0.0
        self._checked = float("-inf")

    def next_turn(self, qps: float, _now: float) -> float:
        """Take the next place at ``qps`` requests a second; seconds to wait for it."""
        with self._locked() as state:
            now = time.time()
            turn = max(state.get("next", 0.0), now)
            state["next"] = turn + 1.0 / qps
            return float(turn - now)

    def pause(self, seconds: float) -> None:
        """Let every engine on this key stand still for ``seconds``."""
        with self._locked() as state:
            state["paused"] = max(state.get("paused", 0.0), time.time() + seconds)
        self._checked = float("-inf")

    def paused_until(self, now: float) -> float:
        """When the pause ends, on the clock that ``now`` was read from; reads the file at 4 Hz."""
        if now - self._checked >= 0.25:
            self._checked = now
            try:
                self._seen = orjson.loads(self._path.read_bytes()).get("paused", 0.0)
            except OSError:
                self._seen = 0.0
            except ValueError:
                # Another engine is writing just now: what was seen still holds.
                pass
        return now + max(0.0, self._seen - time.time())

    @contextlib.contextmanager
    def _locked(self) -> Iterator[dict[str, float]]:
        fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            raw = os.read(fd, 4096)
            try:
                state = orjson.loads(raw) if raw else {}
            except ValueError:
                state = {}
            yield state
            os.ftruncate(fd, 0)
            os.pwrite(fd, orjson.dumps(state), 0)
        finally:
            os.close(fd)

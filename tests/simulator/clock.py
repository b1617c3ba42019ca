"""The simulator's own time.

A running clock follows the machine's; a standing clock moves only when it is
told to. Both can be advanced, which wakes whoever sleeps past their time.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class Clock:
    """Simulated seconds since the epoch.

    Args:
        running: False for a clock that stands still until :meth:`advance`.
        start: the first reading; the machine's time when None.
    """

    def __init__(self, *, running: bool = True, start: float | None = None) -> None:
        self.running = self._runs = running
        self._offset = (time.time() if start is None else start) - (
            time.monotonic() if running else 0.0
        )
        self._beginning = self._offset
        self._sleepers: dict[asyncio.Future[None], tuple[float, asyncio.TimerHandle | None]] = {}

    def now(self) -> float:
        """The current reading."""
        return self._offset + (time.monotonic() if self.running else 0.0)

    def reset(self) -> None:
        """Take back every advance and :meth:`stand`. Whoever sleeps is woken."""
        for sleeper in self._sleepers:
            _wake(sleeper)
        self._offset = self._beginning
        self.running = self._runs

    def stand(self) -> None:
        """Stand still from now on: only :meth:`advance` moves it."""
        self._offset, self.running = self.now(), False
        self.advance(0.0)

    def advance(self, seconds: float) -> None:
        """Jump forward. Must be called on the loop that sleeps."""
        self._offset += seconds
        now = self.now()
        for sleeper, (deadline, timer) in list(self._sleepers.items()):
            if timer is not None:
                timer.cancel()
            self._sleepers[sleeper] = (deadline, self._arm(sleeper, deadline - now))

    async def sleep(self, seconds: float) -> None:
        """Wait for simulated time to pass."""
        if seconds <= 0:
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers[sleeper] = (self.now() + seconds, self._arm(sleeper, seconds))
        try:
            await sleeper
        finally:
            _, timer = self._sleepers.pop(sleeper)
            if timer is not None:
                timer.cancel()

    def _arm(self, sleeper: asyncio.Future[None], seconds: float) -> asyncio.TimerHandle | None:
        if seconds <= 0:
            _wake(sleeper)
            return None
        return sleeper.get_loop().call_later(seconds, _wake, sleeper) if self.running else None

    @property
    def sleeping(self) -> int:
        """How many wait."""
        return len(self._sleepers)


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


def rfc3339(moment: float) -> str:
    """``2026-11-27T12:00:00Z``."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: float) -> str:
    """A length of time as rate-limit headers write it: ``28ms``, ``2m59.56s``, ``1h0m0s``."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))}ms"
    whole = f"{seconds:.2f}".rstrip("0").rstrip(".")
    if seconds < 60:
        return f"{whole}s"
    minutes, rest = divmod(round(seconds, 2), 60)
    tail = f"{rest:.2f}".rstrip("0").rstrip(".") or "0"
    if minutes < 60:
        return f"{int(minutes)}m{tail}s"
    return f"{int(minutes // 60)}h{int(minutes % 60)}m{tail}s"

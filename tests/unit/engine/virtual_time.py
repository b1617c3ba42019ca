"""An event loop whose clock jumps to its next timer, so that waiting costs no time."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

_STUCK_S = 30.0


class _Jumping(selectors.DefaultSelector):
    """Looks for ready files without waiting, and moves the clock by the time not waited."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            # No timer at all: only a thread or a file could wake the loop.
            ready = super().select(_STUCK_S)
            if not ready:
                raise AssertionError("everybody waits, and nothing will ever happen")
            return ready
        ready = super().select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at second 0. For code whose only clock is the loop's."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test in virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def now() -> float:
    """Seconds since the virtual loop began."""
    return round(asyncio.get_running_loop().time(), 6)


async def settle(turns: int = 20) -> None:
    """Let everything that can go on without waiting do so."""
    for _ in range(turns):
        await asyncio.sleep(0)

"""An event loop whose clock jumps to its next timer, so that waiting costs no time."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any

_STUCK_S = 30.0


class _Jumping(selectors.DefaultSelector):
    """Looks for ready files without waiting, and moves the clock by the time not waited.

    It stands still while threads are at work, whose time nobody can skip.
    """

    now = 0.0
    threads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            # No timer at all: only a thread or a file could wake the loop.
            ready = super().select(_STUCK_S)
            if not ready:
                raise AssertionError("everybody waits, and nothing will ever happen")
            return ready
        if self.threads and timeout > 0:
            return super().select(min(timeout, _STUCK_S))
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

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        self._jumping.threads += 1
        work = super().run_in_executor(executor, func, *args)
        work.add_done_callback(self._thread_done)
        return work

    def _thread_done(self, _: asyncio.Future[Any]) -> None:
        self._jumping.threads -= 1


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

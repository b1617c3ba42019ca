"""Interrupts scoring that blocks the whole process.

A benchmark's ``solve`` shares one thread with everything else: an endless loop in it would
block every other sample, and commands too. A system timer looks once a second whether the
same step of the same ``solve`` is still running; after enough looks an exception is raised
in it, which fails only that sample. Steps are not recorded: the timer finds the running one on
the stack. C code that never checks for signals cannot be interrupted this way: a stop then ends
the process.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, TypeVar

from evalbench.engine.benchmark import ScoringTimeout

_TOLD_AFTER = 3
_EVERY_S = 1.0
_OURS = ("evalbench.engine.execution.ask", "evalbench.engine.dispatch", "evalbench.engine.journal")

T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Called with the sample's row and the seconds, once a second while a step is long."""


class Interrupted(Exception):
    """Scoring was interrupted because the run is stopping; the sample has no score yet."""


class _Now(BaseException):
    """Raised in the middle of a step; a BaseException so that benchmarks do not catch it."""


class ScoringWatchdog:
    """Watches the samples of all runs of a process while it is entered.

    Only the main thread can be watched; elsewhere it does nothing.
    """

    def __init__(self) -> None:
        self._seen: FrameType | None = None
        self._turned = False
        self._looks = 0
        self._stopping = False
        self._before: Any = None

    def __enter__(self) -> ScoringWatchdog:
        if threading.current_thread() is threading.main_thread():
            self._entered = time.monotonic()
            self._before = signal.signal(signal.SIGALRM, self._look)
            self._timer = signal.setitimer(signal.ITIMER_REAL, _EVERY_S, _EVERY_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is None:
            return
        left, every = self._timer
        if left:  # a timer of other code: restart it
            left = max(0.001, left - (time.monotonic() - self._entered))
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, self._before)

    async def solve(
        self, row: int, solving: Awaitable[T], seconds: int, tell: Tell | None = None
    ) -> T:
        """Await a ``solve``.

        Args:
            row: the sample's row.
            solving: what ``solve`` returned.
            seconds: how long one step may take.
            tell: called when a step takes long.

        Raises:
            ScoringTimeout: a step took too long.
            Interrupted: a step was long and the run is stopping.
        """
        try:
            return await solving
        except _Now:
            raise self._late(seconds) from None

    def stop_soon(self) -> None:
        """Interrupt long steps so that a stop can end. Safe to call from a signal handler."""
        self._stopping = True
        self._looks += 1  # the same step may have been seen a moment ago

    def _look(self, _: int, frame: FrameType | None) -> None:
        step, in_benchmark = _running(frame)
        if step is None or step is not self._seen or self._turned:
            self._seen, self._turned, self._looks = step, False, 0
            if step is not None:
                # A task takes one step in one turn of its loop.
                asyncio.get_running_loop().call_soon(self._turn)
            return
        self._looks += 1
        row, seconds, tell = (step.f_locals[name] for name in ("row", "seconds", "tell"))
        # Counted, not measured: a process that was suspended is not late.
        if self._looks >= _TOLD_AFTER and tell:
            tell(row, self._looks)
        late = self._looks >= seconds or (self._stopping and self._looks >= _TOLD_AFTER)
        if late and in_benchmark:
            raise _Now

    def _turn(self) -> None:
        self._turned = True

    def _late(self, seconds: int) -> Exception:
        if self._looks < seconds:
            return Interrupted()
        return ScoringTimeout(f"scoring took longer than {seconds} s")


def _running(frame: FrameType | None) -> tuple[FrameType | None, bool]:
    """The frame of the running :meth:`ScoringWatchdog.solve`, if any, and whether to interrupt it.

    Only the benchmark's code and what it calls may be interrupted, not ours.
    """
    in_benchmark = frame is not None and frame.f_code is not _SOLVE
    while frame is not None and frame.f_code is not _SOLVE:
        if str(frame.f_globals.get("__name__", "")).startswith(_OURS):
            in_benchmark = False
        frame = frame.f_back
    return frame, in_benchmark


_SOLVE = ScoringWatchdog.solve.__code__

"""Interrupts scoring that blocks the whole process.

A benchmark's ``solve`` shares one thread with everything else: an endless loop in it would
block every other sample, and commands too. A system timer checks once a second whether the
same step of the same ``solve`` is still running; after enough checks an exception is raised
in it, which fails only that sample. The cost is a microsecond or two per step. C code that
never checks for signals cannot be interrupted this way: a stop then ends the process.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
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
        self._in: _Steps | None = None
        self._step = self._seen = self._looks = 0
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

    def solve(
        self,
        row: int,
        solving: Coroutine[Any, Any, T],
        seconds: int,
        tell: Tell | None = None,
    ) -> Awaitable[T]:
        """Wrap a ``solve``; its result is awaited once.

        Args:
            row: the sample's row.
            solving: the coroutine that ``solve`` returned.
            seconds: how long one step may take.
            tell: called when a step takes long.

        Raises:
            ScoringTimeout: a step took too long.
            Interrupted: a step was long and the run is stopping.
        """
        return _Steps(self, row, solving, seconds, tell)

    def stop_soon(self) -> None:
        """Interrupt long steps so that a stop can end. Safe to call from a signal handler."""
        self._stopping = True
        self._looks += 1  # the same step may have been seen a moment ago

    def _look(self, _: int, frame: FrameType | None) -> None:
        step = self._in
        if step is None or self._step != self._seen:
            self._seen, self._looks = self._step, 0
            return
        self._looks += 1
        # Counted, not measured: a process that was suspended is not late.
        if self._looks >= _TOLD_AFTER and step.tell:
            step.tell(step.row, self._looks)
        late = self._looks >= step.seconds or (self._stopping and self._looks >= _TOLD_AFTER)
        if late and _in_benchmark(frame):
            raise _Now

    def _late(self, seconds: int) -> Exception:
        if self._looks < seconds:
            return Interrupted()
        return ScoringTimeout(f"scoring took longer than {seconds} s")


class _Steps:
    """A coroutine whose every step is visible to the watchdog."""

    __slots__ = ("_solving", "_watch", "row", "seconds", "tell")

    def __init__(
        self,
        watch: ScoringWatchdog,
        row: int,
        solving: Coroutine[Any, Any, Any],
        seconds: int,
        tell: Tell | None,
    ) -> None:
        self._watch = watch
        self.row = row
        self._solving = solving
        self.seconds = seconds
        self.tell = tell

    def __await__(self) -> Generator[Any, Any, Any]:
        watch, solving = self._watch, self._solving
        given: Any = None
        failure: BaseException | None = None
        while True:
            watch._step += 1
            watch._in = self
            try:
                waits = solving.throw(failure) if failure else solving.send(given)
            except StopIteration as done:
                return done.value
            except _Now:
                raise watch._late(self.seconds) from None
            finally:
                watch._in = None
            given, failure = None, None
            try:
                given = yield waits
            except BaseException as error:  # passed to the coroutine, whatever it is
                failure = error


def _in_benchmark(frame: FrameType | None) -> bool:
    """Whether the step is in the benchmark's code or something it calls, not in ours."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if frame.f_code is _Steps.__await__.__code__:
            return True
        if name.startswith(_OURS):
            return False
        frame = frame.f_back
    return False

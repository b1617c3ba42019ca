"""Signals as requests to the following loop, instead of interruptions."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections import deque
from types import FrameType
from typing import Any

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Cancelled(BaseException):
    """SIGINT or SIGTERM before anything was running."""


class Signals:
    """Collects SIGINT, SIGTERM and SIGHUP while entered.

    A signal that was ignored when this program started (``nohup``, a background job of a script)
    stays ignored. With ``raising`` set, SIGINT and SIGTERM raise :class:`Cancelled` at once, for
    the time before a run exists. SIGHUP never does, so that closing the terminal during a download
    still leaves a started run behind.
    """

    def __init__(self) -> None:
        self.raising = False
        self._pending: deque[int] = deque()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in _CAUGHT:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, _: FrameType | None) -> None:
        if self.raising and number != signal.SIGHUP:
            raise Cancelled
        self._pending.append(number)

    def take(self) -> int | None:
        """The oldest unhandled signal."""
        return self._pending.popleft() if self._pending else None

    def waiting(self) -> bool:
        """Whether :meth:`take` would return one."""
        return bool(self._pending)


def second_interrupt_ends() -> None:
    """Let a second SIGINT end this process, whatever is blocking it.

    The first one raises ``KeyboardInterrupt``, which C code may delay forever. The handler is
    installed so that the system removes it after its first call; the default action is to end the
    process.
    """
    import ctypes

    offset, reset = (12, 0x4) if sys.platform == "darwin" else (136, 0x80000000)
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        action = ctypes.create_string_buffer(512)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN or libc.sigaction(
            signal.SIGINT, None, action
        ):
            return
        flags = ctypes.c_uint.from_buffer(action, offset)
        flags.value |= reset
        libc.sigaction(signal.SIGINT, action, None)

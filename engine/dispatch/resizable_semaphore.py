"""Places for calls in flight, of which there may be more or fewer at any time."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

_BYTES_IN_FLIGHT = 256 * 1024 * 1024


class ResizableSemaphore:
    """A semaphore whose size can change while in use; first come, first served."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.taken = 0
        self.weight = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def waiting(self) -> int:
        """Number of waiters."""
        return len(self._waiting)

    async def take(self, weight: int = 0) -> None:
        """Wait for a permit. ``weight`` is the call's size in bytes; a lone call always fits."""
        if not self._waiting and self._fits(weight):
            self.taken += 1
            self.weight += weight
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
        """Release a permit taken with the same weight."""
        self.taken -= 1
        self.weight -= weight
        self._admit()

    def resize(self, size: int) -> None:
        """Change the number of permits; current holders keep theirs."""
        self.size = size
        self._admit()

    def _fits(self, weight: int) -> bool:
        light = not self.taken or self.weight + weight <= _BYTES_IN_FLIGHT
        return self.taken < self.size and light

    def _admit(self) -> None:
        # Hand the permit over directly, so that no newcomer can take it first.
        while self._waiting and self._fits(self._waiting[0][1]):
            entered, weight = self._waiting.popleft()
            if not entered.done():
                self.taken += 1
                self.weight += weight
                entered.set_result(None)

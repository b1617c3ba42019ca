"""Decides which waiting calls go to which worker, where several run the same model.

Calls with a common prefix go to one worker, which has already computed that prefix; calls of
similar length go together, longest first, so that no worker is left with a long one at the
end. Pure rules: no clock, no tasks.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable

_HOMES = 32
"""How many prefixes a worker is assumed to have cached; it may have evicted older ones."""

_ROUNDS = 2
"""Minimum number of portions per worker; each is a share of the remaining calls."""

_LEAST = 24
"""The smallest portion as a fraction of the largest."""


class Shards:
    """Waiting calls, grouped by prefix."""

    def __init__(self) -> None:
        # By prefix: (size, queue number, key), the next one last.
        self._groups: dict[str, list[tuple[int, int, str]]] = {}
        self._where: dict[str, tuple[str, tuple[int, int, str]]] = {}
        self._homes: dict[Hashable, deque[str]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, key: str) -> bool:
        return key in self._where

    def add(self, key: str, number: int, beginning: str = "", size: int = 0) -> None:
        """Add a call.

        Args:
            key: its key.
            number: equal sizes go in the order of their numbers.
            beginning: the name of its prefix; empty if it shares none with other calls.
            size: how much work it is, in any unit.
        """
        self.discard(key)
        entry = (size, -number, key)
        insort(self._groups.setdefault(beginning, []), entry)
        self._where[key] = beginning, entry

    def discard(self, key: str) -> None:
        """Remove a call, if it is waiting."""
        if found := self._where.pop(key, None):
            beginning, entry = found
            group = self._groups[beginning]
            group.remove(entry)
            if not group:
                del self._groups[beginning]

    def take(self, worker: Hashable, most: int | None = None) -> list[str]:
        """The next calls for a worker, up to ``most``; all of them if None.

        First those whose prefix it has cached, then those whose prefix no worker has, then some
        of the largest group of the others.
        """
        mine = self._homes.setdefault(worker, deque(maxlen=_HOMES))
        taken: list[str] = []
        for beginning in sorted(self._groups, key=lambda one: self._rank(one, mine)):
            if most is not None and len(taken) >= most:
                break
            group = self._groups[beginning]
            count = len(group) if most is None else min(len(group), most - len(taken))
            taken += [key for _, _, key in reversed(group[-count:])]
            del group[-count:]
            if not group:
                del self._groups[beginning]
            if beginning and beginning not in mine:
                mine.append(beginning)
        for key in taken:
            del self._where[key]
        return taken

    def _rank(self, beginning: str, mine: deque[str]) -> tuple[int, int]:
        if beginning and beginning in mine:
            kind = 0
        elif beginning and any(beginning in homes for homes in self._homes.values()):
            kind = 2
        else:
            kind = 1
        return kind, -len(self._groups[beginning])

    def forget(self, worker: Hashable) -> None:
        """Forget a worker that is gone, and its cached prefixes."""
        self._homes.pop(worker, None)


def portion(waiting: int, inside: int, workers: int, most: int) -> int:
    """How many calls one worker should hold now.

    A share of what is left, so that all workers finish at about the same time however fast each
    is; but enough for a worker to pack them well, unless that would leave others without any.

    Args:
        waiting: calls that no worker holds.
        inside: calls that workers hold.
        workers: number of workers, including those still loading the model.
        most: maximum per worker.
    """
    left, workers = waiting + inside, max(1, workers)
    fair = -(-left // (_ROUNDS * workers))
    least = min(most // _LEAST, -(-left // workers))
    return min(most, max(fair, least, 1))

"""Which waiting calls go to which worker, where several hold the same model.

Calls that begin alike go to one worker, which has computed that beginning
before; those of about one length go together, the longest first, so that no
worker is left with a long one at the end. Pure rules: no clock, no tasks.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Hashable

_HOMES = 32
"""So many beginnings a worker is taken to have at hand; older ones it may have let go."""

_ROUNDS = 2
"""Calls are given out in so many portions a worker at least, each a share of what is left."""

_LEAST = 24
"""The smallest portion is this part of the largest."""


class Shards:
    """Waiting calls, by what they begin with."""

    def __init__(self) -> None:
        # By beginning: (size, place in the queue, key), the next one last.
        self._groups: dict[str, list[tuple[int, int, str]]] = {}
        self._where: dict[str, tuple[str, tuple[int, int, str]]] = {}
        self._homes: dict[Hashable, deque[str]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, key: str) -> bool:
        return key in self._where

    def add(self, key: str, number: int, beginning: str = "", size: int = 0) -> None:
        """Take a call in.

        Args:
            key: its name.
            number: equal sizes go in the order of their numbers.
            beginning: a name of what it begins with; empty: nothing that others share.
            size: how much there is to do for it, in any unit.
        """
        self.discard(key)
        entry = (size, -number, key)
        insort(self._groups.setdefault(beginning, []), entry)
        self._where[key] = beginning, entry

    def discard(self, key: str) -> None:
        """Forget a call, if it waits."""
        if found := self._where.pop(key, None):
            beginning, entry = found
            group = self._groups[beginning]
            group.remove(entry)
            if not group:
                del self._groups[beginning]

    def take(self, worker: Hashable, most: int | None = None) -> list[str]:
        """The next calls for a worker, at most so many; all of them without a number.

        First those whose beginning it has at hand, then those whose beginning nobody has,
        then some of the largest group of others.
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
        """A worker is gone, and what it had at hand."""
        self._homes.pop(worker, None)


def portion(waiting: int, inside: int, workers: int, most: int) -> int:
    """How many calls one worker should hold now.

    A share of what is left, so that all workers end at about the same time however fast each
    is; not so few that a worker could not pack them well, unless others would have none.

    Args:
        waiting: calls that no worker holds.
        inside: calls that workers hold.
        workers: how many there are, those that still load the model too.
        most: no worker holds more.
    """
    left, workers = waiting + inside, max(1, workers)
    fair = -(-left // (_ROUNDS * workers))
    least = min(most // _LEAST, -(-left // workers))
    return min(most, max(fair, least, 1))

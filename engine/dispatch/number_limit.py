"""Whether a model limits the number of calls in flight, rather than their rate.

Of calls that are sent at once, a rate refuses the last as a number does. But over time a rate also
accepts calls beside as many others as a refused one had, and a number never does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_FEWEST, _APART_S = 4, 0.1
"""So many were refused, this far apart, before it is their number."""
_NEARLY = 0.9
"""Calls beside so many were accepted, of as many as a refused one had."""
_LATELY = 80


class Sent(NamedTuple):
    """A call that was sent.

    Attributes:
        at: when it was sent.
        beside: how many others were in flight then.
        paced: whether the rate held it back.
    """

    at: float
    beside: int
    paced: bool


class NumberLimit:
    """What is known of it: calls that were refused beside more others than any accepted one."""

    def __init__(self) -> None:
        self._first: Sent | None = None
        self._last = 0.0
        self._refused = 0
        self._most = self._most_before = self._accepted = 0

    @property
    def _most_beside(self) -> int:
        return max(self._most, self._most_before)

    def accepted(self, beside: int) -> None:
        """Note that a call was accepted beside so many others."""
        if self._first is not None and beside >= self._first.beside:
            self._first = None
        self._most, self._accepted = max(self._most, beside), self._accepted + 1
        if self._accepted >= _LATELY:
            self._most_before, self._most, self._accepted = self._most, 0, 0

    def refused(self, sent: Sent) -> bool:
        """Note that a call was refused; whether beside more than any that was accepted lately."""
        if sent.beside <= self._most_beside:
            self._first = None
            return False
        if self._first is None or sent.beside < self._first.beside:
            self._first, self._refused, self._last = sent, 1, sent.at
        elif sent.at - self._last >= _APART_S:
            self._refused, self._last = self._refused + 1, sent.at
        return True

    def forget(self) -> None:
        """Know of no refused call any more."""
        self._first = None

    def found(
        self, now: float, *, decided_s: float, refusing_s: float, in_flight: Iterable[Sent]
    ) -> int | None:
        """How many calls may be in flight, if that is known to be limited.

        Args:
            now: seconds, on the clock of what was sent.
            decided_s: seconds within which a call is reported to :meth:`accepted`.
            refusing_s: seconds after which a call that is in flight was accepted.
            in_flight: the calls in flight, some not yet reported to :meth:`accepted`.
        """
        first = self._first
        if first is None or self._refused < _FEWEST:
            return None
        if self._most_beside < _NEARLY * first.beside - 1:
            return None  # none was tried beside a few less
        if now - first.at <= decided_s + refusing_s:
            return None
        if any(
            first.at < sent.at < now - refusing_s and sent.beside >= first.beside
            for sent in in_flight
        ):
            return None
        return first.beside

"""A run's rate over time, and the remaining time that it implies."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

_MOST_POINTS = 600
_WINDOW_S = 20.0
_WINDOW_SAMPLES = 20
_WINDOWS_BACK = 6
_STEPS_A_WINDOW = 4
_FEWEST_RATES = 5


class TimeLeft(NamedTuple):
    """Seconds until a run is done: at the current rate, and at its recent best and worst.

    ``low`` and ``high`` are None while too little is known about the rate's variation.
    """

    seconds: float
    low: float | None
    high: float | None


class RateHistory:
    """How many samples were done at which time. Times are in seconds on one clock."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._done: list[int] = []
        self._usual_since = -math.inf

    def restore(self, stretches: Iterable[tuple[int, int]], every: float, done: int) -> None:
        """Start from a journal's history (see ``JournalReader.score_times``).

        Args:
            stretches: number of each time bin and the samples done in it, in order.
            every: length of a bin in seconds; the first begins at 0.
            done: total done after the last.
        """
        known = list(stretches)
        reached = done - sum(count for _, count in known)
        self.forget()
        for number, count in known:
            self._put(number * every, reached)
            reached += count
            self._put((number + 1) * every, reached)

    def forget(self) -> None:
        """Start over."""
        self._times, self._done = [], []

    def tell(self, at: float, done: int, *, down: bool = False) -> None:
        """Record the total done now; if the provider is down, the rate so far predicts nothing."""
        if down:
            self._usual_since = at
        if self._done and done < self._done[-1]:
            # Scores were removed to be computed again: start over.
            self.forget()
        while self._times and self._times[-1] >= at:
            self._times.pop()
            self._done.pop()
        self._put(at, done)

    def _put(self, at: float, done: int) -> None:
        if self._times and at == self._times[-1]:
            self._done[-1] = done
            return
        self._times.append(at)
        self._done.append(done)
        if len(self._times) > _MOST_POINTS:
            # The last point stays: the length of the newest bin must not change.
            self._times = [*self._times[:-1:2], self._times[-1]]
            self._done = [*self._done[:-1:2], self._done[-1]]

    def _at(self, time: float) -> float:
        """The total done at a time between the first point and the last."""
        after = bisect_right(self._times, time)
        if after == 0:
            return self._done[0]
        if after == len(self._times):
            return self._done[-1]
        begin, end = self._times[after - 1], self._times[after]
        share = (time - begin) / (end - begin)
        return self._done[after - 1] + share * (self._done[after] - self._done[after - 1])

    def history(self, most: int) -> list[float]:
        """Samples per second over the whole known time, in at most ``most`` equal bins.

        A bin is a power of two of seconds long and begins at a multiple of that, so that from one
        second to the next only the newest changes.
        """
        if len(self._times) < 2 or most < 1:
            return []
        first, last = self._times[0], self._times[-1]
        step = 1.0
        while math.ceil(last / step) - math.floor(first / step) > most:
            step *= 2
        rates: list[float] = []
        for number in range(math.floor(first / step), math.ceil(last / step)):
            begin, end = max(first, number * step), min(last, (number + 1) * step)
            if end - begin >= 0.4 * step or (not rates and end == last):
                rates.append((self._at(end) - self._at(begin)) / (end - begin))
        return rates

    def left(self, remaining: int, rate: float) -> TimeLeft | None:
        """The remaining time; None while nothing progresses or nothing is left.

        The range is based on the rate over windows of at least 20 s and 20 samples in the recent
        past: it spans the times that their slowest and fastest tenths imply.
        """
        if rate <= 0 or remaining <= 0:
            return None
        rates = sorted(self._recent_rates(rate))
        if len(rates) < _FEWEST_RATES:
            return TimeLeft(remaining / rate, None, None)
        tenth = len(rates) // 10
        slow, fast = min(rate, rates[tenth]), max(rate, rates[-1 - tenth])
        return TimeLeft(remaining / rate, remaining / fast, remaining / slow if slow > 0 else None)

    def _recent_rates(self, rate: float) -> Iterable[float]:
        window = max(_WINDOW_S, _WINDOW_SAMPLES / rate)
        if len(self._times) < 2:
            return
        first, last = max(self._times[0], self._usual_since), self._times[-1]
        for number in range(_WINDOWS_BACK * _STEPS_A_WINDOW):
            end = last - number * window / _STEPS_A_WINDOW
            if end - window < first:
                return
            yield (self._at(end) - self._at(end - window)) / window

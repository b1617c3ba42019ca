"""The request rate that a model was found to take.

A limit on calls in flight is met by concurrency; a limit on calls a second is not, where few
calls are in flight: two of half a second are four a second, and three are six. So what a model
answers while it refuses becomes a rate at which calls are sent, and the concurrency need not
be exact. Without refusals the rate rises again, in steps that grow, and less and less often
while that keeps failing.
"""

from __future__ import annotations

from math import inf

_STEP = 0.03
"""First step above a rate that holds; each further one is half as long again."""
_LONGEST_STEP = 0.5
_LONGEST_REST = 16
_NEAR = 0.1
_LATE_S = 0.05
"""A call sent this late does not delay those after it."""


class Pace:
    """A rate of requests, in requests a second, and the turns at it.

    Attributes:
        rate: infinite until a limit shows.
    """

    def __init__(self) -> None:
        self.rate = inf
        self._next = 0.0
        self._too_fast = inf
        self._rest = 0
        self._patience = 1
        self._step = _STEP

    @property
    def found(self) -> bool:
        """Whether there is a rate to keep."""
        return self.rate < inf

    def wait(self, now: float) -> float:
        """Take the next turn if it is due and return 0; else the seconds until it is."""
        if not self.found:
            return 0.0
        if self._next > now:
            return self._next - now
        self._next = max(self._next, now - _LATE_S) + 1.0 / self.rate
        return 0.0

    def cut(self, sent: float, answered: float) -> None:
        """Fall to what was answered while requests were refused.

        Args:
            sent: requests a second.
            answered: those that a free model would have answered.
        """
        was = min(self.rate, sent)
        near = abs(was - self._too_fast) <= _NEAR * was
        self._patience = min(_LONGEST_REST, 2 * self._patience) if near else 1
        self._too_fast, self._rest, self._step = was, self._patience, _STEP
        self.rate = min(self.rate, answered)

    def rise(self) -> None:
        """Try more: nothing was refused for a while, although calls waited for their turn."""
        if self._rest > 0:
            self._rest -= 1
            return
        self.rate *= 1 + self._step
        self._step = min(_LONGEST_STEP, 1.5 * self._step)

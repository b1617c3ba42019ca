"""The request rate that a model was found to take.

A limit on calls in flight is met by concurrency; a limit on calls a second is not, where few
calls are in flight: two of half a second are four a second, and three are six. So what a model
accepts while it refuses becomes a rate at which calls are sent, and the concurrency need not
be exact.

Each refusal lowers the rate and each accepted call raises it, so little that they are even when one
request in seventy is refused. Above a limit refusals are what exceeds it: so the rate stays just
above it, all of the limit is used, and a limit that rises is noticed. The steps are large at
first, and again while refusals come too often or not at all.
"""

from __future__ import annotations

from math import inf

REFUSED = 0.01
"""Share of the requests to be refused, so that the limit is known."""
_FIRST, _LEAST = 0.25, 0.03
"""By which share a refusal lowers the rate: at first, at least."""
_SELDOM, _OFTEN = 2.0, 0.25
"""Refusals that were expected since the last one: more or fewer make the steps larger."""
_EAGER = 3.0
"""How much faster the rate rises before its first refusal."""
_FALL = 0.5
"""Share of the rate that is kept until it is judged what a lower one brings."""
_RISE = 2.0
"""So many times what was sent is the most that it rises to in the same time."""
_DOUBTED = 4.0
_UNACCEPTED = 3
"""After this many refusals with none accepted between, the rate is not to blame."""
_LATE_S = 0.05
"""A call sent this late does not delay those after it."""


class Pace:
    """A rate of requests, in requests a second, and the turns at it.

    Attributes:
        rate: infinite until a limit shows; that of all engines on the key together.
        part: this engine's share of it.
    """

    def __init__(self, part: float = 1.0) -> None:
        self.rate = inf
        self.part = part
        self._next = 0.0
        self._step = _FIRST
        self._accepted = 0
        self._unaccepted = 0
        self._lowered = 0.0
        self._eager = True
        self._floor = 0.0
        self._ceiling = inf

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
        self._next = max(self._next, now - _LATE_S) + 1.0 / (self.rate * self.part)
        return 0.0

    def begin(self, rate: float, now: float) -> None:
        """Keep about this rate from now on."""
        self.rate, self._step, self._accepted, self._lowered = rate, _FIRST, 0, now
        self._eager = True
        self.judged()

    def follow(self, rate: float, now: float) -> None:
        """Keep the rate that engines on this key have found together."""
        if not self.found:
            self.begin(rate, now)
        elif rate < self.rate:
            self._lowered = now
        self.rate = rate
        self._floor = min(self._floor, rate * _FALL)

    def resume(self, rate: float) -> None:
        """Keep a rate that was found earlier, unless this one is higher; infinite: none."""
        if rate > self.rate:
            self.rate, self._step, self._eager = rate, _LEAST, False
            self.judged()

    def judged(self, least: float = 0.0, sent: float = inf) -> None:
        """Let the rate change further: it was judged what it brought so far.

        Args:
            least: it falls to this at most.
            sent: requests a second that were sent; a rate far above them limits nothing.
        """
        self._floor = max(least, self.rate * _FALL)
        self._ceiling = sent * _RISE

    def accepted(self, always: float) -> None:
        """Note that a request was accepted while others waited for their turn.

        Args:
            always: the share of requests that are refused at any rate.
        """
        usual = always + REFUSED
        self._accepted += 1
        if self._accepted * usual > _SELDOM:
            self._step = min(_FIRST, self._step * (1 + usual))
        share = always + REFUSED * (_EAGER if self._eager else 1.0)
        raised = self.rate * (1 + self._lowers(always) * share / (1 - share))
        self.rate = max(self.rate, min(raised, self._ceiling))

    def refused(self, now: float, sent: float, always: float) -> None:
        """Like :meth:`accepted`, when the request was refused for load."""
        if sent < self._lowered:
            return  # it says nothing about the rate since
        self._unaccepted = 0 if self._accepted else self._unaccepted + 1
        if self._unaccepted > _UNACCEPTED:
            return
        often = self._accepted * (always + REFUSED) < _OFTEN
        self._accepted, self._lowered, self._eager = 0, now, False
        self.rate = max(self._floor, self.rate * (1 - self._lowers(always)))
        self._step = min(_FIRST, 1.3 * self._step) if often else max(_LEAST, self._step / 2)

    def _lowers(self, always: float) -> float:
        """By which share a refusal lowers the rate: by less if most are not about it."""
        return self._step * min(1.0, _DOUBTED * REFUSED / (always + REFUSED))

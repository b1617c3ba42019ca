"""Finds how many concurrent calls a model can take from its answers and refusals.

Refusals alone are not enough: some occur at any load (a broken shard, a model short of
capacity everywhere), and sending less then costs answers and avoids none. So every cut is an
experiment. If load is to blame, refusals drop when less is sent; if as many come as before,
the cut is undone, and that share of refusals is treated as this model's baseline until it
changes.

Below a level that was too high, the search continues by bisection; then the level holds,
and the next step up is tried less and less often while it keeps failing.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

SHRINK = 0.7
"""Share of the concurrency kept after refusals that do not show how far it was exceeded."""
_MOST_LEFT, _LEAST_LEFT = 0.9, 0.3

_FEWEST = 20
"""Minimum number of outcomes per judgement; also at least twice the calls in flight."""
_MANY = 8
_SURELY = 0.25
"""This many refusals are judged at once if their share is this far above the baseline."""
_TOLERATED = 0.03
"""Share of refusals that means nothing: probing the limit causes that many."""
_NOBODY = 0.95
"""Above this share of refusals the provider is down, which no concurrency fixes."""
_MOST_ALWAYS = 0.4
_LONGEST_REST = 16
_TRIALS = 2
"""Cuts that refusals must survive before load is ruled out as their cause."""
_EXAMINED_EVERY = 16
"""After this many judgements, check again whether those refusals come at any load."""


class _Before(NamedTuple):
    """State before a cut: share of refusals, concurrency, answers per second."""

    share: float
    size: int
    rate: float

    def is_the_same(self, share: float, size: int, always: float) -> bool:
        """Whether as many calls are refused as before, although fewer were sent."""
        if_load = max(always, 1 - (1 - self.share) * self.size / size)
        return share > (self.share + if_load) / 2

    def cost_answers(self, rate: float, size: int) -> bool:
        """Whether the cut cost answers, which it does not if a limit was the cause."""
        return rate < self.rate * (1 + size / self.size) / 2


class Steering:
    """Counts outcomes and decides how to change the concurrency.

    Attributes:
        ramping: no limit has been hit yet: each answer allows one more call.
        always: the baseline share of refusals, which come at any load.
    """

    def __init__(self) -> None:
        self.ramping = True
        self.always = 0.0
        self._answered = self._refused = 0
        self._due = _FEWEST
        self._before: _Before | None = None
        self._begun = 0.0
        self._alike = 0
        self._too_much: int | None = None
        self._rest = 0
        self._patience = 1
        self._step = 1
        self._down: int | None = None
        self._passed_over = 0
        self._judged = 0

    def heard(self, *, answered: bool, size: int, wanted: bool, now: float) -> int:
        """By how many calls to change the concurrency after another outcome.

        Args:
            answered: whether the call was answered; if not, it was refused for load.
            size: the current concurrency limit.
            wanted: whether more calls are waiting than the limit allows.
            now: seconds, on any clock.
        """
        if self._passed_over > 0:
            # It was sent before the last cut.
            self._passed_over -= 1
            return 0
        if not self._answered and not self._refused:
            self._begun = now
        if answered:
            self._answered += 1
        else:
            self._refused += 1
        count = self._answered + self._refused
        many = self._refused >= _MANY and self._refused > count * (self.always + _SURELY)
        if count >= self._due or many:
            change = self._judge(size, wanted, self._answered / max(now - self._begun, 1e-6))
            self._answered = self._refused = 0
            self._due = max(_FEWEST, (size + change) * (1 if self.ramping else 2))
            return change
        return 1 if answered and self.ramping and wanted else 0

    def paused(self, size: int) -> None:
        """Note a pause of all calls: the next outcomes do not reflect a single concurrency."""
        self._before, self._alike = None, 0
        self._answered = self._refused = 0
        self._passed_over = size

    def _judge(self, size: int, wanted: bool, rate: float) -> int:
        refused, count = self._refused, self._answered + self._refused
        share = refused / count
        before, self._before = self._before, None
        if share >= _NOBODY:
            return self._nobody_answers(size)
        if self._down is not None:
            was, self._down = self._down, None
            if was > size:
                return was - size
        if before and before.size > size and before.is_the_same(share, size, self.always):
            self._alike += 1
            if self._alike < _TRIALS:
                # Saved-up burst capacity or calls sent earlier may mislead once.
                self._before = before
                return self._less(size, share)
            self._alike = 0
            if before.cost_answers(rate, size):
                self.always = min(_MOST_ALWAYS, (share + before.share) / 2)
                # The limit has not been found yet.
                self._too_much, self.ramping = None, True
                return before.size - size
        self._alike = 0
        self._judged += 1
        if self.always > _TOLERATED and self._judged % _EXAMINED_EVERY == 0:
            self._before = _Before(share, size, rate)
            return self._less(size, share)
        usual = count * self.always
        doubt = 2 * sqrt(usual * (1 - self.always))
        if refused > usual + doubt + max(1.0, _TOLERATED * count):
            self._before = _Before(share, size, rate)
            return self._cut(size, share)
        self.always = min(self.always, self.always + 0.2 * (share - self.always))
        return self._raise(size) if wanted else 0

    def _nobody_answers(self, size: int) -> int:
        """Send less and less; the first answer restores the previous level."""
        self._down = self._down or size
        return self._less(size, 1 - SHRINK)

    def _cut(self, size: int, share: float) -> int:
        near = self._too_much is not None and abs(size - self._too_much) <= max(1, size // 8)
        self._patience = min(_LONGEST_REST, 2 * self._patience) if near else 1
        self._too_much, self._rest, self._step = size, self._patience, 1
        self.ramping = False
        return self._less(size, share)

    def _less(self, size: int, share: float) -> int:
        """Cut to what was answered, which is what the model can take if load is to blame."""
        self._passed_over = size
        return max(1, int(size * min(_MOST_LEFT, max(_LEAST_LEFT, 1 - share)))) - size

    def _raise(self, size: int) -> int:
        if self.ramping:
            return 1
        if self._too_much is None:
            self._step = min(2 * self._step, max(1, size // 4))
            return self._step
        if size >= self._too_much:
            # The level that was too high no longer is.
            self._too_much, self._patience, self._step = None, 1, 1
            return 1
        distance = self._too_much - size
        if distance > 1:
            return distance // 2
        if self._rest > 0:
            self._rest -= 1
            return 0
        return 1

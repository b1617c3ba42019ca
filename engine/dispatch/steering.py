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

from collections import deque
from math import ceil, sqrt
from typing import NamedTuple

from evalbench.engine.dispatch.pacing import Pace

SHRINK = 0.7
"""Share of the concurrency kept after refusals that do not show how far it was exceeded."""
_MOST_LEFT, _LEAST_LEFT = 0.9, 0.3

_FEWEST = 20
"""Minimum number of outcomes per judgement; also at least twice the calls in flight."""
_FEWEST_PACED = 40
"""More where the limit is nearly known: one refusal in twenty is too many there."""
_FEW = 16
"""Up to this many calls in flight, one more or less is too much of a step: a rate fits better."""
_MANY = 6
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
        pace: the request rate that was found.
    """

    def __init__(self) -> None:
        self.pace = Pace()
        self.ramping = True
        self.always = 0.0
        self._last: _Before | None = None
        self._times: deque[float] = deque(maxlen=2 * _FEWEST_PACED)
        self._answered = self._refused = 0
        self._due = _FEWEST
        self._before: _Before | None = None
        self._begun: float | None = None
        self._counted_since = 0.0
        self._alike = 0
        self._too_much: int | None = None
        self._rest = 0
        self._patience = 1
        self._step = 1
        self._down: int | None = None
        self._sound = 0
        self._passed_over = 0
        self._judged = 0

    def heard(
        self, *, answered: bool, size: int, wanted: bool, now: float, paced: bool = False
    ) -> int:
        """By how many calls to change the concurrency after another outcome.

        Args:
            answered: whether the call was answered; if not, it was refused for load.
            size: the current concurrency limit.
            wanted: whether more calls are waiting than the limit allows.
            now: seconds, on any clock.
            paced: whether calls are held back by the pace.
        """
        if self._passed_over > 0:
            # It was sent before the last cut.
            self._passed_over -= 1
            self._begun = self._counted_since = now
            return 0
        if answered and self._down is not None:
            was, self._down = self._down, None
            self._answered = self._refused = 0
            self._begun, self._due = now, max(_FEWEST, 2 * was)
            return max(0, was - size)
        if self._begun is None:
            self._begun = now
        if answered:
            self._answered += 1
            self._times.append(now)
        else:
            self._refused += 1
        count = self._answered + self._refused
        enough = max(_MANY, size // 8)
        many = self._refused >= enough and self._refused > count * (self.always + _SURELY)
        if count >= self._due or many:
            rate = self._answered / max(now - self._begun, 1e-6)
            some = self._refused > 0
            change = self._judge(size, wanted, rate, now, paced)
            self._answered = self._refused = 0
            self._begun = now
            long = self.pace.found and not self._before and some
            self._due = max(
                _FEWEST_PACED if long else _FEWEST,
                0 if paced else (size + change) * (1 if self.ramping else 2),
            )
            return change
        return 1 if answered and self.ramping and wanted else 0

    def paused(self, size: int) -> None:
        """Note a pause of all calls: the next outcomes do not reflect a single concurrency."""
        self._before, self._alike = None, 0
        self._times.clear()
        self._answered = self._refused = 0
        self._passed_over = max(size, self._passed_over)

    def crowded(self, refused: int, size: int, now: float, paced: bool) -> int:
        """Like :meth:`heard`, when this many of the calls in flight are known to be refused.

        Their outcomes are heard only when answers of the same age are, but so many need not be
        waited for.
        """
        share = refused / size
        few = refused < max(_MANY, 2 + size * (self.always + _SURELY))
        if few or self._passed_over > 0 or self._down is not None:
            return 0
        rate = self._answer_rate(now)
        self._before, self._alike = _Before(share, size, rate), 0
        self._answered = self._refused = 0
        change = self._cut(size, share, now, paced)
        self._due = max(_FEWEST, 2 * (size + change))
        return change

    def cut_elsewhere(self, size: int, left: int, now: float, paced: bool) -> None:
        """Note that another engine on the key was refused too much, so that all were cut."""
        self._before, self._alike = None, 0
        self._answered = self._refused = 0
        self._cut(size, 1 - left / size, now, paced)
        self._due = max(_FEWEST, 2 * left)

    def _judge(self, size: int, wanted: bool, rate: float, now: float, paced: bool) -> int:
        refused, count = self._refused, self._answered + self._refused
        share = refused / count
        before, self._before = self._before, None
        if share >= _NOBODY:
            return self._nobody_answers(size)
        if before and size <= 0.9 * before.size and before.is_the_same(share, size, self.always):
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
                self.pace = Pace()
                return before.size - size
        self._alike = 0
        self._judged += 1
        if self.always > _TOLERATED and self._judged % _EXAMINED_EVERY == 0:
            self._before = _Before(share, size, rate)
            return self._less(size, share)
        if self.ramping and self._grows(size, rate, share):
            return 1 if wanted else 0
        usual = count * self.always
        doubt = 2 * sqrt(usual * (1 - self.always))
        if refused > usual + doubt + max(1.0, _TOLERATED * count):
            self._before = _Before(share, size, rate)
            return self._cut(size, share, now, paced)
        self._sound = size
        self.always = min(self.always, self.always + 0.2 * (share - self.always))
        if size > _FEW:
            self.pace = Pace()
        elif paced:
            if share <= self.always + _TOLERATED / 2:
                self.pace.rise()
            return 0
        return self._raise(size) if wanted else 0

    def _grows(self, size: int, rate: float, share: float) -> bool:
        """Whether more calls bring more answers, so that refusals do not matter so far."""
        last, self._last = self._last, _Before(share, size, rate)
        if share > _MOST_ALWAYS:
            return False
        if last is None:
            return True
        self.always = min(self.always, self.always + 0.2 * (share - self.always))
        more = size / last.size
        if rate < last.rate * (0.9 + (more - 1) / 2):
            return False
        if more > 1.5 and min(share, last.share) > 2 * _TOLERATED:
            self.always = max(self.always, min(share, last.share))
        return True

    def _answer_rate(self, now: float) -> float:
        """Answers a second lately: over a second at least, and over enough of them; 0: too few."""
        times = self._times
        if len(times) < _FEWEST // 2 or self._begun is None:
            return 0.0
        first = max(0, len(times) - _FEWEST_PACED)
        while first > 0 and now - times[first] < 1.0:
            first -= 1
        since = times[first - 1] if first else min(self._counted_since, times[0])
        return (len(times) - first) / max(now - since, 1e-6)

    def _nobody_answers(self, size: int) -> int:
        """Send less and less; the first answer restores the previous level."""
        self._down = self._down or max(size, self._sound)
        self.pace = Pace()
        self._times.clear()
        return self._less(size, 1 - SHRINK)

    def _cut(self, size: int, share: float, now: float, paced: bool) -> int:
        change = self._less(size, share, up=not paced)
        # What came before the first cut may have been saved up.
        rate = 0.0 if self.ramping else self._answer_rate(now)
        self.ramping = False
        self._times.clear()
        if size + change > _FEW:
            self.pace = Pace()
        elif rate:
            self.pace.cut(rate / (1 - share), rate / (1 - self.always))
        near = self._too_much is not None and abs(size - self._too_much) <= max(1, size // 8)
        self._patience = min(_LONGEST_REST, 2 * self._patience) if near else 1
        self._too_much, self._rest, self._step = size, self._patience, 1
        return change

    def _less(self, size: int, share: float, *, up: bool = False) -> int:
        """Cut to what was answered, which is what the model can take if load is to blame."""
        self._passed_over = size
        left = size * min(_MOST_LEFT, max(_LEAST_LEFT, 1 - share))
        return max(1, ceil(left) if up else int(left)) - size

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

"""Finds how many concurrent calls a model can take from what it accepts and refuses.

The law, where TCP and Netflix' gradient limiter see only delays and losses:

1. Slow start: calls in flight double each round until more are refused than the baseline explains.
2. Every cut is an experiment (:mod:`evalbench.engine.dispatch.load_trial`). If as many are refused
   as before, load is not to blame (a broken shard, a model short of capacity everywhere): the cut
   is undone, and that share of refusals is the baseline until it changes.
3. Otherwise the limit is one on calls in flight, if none is accepted beside as many as a refused
   one had (:mod:`evalbench.engine.dispatch.number_limit`): the concurrency keeps to it, searches
   below it by bisection, and probes one more less and less often while that fails.
4. Or else one on their rate (:mod:`evalbench.engine.dispatch.pacing`), which is kept instead.
5. An outage says nothing about load: what was known before its first refusal holds again.

A call is accepted when it is answered, or when it is in flight for much longer than refusals take:
however long its answer takes, what it teaches is known within a second. An outage shows only when
it is over: for a while, none of the calls that were sent was accepted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import ceil, inf, sqrt
from typing import NamedTuple

from evalbench.engine.dispatch.load_trial import TOLERATED, Trial
from evalbench.engine.dispatch.number_limit import NumberLimit, Sent
from evalbench.engine.dispatch.pacing import Pace

SHRINK = 0.7
"""Share of the concurrency kept after refusals that do not show how far it was exceeded."""
_MOST_LEFT, _LEAST_LEFT = 0.9, 0.3

_FEWEST = 20
"""Minimum number of outcomes per judgement; also at least twice the calls in flight."""
_FEWEST_TRIED = 8
"""Fewer after a cut: answers may be slow."""
_DOUBT, _DOUBT_AT_FIRST = 2.5, 1.5
"""Standard deviations by which more are refused than chance would have it; fewer will do before the
first limit is found, when all that is sent meanwhile is more."""
_SURELY = 0.25
"""This many refusals are judged at once if their share is this far above the baseline."""
_OUTAGE_S, _SURE_OUTAGE_S = 1.0, 5.0
"""No call was accepted for so long: an outage, if several would have been; in any case."""
_MISSED = 6
"""So many calls are several."""
_MUCH_LONGER = 3.0
"""A call that is in flight for so many times as long as refusals take was accepted."""
_DECIDED_S, _LONGEST_DECIDED_S = 0.5, 5.0
"""It was accepted in any case after this many seconds at least, at most."""
_MOST_REFUSALS = 1024
_MOST_ALWAYS = 0.4
_LONGEST_REST = 16
_FEWEST_TIMED = 3
_TIMED_S = 0.25
"""Answers a second are counted over so many answers and seconds at least."""
_FEWEST_TAKEN = 8
_LEAST_LEFT_TRIED = 0.5
"""Share of the answers a second that are kept while it is not known whether load is to blame."""
_EXAMINED_EVERY = 16
"""After this many judgements, check again whether those refusals come at any load."""


class _Level(NamedTuple):
    """What a concurrency brought: its share of refusals and answers a second."""

    size: int
    share: float
    rate: float
    answered: int


class Refusal(NamedTuple):
    """A refused call, when that is known.

    Attributes:
        sent: the call.
        refused, of: how many of the calls sent lately are known to be refused; by all engines on
            the key, where there are several.
    """

    sent: Sent
    refused: int
    of: int


class Known(NamedTuple):
    """What was known of a model's limits when a call was refused.

    Attributes:
        sent: when that call was sent.
        taken: answers a second lately; 0 if that is not known.
    """

    sent: float
    taken: float
    size: int
    rate: float
    always: float
    ramping: bool
    too_much: int | None


class Steering:
    """Counts outcomes and decides how to change the concurrency.

    Attributes:
        ramping: no limit has been hit yet: each accepted call allows one more.
        always: the baseline share of refusals, which come at any load.
        pace: the request rate that was found.
    """

    def __init__(self, in_flight: Mapping[object, Sent] | None = None) -> None:
        """``in_flight``: the calls that were sent and have not returned."""
        self._in_flight = {} if in_flight is None else in_flight
        self.pace = Pace()
        self.ramping = True
        self.always = 0.0
        self._last: _Level | None = None
        self._times: deque[float] = deque(maxlen=512)
        self._answered = self._refused = 0
        self._due = _FEWEST
        self._trial: Trial | None = None
        self._begun: float | None = None
        self._counted_since: float | None = None
        self._too_much: int | None = None
        self._rest = 0
        self._patience = 1
        self._step = 1
        self._refusals: deque[Known] = deque()
        self._refusing_s = 0.0
        self._rate = 0.0
        self._held = 0
        self._judged_from = -inf
        self._judged = 0
        self._number = NumberLimit()
        self._round = 0
        self._accepted = 0
        self._since: tuple[float, int] | None = None

    def heard(
        self,
        *,
        accepted: bool,
        sent: float,
        size: int,
        wanted: bool,
        now: float,
        undecided: int,
        kept: int = 0,
        paced: bool = False,
    ) -> int:
        """By how many calls to change the concurrency after another outcome.

        Args:
            accepted: whether the call was accepted; if not, it was refused for load.
            sent: when it was sent.
            size: the current concurrency limit.
            wanted: whether more calls are waiting than the limit allows.
            now: seconds, on any clock.
            undecided: how many calls were sent that have not been heard of yet.
            kept: how many of them were refused.
            paced: whether calls are held back by the pace.
        """
        if sent < self._judged_from:
            return 0
        self._round = undecided
        if self._nobody_answers(now):
            self._answered = self._refused = 0
            self._begun = now
            return 0
        if self._begun is None:
            self._begun = now
        if accepted:
            self._answered += 1
            self._times.append(now)
        else:
            self._refused += 1
        count = self._answered + self._refused
        many = count >= undecided // 4 and self._are_many(self._refused, count)
        if count >= self._due or many:
            took = max(now - self._begun, 1e-6)
            change = self._judge(size, took, now, wanted=wanted, paced=paced)
            self._answered = self._refused = 0
            self._begun = now
            self._due = max(
                _FEWEST_TRIED if self._trial else _FEWEST,
                0 if self._is_paced(now) else size + change if self.ramping else 2 * undecided,
            )
            least = self._trial.rate / self.pace.part if self._trial else 0.0
            self.pace.judged(least * _LEAST_LEFT_TRIED, count / took / self.pace.part)
            return change
        rises = self.ramping or size < self._held or self.pace.found
        rises = rises and self._number_found(now) is None and 3 * kept <= undecided
        return 1 if accepted and rises and wanted else 0

    def paused(self, now: float) -> None:
        """Note a pause of all calls: the next outcomes do not reflect a single concurrency."""
        self._trial = None
        self._judge_from(now)

    def _judge_from(self, now: float) -> None:
        """Start counting again, with calls sent from now on."""
        self._judged_from = now
        self._times.clear()
        self._answered = self._refused = 0
        self._begun = self._counted_since = None

    @property
    def decided_s(self) -> float:
        """Seconds after which a call that was not refused was accepted."""
        return min(max(_DECIDED_S, _MUCH_LONGER * self._refusing_s), _LONGEST_DECIDED_S)

    def sent(self, now: float) -> None:
        """Note that a call was sent."""
        if self._counted_since is None:
            self._counted_since = now
        self._accepted += 1

    def was_accepted(self, beside: int, *, paced: bool) -> None:
        """Note that a call was accepted.

        Args:
            beside: how many others were in flight when it was sent.
            paced: whether calls are held back by the pace.
        """
        self._number.accepted(beside)
        if paced:
            self.pace.accepted(self.always)

    def outage_before(self, sent: float, now: float) -> Known | None:
        """What was known before an outage, if one was over when this answered call was sent."""
        refusals = self._refusals
        if not refusals or refusals[0].sent >= sent:
            return None
        first = last = refusals[0]
        while refusals and refusals[0].sent < sent:
            last = refusals.popleft()
        return first if self._is_outage(first, last, now) else None

    def resume(self, known: Known, size: int, now: float) -> int:
        """Go back to what was known before an outage; returns how much to grow at once.

        The concurrency begins at half of what it was and grows as in the first seconds.
        """
        self.paused(now)
        self._number.forget()
        self._since = None
        self._refusals.clear()
        self.always, self.ramping = known.always, known.ramping
        self._too_much = known.too_much
        self._held = known.size
        unknown = known.rate == inf and known.too_much is None
        if unknown and known.taken and not known.ramping:
            # Not all that waited are sent at once.
            self.pace.begin(known.taken / self.pace.part, now)
        else:
            self.pace.resume(known.rate)
        return max(0, known.size // 2 - size)

    def _nobody_answers(self, now: float) -> bool:
        """Whether no call that was sent since a refusal was accepted, as far as is known."""
        refusals = self._refusals
        return bool(refusals) and self._is_outage(refusals[0], refusals[-1], now)

    def _is_outage(self, first: Known, last: Known, now: float) -> bool:
        """Whether all calls were refused for long, of those that were sent between these two."""
        if not _lasts(first, last.sent):
            return False
        until = now - _MUCH_LONGER * self._refusing_s
        accepted = (sent.at for sent in self._in_flight.values() if first.sent < sent.at < until)
        return _lasts(first, min(accepted, default=last.sent))

    def was_refused(self, refusal: Refusal, size: int, now: float, *, paced: bool) -> int:
        """Like :meth:`heard`, as soon as a call is refused.

        The outcome is heard only when answers of the same age are. But a rate that was too high
        is lowered at once, and where many calls in flight are refused, the others need not be
        waited for.
        """
        self._round = refusal.of
        self._refusing_s = max(now - refusal.sent.at, 0.9 * self._refusing_s)
        sent, many_beside = refusal.sent.at, self._number.refused(refusal.sent)
        if not many_beside and len(self._refusals) < _MOST_REFUSALS:
            self._rate = self._answer_rate(now) or self._rate
            taken = self.pace.rate * self.pace.part if self.pace.found else self._rate
            self._refusals.append(
                Known(sent, taken, size, self.pace.rate, self.always, self.ramping,
                      self._too_much)
            )  # fmt: skip
        self._accepted -= 1
        if refusal.refused == 1 or self._since is None:
            self._since = sent, self._accepted
        if many_beside and (number := self._number_found(now)) is not None:
            return self._keep_to(number, size) if number < size else 0
        if paced or (self._trial and self.pace.found):
            self.pace.refused(now, sent, self.always)
            return 0
        many = self._are_many(refusal.refused, refusal.of)
        if not many or sent < self._judged_from or self._nobody_answers(now):
            return 0
        rate = self._taken(now)
        requests = refusal.of + self._answered + self._refused
        were = refusal.refused + self._refused
        self._trial = None
        if rate and were < requests:
            sent = rate / (1 - were / requests)
            self._trial = Trial(requests, were, sent, rate, size, self.always)
        self._answered = self._refused = 0
        change = self._cut(size, min(1.0, refusal.refused / refusal.of), now)
        self._due = max(_FEWEST, 0 if self._is_paced(now) else 2 * refusal.of)
        return change

    def _is_paced(self, now: float) -> bool:
        """Whether it is a rate that was exceeded, as far as is known."""
        return self.pace.found and self._number_found(now) is None

    def _number_found(self, now: float) -> int | None:
        """How many calls may be in flight, if it is their number that is limited."""
        return self._number.found(
            now,
            decided_s=self.decided_s,
            refusing_s=_MUCH_LONGER * self._refusing_s,
            in_flight=self._in_flight.values(),
        )

    def _are_many(self, refused: int, count: int) -> bool:
        """Whether that many are surely more than come at any load."""
        share = self.always + _SURELY
        usual = count * share
        doubt = _DOUBT if self.always > TOLERATED or not self.ramping else _DOUBT_AT_FIRST
        return refused >= max(3.0, usual + doubt * sqrt(usual * (1 - share)) + 0.5)

    def forget_pace(self) -> None:
        """Know no request rate that is too high any more."""
        if self.pace.found:
            self.pace = Pace(self.pace.part)

    def cut_elsewhere(self, size: int, left: int, now: float) -> None:
        """Note that another engine on the key was refused too much, so that all were cut."""
        self._trial = None
        self._answered = self._refused = 0
        # The rate is agreed upon separately.
        self._cut(size, 1 - left / size, now, elsewhere=True)
        self._due = max(_FEWEST, 2 * left)

    def _judge(self, size: int, took: float, now: float, *, wanted: bool, paced: bool) -> int:
        refused, count = self._refused, self._answered + self._refused
        share, sent, rate = refused / count, count / took, self._answered / took
        if (trial := self._trial) is not None:
            trial.answered += self._answered
            trial.refused += refused
            trial.took += took
            to_blame = trial.verdict()
            if to_blame is False and trial.again:
                return self._at_any_load(trial, size)
            if to_blame is False:
                since = trial.answered + trial.refused, trial.refused
                self._trial = Trial(
                    *since, trial.sent, trial.rate, trial.size, trial.floor, again=True
                )
                return self._send_less(size, now)
            if to_blame:
                if trial.floor < self.always:
                    self.always = min(self.always, trial.share)
                self._trial = None
        self._judged += 1
        if self.always > TOLERATED and self._judged % _EXAMINED_EVERY == 0:
            self._trial = Trial(count, refused, sent, rate, size, 0.0, again=True)
            return self._send_less(size, now)
        if self.ramping and self._grows(size, rate, share):
            return 1 if wanted else 0
        usual = count * self.always
        doubt = 2 * sqrt(usual * (1 - self.always))
        if refused > usual + doubt + max(1.0, TOLERATED * count):
            if self._trial is None and self._answered:
                self._trial = Trial(count, refused, sent, rate, size, self.always)
            return 0 if paced else self._cut(size, share, now)
        if refused < usual - doubt / 2:
            self.always += 0.2 * (share - self.always)
        return self._raise(size) if wanted and not paced else 0

    def _at_any_load(self, trial: Trial, size: int) -> int:
        """Undo the cut: the refusals have another cause. The limit is still to be found."""
        self._trial = None
        self.always = min(_MOST_ALWAYS, trial.share)
        self._too_much, self.ramping = None, True
        self.pace = Pace(self.pace.part)
        return max(0, trial.size - size)

    def _grows(self, size: int, rate: float, share: float) -> bool:
        """Whether more calls bring more answers, so that refusals do not matter so far."""
        last, self._last = self._last, _Level(size, share, rate, self._answered)
        if share > _MOST_ALWAYS:
            return False
        if last is None:
            return True
        self.always = min(self.always, self.always + 0.2 * (share - self.always))
        more = size / last.size
        if more < 1.1 and min(share, last.share) > _SURELY:
            return False
        doubt = sqrt(1 / max(1, self._answered) + 1 / max(1, last.answered))
        if rate < last.rate * (0.9 + (more - 1) / 2 - doubt / 2):
            return False
        if more > 1.5 and min(share, last.share) > 2 * TOLERATED:
            self.always = max(self.always, min(share, last.share))
        return True

    def _answer_rate(self, now: float) -> float:
        """Answers a second in the last round, and for a while at least; 0: too few."""
        times = self._times
        if len(times) < _FEWEST_TIMED * self.pace.part or self._counted_since is None:
            return 0.0
        first = max(0, len(times) - max(_FEWEST // 2, self._round))
        while first > 0 and now - times[first] < _TIMED_S:
            first -= 1
        full = len(times) == times.maxlen
        since = times[first - 1] if first else times[0] if full else self._counted_since
        return (len(times) - first) / max(now - since, 1e-6)

    def _cut(self, size: int, share: float, now: float, *, elsewhere: bool = False) -> int:
        rate = self._taken(now)
        if (number := self._number_found(now)) is not None:
            change = self._keep_to(number, size)
        else:
            by_rate = rate > 0 and self.always <= TOLERATED
            if by_rate and not elsewhere:
                self.pace.begin(min(self.pace.rate, rate / self.pace.part), now)
            # Calls in flight need not be fewer where their rate is kept.
            change = 0 if by_rate else self._less(size, share, up=not elsewhere)
            self._search_below(size)
        self.ramping, self._held = False, 0
        self._judge_from(now)
        self._since = None
        return change

    def _keep_to(self, number: int, size: int) -> int:
        """Keep to so many calls in flight: another one was refused, and fewer never were."""
        self.ramping, self._held = False, 0
        if self.pace.part == 1:
            # Engines know only of their own calls in flight: together they are less sure.
            self.forget_pace()
        self._search_below(number + 1)
        return max(1, min(number, size - 1)) - size

    def _search_below(self, too_much: int) -> None:
        near = self._too_much is not None and abs(too_much - self._too_much) <= max(
            1, too_much // 8
        )
        self._patience = min(_LONGEST_REST, 2 * self._patience) if near else 1
        self._too_much, self._rest, self._step = too_much, self._patience, 1

    def _taken(self, now: float) -> float:
        """Calls a second that the model takes; 0 if that is not known.

        Those taken since the first refusal, if they tell: more were taken before it if a limit
        had been saved up.
        """
        rate = self._answer_rate(now)
        if self._since is not None:
            began, accepted = self._since
            took, accepted = max(now - began, 1e-6), self._accepted - accepted
            if max(accepted, took * rate) >= _FEWEST_TAKEN:
                rate = max(1, accepted) / took
        return rate

    def _send_less(self, size: int, now: float) -> int:
        """Send clearly less, to see what comes of it."""
        if self._is_paced(now):
            self.pace.begin(self.pace.rate * SHRINK, now)
            self._judge_from(now)
            return 0
        self._judge_from(now)
        return self._less(size, 1 - SHRINK)

    def _less(self, size: int, share: float, *, up: bool = False) -> int:
        """Cut to what was answered, which is what the model can take if load is to blame."""
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


def _lasts(first: Known, until: float) -> bool:
    """Whether an outage lasted from a first refusal until then, if all calls were refused."""
    took = until - first.sent
    return took >= _SURE_OUTAGE_S or (took >= _OUTAGE_S and took * first.taken >= _MISSED)

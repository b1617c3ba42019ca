"""Cost meter of a dispatcher: reserve before sending, settle after."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from evalbench.engine.calls import Call, Reply, Usage
from evalbench.engine.calls.replies import MOST_DOLLARS
from evalbench.engine.cost.budget import Budget, Reservation, ReservationGroup
from evalbench.engine.cost.overruns import Overruns
from evalbench.engine.cost.tokens import input_tokens, rules_of
from evalbench.engine.cost.unit_prices import ZERO, UnitPrices
from evalbench.engine.errors import ProviderError

UNCAPPED_TOKENS = 32_768
"""The assumed maximum length of an answer without a cap, or from a model that may exceed its
cap."""


class CostMeter:
    """One role's unit prices over one run's budget.

    With unknown prices nothing is reserved and every cost is None; a run with a budget does not
    start in that case.
    """

    def __init__(
        self,
        budget: Budget,
        prices: UnitPrices | None,
        fps: float = 1.0,
        *,
        overruns: Overruns | None = None,
        changed: Callable[[], None] | None = None,
    ) -> None:
        """Set up the meter.

        Args:
            budget: the run's budget.
            prices: those of the role's model; None if unknown.
            fps: frames that the model samples per second of video.
            overruns: what earlier engines of the run learned.
            changed: called when ``overruns`` has to be stored.
        """
        self.budget = budget
        self.prices = prices
        self.overruns = overruns or Overruns()
        self._fps = fps
        self._changed = changed or (lambda: None)
        self._group = ReservationGroup()
        self._dearest = None if prices is None or prices.free else prices.dearest
        self._more = self._dollars(self.overruns.input_tokens, self.overruns.output_tokens)
        self._more += self.overruns.dollars

    def worst_case(self, call: Call) -> Decimal:
        """The most that one attempt at a call can cost, in US dollars."""
        return self._worst(*self._most(call)) if self._dearest else ZERO

    def reservation(self, call: Call) -> Reservation:
        """The reservation needed before an attempt at a call is sent."""
        if not self._dearest:
            return Reservation(ZERO)
        given, made, audio = self._most(call)
        doubt = ZERO
        if self.budget.ceiling is not None:
            more = UNCAPPED_TOKENS - made - self.overruns.output_tokens
            doubt = self._dollars(0, max(0, more))
        return Reservation(self._worst(given, made, audio), doubt, self._group, 1, given, made)

    def of_batch(self, worst: Decimal = ZERO, calls: int = 0) -> Reservation:
        """The reservation for all calls of one batch, which are pending together.

        Their worst cases are trusted: batches take hours, and a trial batch would cost a wait.
        """
        return self.budget.take(Reservation(worst, group=self._group, calls=calls))

    def reserve_for_batch(self, call: Call) -> Reservation:
        """Like :meth:`reservation`, for a call that is sent in a batch."""
        reservation = self.reservation(call)
        reservation.doubt = ZERO
        return reservation

    def cost(self, reply: Reply) -> Decimal | None:
        """The cost of an answer; None if the price or its tokens are unknown."""
        if self.prices is None:
            return None
        return self.prices.cost(reply.usage, reply.service_tier)

    def answered(self, reservation: Reservation, reply: Reply) -> Decimal | None:
        """Settle an answered attempt; returns its cost, None if prices are unknown.

        An impossible charge (negative, or absurdly high) counts as not reported.
        """
        cost = reply.billed
        if cost is not None and not (cost.is_finite() and ZERO <= cost <= MOST_DOLLARS):
            cost = None
        if cost is None:
            if self.prices is None:
                self.budget.release(reservation)
                return None
            cost = self.cost(reply)
        worst = reservation.worst
        if reservation.group:
            self._learn(
                reservation.input_tokens, reservation.output_tokens, worst, reply.usage, cost
            )
        self.budget.settle(reservation, cost)
        return worst if cost is None else cost

    def answered_in_batch(self, call: Call, reply: Reply) -> Decimal | None:
        """The cost of an answer in a batch, as in :meth:`cost`, before its share is settled."""
        cost = self.cost(reply)
        if self._dearest:
            given, made, audio = self._most(call)
            self._learn(given, made, self._worst(given, made, audio), reply.usage, cost)
        return cost

    def failed(self, reservation: Reservation, error: ProviderError) -> Decimal:
        """Settle a failed attempt; returns what it may have cost anyway."""
        if error.possibly_billed:
            return self._possibly_billed(reservation)
        self.budget.release(reservation)
        return ZERO

    def cut(self, reservation: Reservation, *, sent: bool) -> None:
        """End an attempt that was abandoned, before or after it was sent."""
        if sent:
            self._possibly_billed(reservation)
        else:
            self.budget.release(reservation)

    def uncertain(self, call: Call) -> Decimal:
        """Record an attempt of unknown cost; returns its worst case, which is counted."""
        if self._dearest:
            self.note_uncertain()
        return self.worst_case(call)

    def note_uncertain(self) -> None:
        """Record that an attempt counts at its worst case."""
        self.overruns.uncertain += 1
        self._changed()

    def _possibly_billed(self, reservation: Reservation) -> Decimal:
        if reservation.worst:
            self.note_uncertain()
        self.budget.possibly_billed(reservation)
        return reservation.worst

    def _most(self, call: Call) -> tuple[int, int, int]:
        """The maximum input tokens, output tokens and, of the input, sound of an attempt."""
        prompt = call.prompt
        cap = 1 if prompt.kind == "choose" else prompt.params.max_tokens or UNCAPPED_TOKENS
        counted = input_tokens(prompt, rules_of(call.model), fps=self._fps)
        return counted.most, cap, counted.most_audio

    def _worst(self, given: int, made: int, audio: int) -> Decimal:
        assert self.prices is not None
        return self.prices.worst_case(given, made, audio) + self._more

    def _dollars(self, given: int, made: int) -> Decimal:
        """The maximum cost of this many tokens."""
        return self._dearest.tokens(given, made) if self._dearest else ZERO

    def _learn(
        self, given: int, made: int, worst: Decimal, usage: Usage, cost: Decimal | None
    ) -> None:
        """Compare a reply with its worst case; if it went beyond, others may too.

        Args:
            given, made: the maximum input and output tokens before anything was learned.
            worst: the current estimate of the worst case.
            usage, cost: those of the reply.
        """
        known, group = self.overruns, self._group
        if cost is None:
            group.kept += 1
            self.note_uncertain()
            return
        beyond_in = max(0, (usage.input_tokens or 0) - given - known.input_tokens)
        beyond_out = max(0, (usage.output_tokens or 0) - made - known.output_tokens)
        more = self._dollars(beyond_in, beyond_out)
        unexplained = max(ZERO, cost - worst - more)
        more += unexplained
        if not more:
            group.kept += 1
            return
        known.input_tokens += beyond_in
        known.output_tokens += beyond_out
        known.dollars += unexplained
        known.added += more * known.uncertain
        self._more += more
        group.kept = 0
        self.budget.raise_worst(group, more)
        self.budget.possible += more * known.uncertain
        self._changed()

"""The hard ceiling: a call leaves only when its worst case still fits.

Every call is reserved at the most it can cost before it is sent, and settled
at what it did cost when its reply is in. What has been spent, what may have
been billed for calls that were cut, and what is reserved never add up to more
than the ceiling, as long as no call costs more than its worst case.

For one event loop: nothing here waits in threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from decimal import Decimal

from evalbench.engine.money.unit_prices import ZERO


class BudgetReached(Exception):
    """Nothing is in flight and the next call does not fit: the run pauses."""

    def __init__(self, worst: Decimal, left: Decimal) -> None:
        super().__init__(f"the next call may cost {worst} US dollars and {left} are left")
        self.worst = worst
        self.left = left


@dataclass(eq=False, slots=True)
class Ticket:
    """A reservation for one call. Used up by exactly one of the three ways to end it."""

    worst: Decimal
    open: bool = True


class Budget:
    """Money of one run.

    Attributes:
        spent: US dollars of calls whose cost is known.
        possible: of calls that were cut and may have been billed, at their worst case.
        reserved: of calls in flight, at their worst case.
        in_flight: how many those are.
    """

    def __init__(
        self, ceiling: Decimal | None = None, *, spent: Decimal = ZERO, possible: Decimal = ZERO
    ) -> None:
        """Begin, or go on with what earlier engines of the run spent.

        Args:
            ceiling: US dollars; None: no limit, only sums.
            spent, possible: from the journal of a resumed run.
        """
        self._ceiling = ceiling
        self.spent = spent
        self.possible = possible
        self.reserved = ZERO
        self.in_flight = 0
        self._waiting: deque[tuple[Decimal, asyncio.Future[Ticket]]] = deque()

    @property
    def ceiling(self) -> Decimal | None:
        """The limit in US dollars. Raising it lets waiting calls go on."""
        return self._ceiling

    @ceiling.setter
    def ceiling(self, value: Decimal | None) -> None:
        self._ceiling = value
        self._admit_waiting()

    @property
    def left(self) -> Decimal | None:
        """What can still be reserved; None without a ceiling."""
        if self._ceiling is None:
            return None
        return self._ceiling - self.spent - self.possible - self.reserved

    def reserve(self, worst: Decimal) -> Ticket | None:
        """Reserve the most that a call can cost; None when that does not fit now."""
        left = self.left
        if left is not None and worst > left:
            return None
        self.reserved += worst
        self.in_flight += 1
        return Ticket(worst)

    async def admit(self, worst: Decimal) -> Ticket:
        """Reserve, waiting for calls in flight to end where it does not fit yet.

        Calls wait in line, so a small one does not starve a large one. As the
        budget runs low fewer calls are in flight, down to one at a time.

        Raises:
            BudgetReached: nothing is in flight any more and it still does not fit.
        """
        if not self._waiting and (ticket := self.reserve(worst)):
            return ticket
        place: asyncio.Future[Ticket] = asyncio.get_running_loop().create_future()
        self._waiting.append((worst, place))
        self._admit_waiting()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and place.exception() is None:
                self.release(place.result())
            self._admit_waiting()
            raise

    def settle(self, ticket: Ticket, cost: Decimal | None) -> None:
        """The call was answered and cost so much; None: unknown, taken at its worst case.

        A cost above the worst case is counted in full.
        """
        self._close(ticket)
        self.spent += ticket.worst if cost is None else cost
        self._admit_waiting()

    def possibly_billed(self, ticket: Ticket) -> None:
        """The call was cut (time-out, reset, crash): it may have been billed."""
        self._close(ticket)
        self.possible += ticket.worst
        self._admit_waiting()

    def release(self, ticket: Ticket) -> None:
        """The call was never sent, or its failure is never billed."""
        self._close(ticket)
        self._admit_waiting()

    def take(self, worst: Decimal) -> Ticket:
        """Reserve for calls that are out already, whatever the ceiling."""
        self.reserved += worst
        self.in_flight += 1
        return Ticket(worst)

    def merge(self, ticket: Ticket, into: Ticket) -> None:
        """Add one reservation to another, for calls that come back together."""
        self._close(ticket)
        into.worst += ticket.worst
        self.reserved += ticket.worst

    def settle_part(self, ticket: Ticket, worst: Decimal, cost: Decimal) -> None:
        """One of the calls of a reservation is over and cost so much.

        Args:
            ticket: the reservation, which stays open.
            worst: that call's part of it.
            cost: US dollars.
        """
        part = min(worst, ticket.worst)
        ticket.worst -= part
        self.reserved -= part
        self.spent += cost
        self._admit_waiting()

    def _close(self, ticket: Ticket) -> None:
        if not ticket.open:
            raise ValueError("this reservation has ended already")
        ticket.open = False
        self.reserved -= ticket.worst
        self.in_flight -= 1

    def _admit_waiting(self) -> None:
        while self._waiting:
            worst, place = self._waiting[0]
            if place.done():
                self._waiting.popleft()
                continue
            ticket = self.reserve(worst)
            if ticket is not None:
                self._waiting.popleft()
                place.set_result(ticket)
                continue
            if self.in_flight:
                return
            self._waiting.popleft()
            place.set_exception(BudgetReached(worst, self.left or ZERO))

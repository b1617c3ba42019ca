"""The budget as a hard limit: a call is sent only if its worst case still fits.

Every call is reserved at its maximum cost before it is sent, and settled at its actual cost when
its reply arrives. The sum of what has been spent, what may have been billed for interrupted
calls, and what is reserved never exceeds the limit, as long as no call costs more than its
worst case.

Some do: a model may reason beyond the cap. So the calls of a role are doubted until replies have
shown that its worst cases hold: the number in flight is limited to one more than the number of
replies that have kept to them, unless far more expensive calls would fit as well. A reply that
costs more raises the worst case of all calls of its role, including those in flight, before
anything else is sent.

For a single event loop: nothing here waits in threads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal

from evalbench.engine.cost.unit_prices import ZERO


class BudgetReached(Exception):
    """Nothing is in flight and the next call does not fit: the run pauses."""

    def __init__(self, worst: Decimal, left: Decimal) -> None:
        super().__init__(f"the next call may cost {worst} US dollars and {left} are left")
        self.worst = worst
        self.left = left


class Withdrawn(Exception):
    """The run is to send nothing more: this call no longer waits for money."""


@dataclass(eq=False, slots=True)
class ReservationGroup:
    """Calls whose worst cases are trusted, doubted and raised together: those of one role.

    Attributes:
        kept: replies within their worst case since the last one that exceeded it.
        in_flight: number of open reservations.
        reservations: open and waiting reservations.
    """

    kept: int = 0
    in_flight: int = 0
    reservations: set[Reservation] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Reservation:
    """A reservation for one call. It is ended in exactly one of three ways.

    Attributes:
        worst: the maximum cost of the call, in US dollars.
        doubt: possible further cost if its worst case does not hold.
        group: the group it belongs to.
        calls: the number of calls it covers, see :meth:`Budget.merge`.
        input_tokens, output_tokens: the maximum expected; 0 if unknown.
        open: whether it is currently reserved.
    """

    worst: Decimal
    doubt: Decimal = ZERO
    group: ReservationGroup | None = None
    calls: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    open: bool = False


class Pool:
    """Money shared by several runs: no call of any run is sent unless it fits.

    Attributes:
        ceiling: US dollars; None for no limit.
        apart: actual or possible cost of runs without an open budget here, by name.
    """

    def __init__(self, ceiling: Decimal | None, apart: dict[str, Decimal]) -> None:
        self._ceiling = ceiling
        self.apart = apart
        self._members: list[Budget] = []

    def join(self, budget: Budget) -> None:
        """Include a run's budget."""
        self._members.append(budget)

    @property
    def ceiling(self) -> Decimal | None:
        """The limit in US dollars. Raising it lets waiting calls continue."""
        return self._ceiling

    @ceiling.setter
    def ceiling(self, value: Decimal | None) -> None:
        self._ceiling = value
        self.changed()

    @property
    def left(self) -> Decimal | None:
        """What any of them can still reserve; None without a limit."""
        if self._ceiling is None:
            return None
        taken = sum((one.spent + one.possible + one.reserved for one in self._members), ZERO)
        return self._ceiling - sum(self.apart.values(), ZERO) - taken

    @property
    def in_flight(self) -> int:
        """Number of calls in flight, over all runs."""
        return sum(one.in_flight for one in self._members)

    @property
    def doubted(self) -> Decimal:
        """Possible further cost of the calls in flight, see :class:`Reservation`."""
        return sum((one.doubted for one in self._members), ZERO)

    def changed(self) -> None:
        """Let the calls of all runs check again whether they fit."""
        for one in self._members:
            one.look_again()

    def others_go_on(self, budget: Budget) -> bool:
        """Whether any call is in flight, or another run is driven and does not wait for money."""
        return self.in_flight > 0 or any(one.goes_on for one in self._members if one is not budget)


class Budget:
    """The money of one run.

    Attributes:
        pool: money shared with other runs, an additional limit to its own.
        spent: US dollars for calls of known cost.
        possible: for interrupted calls that may have been billed, at their worst case.
        reserved: for calls in flight, at their worst case.
        in_flight: number of those.
    """

    def __init__(
        self, ceiling: Decimal | None = None, *, spent: Decimal = ZERO, possible: Decimal = ZERO
    ) -> None:
        """Start at zero, or at what earlier engines of the run have spent.

        Args:
            ceiling: US dollars; None for no limit, only totals.
            spent, possible: from the journal of a resumed run.
        """
        self._ceiling = ceiling
        self.pool: Pool | None = None
        self.spent = spent
        self.possible = possible
        self.reserved = ZERO
        self.in_flight = 0
        self._driven = False
        self._doubted = ZERO
        self._waiting: deque[tuple[Reservation, asyncio.Future[Reservation]]] = deque()

    @property
    def ceiling(self) -> Decimal | None:
        """The limit in US dollars. Raising it lets waiting calls continue."""
        return self._ceiling

    @ceiling.setter
    def ceiling(self, value: Decimal | None) -> None:
        self._ceiling = value
        self._admit_waiting()

    @property
    def left(self) -> Decimal | None:
        """What can still be reserved; None without a limit."""
        shared, own = self.pool.left if self.pool else None, self._own_left
        if own is None or shared is None:
            return shared if own is None else own
        return min(own, shared)

    @property
    def _own_left(self) -> Decimal | None:
        if self._ceiling is None:
            return None
        return self._ceiling - self.spent - self.possible - self.reserved

    @property
    def doubted(self) -> Decimal:
        """Possible further cost of the calls in flight, see :class:`Reservation`."""
        return self._doubted

    @property
    def goes_on(self) -> bool:
        """Whether its run is driven and does not wait for money."""
        return self._driven and not self._waiting

    @property
    def short(self) -> bool:
        """Whether all that its run still asks waits for money."""
        return bool(self._waiting) and not self.in_flight

    def begin(self) -> None:
        """Its run is driven from now on: runs that share its pool wait for it."""
        self._driven = True

    def end(self) -> None:
        """Its run is no longer driven."""
        self._driven = False
        self._admit_waiting()

    @property
    def overdrawn(self) -> bool:
        """Whether more is spent and reserved than the limit: an overrun became known."""
        if self._ceiling is None and self.pool is None:
            return False
        left = self.left
        return left is not None and left < ZERO

    def reserve(self, reservation: Reservation) -> Reservation | None:
        """Open a reservation and return it; None if it does not fit now."""
        if not self._fits(reservation):
            return None
        self._open(reservation)
        return reservation

    def admit_now(self, reservation: Reservation) -> bool:
        """Open a reservation if it fits and none waits; whether it was opened."""
        if self._waiting or not self._fits(reservation):
            return False
        self._open(reservation)
        return True

    async def admit(self, reservation: Reservation) -> Reservation:
        """Open a reservation and return it; if it does not fit yet, wait for calls in flight.

        Calls wait in order, so that small ones do not starve a large one. As the budget runs low,
        fewer calls are in flight, down to one at a time. A run that shares a pool also waits for
        the other runs: as long as one of them goes on, the pool may still be raised.

        Raises:
            BudgetReached: nothing is in flight and it still does not fit.
            Withdrawn: see :meth:`withdraw`.
        """
        if self.admit_now(reservation):
            return reservation
        place: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        self._waiting.append((reservation, place))
        if reservation.group:
            reservation.group.reservations.add(reservation)
        self._admit_waiting()
        try:
            return await place
        except asyncio.CancelledError:
            if reservation.open:
                self.release(reservation)
            self._forget(reservation)
            self._admit_waiting()
            raise

    def withdraw(self) -> None:
        """End all waiting for money: the run is to send nothing more."""
        while self._waiting:
            reservation, place = self._waiting.popleft()
            if not place.done():
                self._forget(reservation)
                place.set_exception(Withdrawn)

    def settle(self, reservation: Reservation, cost: Decimal | None) -> None:
        """The call was answered at this cost; None means unknown and counts as its worst case.

        A cost above the worst case is counted in full.
        """
        self._close(reservation)
        self.spent += reservation.worst if cost is None else cost
        self._admit_waiting()

    def possibly_billed(self, reservation: Reservation) -> None:
        """The call was interrupted (time-out, reset, crash): it may have been billed."""
        self._close(reservation)
        self.possible += reservation.worst
        self._admit_waiting()

    def release(self, reservation: Reservation) -> None:
        """The call was never sent, or failed in a way that is never billed."""
        self._close(reservation)
        self._admit_waiting()

    def take(self, reservation: Reservation) -> Reservation:
        """Reserve for calls that are already pending, regardless of the limit."""
        self._open(reservation)
        return reservation

    def merge(self, reservation: Reservation, into: Reservation) -> None:
        """Add one reservation to another, for calls that are answered together."""
        self._close(reservation)
        into.worst += reservation.worst
        into.calls += reservation.calls
        self.reserved += reservation.worst

    def settle_part(self, reservation: Reservation, worst: Decimal, cost: Decimal) -> None:
        """Settle one of the calls of a reservation.

        Args:
            reservation: the reservation, which stays open.
            worst: that call's share of it.
            cost: US dollars.
        """
        part = min(worst, reservation.worst)
        reservation.worst -= part
        reservation.calls -= 1
        self.reserved -= part
        self.spent += cost
        self._admit_waiting()

    def raise_worst(self, group: ReservationGroup, by: Decimal) -> None:
        """Raise what every call of a group may cost beyond its reservation.

        Nothing is admitted before everything in flight fits again.
        """
        for reservation in group.reservations:
            more = by * reservation.calls
            reservation.worst += more
            if reservation.open:
                self.reserved += more

    def _fits(self, reservation: Reservation) -> bool:
        if self._ceiling is None and self.pool is None:
            return True
        left = self.left
        if left is None:
            return True
        if reservation.worst > left:
            return False
        group = reservation.group
        if not reservation.doubt or group is None or group.in_flight <= group.kept:
            return True
        doubted = self.pool.doubted if self.pool else self._doubted
        return reservation.worst + reservation.doubt <= left - doubted

    def _open(self, reservation: Reservation) -> None:
        reservation.open = True
        self.reserved += reservation.worst
        self._doubted += reservation.doubt
        self.in_flight += 1
        if reservation.group:
            reservation.group.in_flight += 1
            reservation.group.reservations.add(reservation)

    def _close(self, reservation: Reservation) -> None:
        if not reservation.open:
            raise ValueError("this reservation has ended already")
        reservation.open = False
        self.reserved -= reservation.worst
        self._doubted -= reservation.doubt
        self.in_flight -= 1
        if reservation.group:
            reservation.group.in_flight -= 1
            reservation.group.reservations.discard(reservation)

    @staticmethod
    def _forget(reservation: Reservation) -> None:
        if reservation.group:
            reservation.group.reservations.discard(reservation)

    def _admit_waiting(self) -> None:
        if self.pool:
            self.pool.changed()
        elif self._waiting:
            self.look_again()

    def look_again(self) -> None:
        """Admit the waiting calls that fit now."""
        while self._waiting:
            reservation, place = self._waiting[0]
            if place.done():
                self._waiting.popleft()
            elif self.reserve(reservation):
                self._waiting.popleft()
                place.set_result(reservation)
            elif self.in_flight or self._others_may_leave(reservation):
                return
            else:
                self._waiting.popleft()
                self._forget(reservation)
                place.set_exception(BudgetReached(reservation.worst, self.left or ZERO))

    def _others_may_leave(self, reservation: Reservation) -> bool:
        """Whether it would fit if other runs left more, or their pool were raised."""
        own = self._own_left
        fits_own = own is None or reservation.worst <= own
        return self.pool is not None and fits_own and self.pool.others_go_on(self)

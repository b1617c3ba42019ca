"""The ceiling holds whatever the order of events, and no cent is lost."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from evalbench.engine.cost.budget import Budget, BudgetReached, Reservation
from tests.examples import examples

CENTS = st.decimals(0, 3, places=7)
SHARE = st.decimals(0, 1, places=3)


def usd(text: str) -> Decimal:
    return Decimal(text)


class AnyOrder(RuleBasedStateMachine):
    """Reservations and their ends in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(usd("5"))
        self.spent = self.possible = self.reserved = usd("0")

    reservations: Any = Bundle("tickets")

    @rule(target=reservations, worst=CENTS)
    def reserve(self, worst: Decimal) -> Reservation | None:
        reservation = self.budget.reserve(Reservation(worst))
        fits = self.spent + self.possible + self.reserved + worst <= 5
        assert (reservation is not None) == fits
        if reservation:
            self.reserved += worst
        return reservation

    @rule(reservation=consumes(reservations), share=SHARE)
    def settle(self, reservation: Reservation | None, share: Decimal) -> None:
        if reservation:
            self.budget.settle(reservation, reservation.worst * share)
            self.spent += reservation.worst * share
            self.reserved -= reservation.worst

    @rule(reservation=consumes(reservations))
    def settle_unknown(self, reservation: Reservation | None) -> None:
        if reservation:
            self.budget.settle(reservation, None)
            self.spent += reservation.worst
            self.reserved -= reservation.worst

    @rule(reservation=consumes(reservations))
    def cut(self, reservation: Reservation | None) -> None:
        if reservation:
            self.budget.possibly_billed(reservation)
            self.possible += reservation.worst
            self.reserved -= reservation.worst

    @rule(reservation=consumes(reservations))
    def release(self, reservation: Reservation | None) -> None:
        if reservation:
            self.budget.release(reservation)
            self.reserved -= reservation.worst

    @invariant()
    def never_above_the_ceiling_and_nothing_lost(self) -> None:
        held = self.budget
        assert (held.spent, held.possible, held.reserved) == (
            self.spent,
            self.possible,
            self.reserved,
        )
        assert held.spent + held.possible + held.reserved <= 5
        assert held.left == 5 - self.spent - self.possible - self.reserved


AnyOrder.TestCase.settings = settings(
    deadline=None, max_examples=examples(60), stateful_step_count=30
)
TestAnyOrder = AnyOrder.TestCase


@settings(deadline=None)
@given(st.lists(st.tuples(CENTS, SHARE, st.booleans()), max_size=40), st.randoms())
def test_workers_side_by_side_spend_within_the_ceiling(
    calls: list[tuple[Decimal, Decimal, bool]], rng: Any
) -> None:
    budget = Budget(usd("4"))
    outcome = {"answered": usd("0"), "cut": usd("0")}

    async def call(worst: Decimal, share: Decimal, cut: bool) -> None:
        try:
            reservation = await budget.admit(Reservation(worst))
        except BudgetReached:
            return
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
            assert budget.spent + budget.possible + budget.reserved <= 4
        if cut:
            budget.possibly_billed(reservation)
            outcome["cut"] += worst
        else:
            budget.settle(reservation, worst * share)
            outcome["answered"] += worst * share

    async def everything() -> None:
        await asyncio.gather(*(call(*one) for one in calls))

    asyncio.run(everything())
    assert (budget.spent, budget.possible) == (outcome["answered"], outcome["cut"])
    assert (budget.reserved, budget.in_flight) == (usd("0"), 0)


async def test_a_small_budget_sends_fewer_at_once_instead_of_stopping() -> None:
    budget = Budget(usd("1"))
    most = 0

    async def call() -> None:
        nonlocal most
        reservation = await budget.admit(Reservation(usd("0.3")))
        most = max(most, budget.in_flight)
        await asyncio.sleep(0)
        budget.settle(reservation, usd("0.01"))

    await asyncio.gather(*(call() for _ in range(64)))
    assert budget.spent == usd("0.64")
    assert most == 3


async def test_it_is_reached_only_when_nothing_is_in_flight() -> None:
    budget = Budget(usd("1"))
    first = await budget.admit(Reservation(usd("0.8")))
    second = asyncio.create_task(budget.admit(Reservation(usd("0.5"))))
    await asyncio.sleep(0)
    assert not second.done()
    budget.settle(first, usd("0.6"))
    with pytest.raises(BudgetReached) as caught:
        await second
    assert (caught.value.worst, caught.value.left) == (usd("0.5"), usd("0.4"))


async def test_a_large_call_is_not_overtaken_for_ever() -> None:
    budget = Budget(usd("1"))
    first = await budget.admit(Reservation(usd("0.6")))
    large = asyncio.create_task(budget.admit(Reservation(usd("0.9"))))
    await asyncio.sleep(0)
    small = asyncio.create_task(budget.admit(Reservation(usd("0.1"))))
    await asyncio.sleep(0)
    budget.settle(first, usd("0.05"))
    held = await large
    assert not small.done()
    budget.settle(held, usd("0"))
    assert (await small).worst == usd("0.1")


async def test_a_call_that_stops_waiting_frees_its_place() -> None:
    budget = Budget(usd("1"))
    first = await budget.admit(Reservation(usd("0.9")))
    gone = asyncio.create_task(budget.admit(Reservation(usd("0.8"))))
    small = asyncio.create_task(budget.admit(Reservation(usd("0.1"))))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await small).worst == usd("0.1")
    # Cancelled in the very moment in which it was let in.
    late = asyncio.create_task(budget.admit(Reservation(usd("0.5"))))
    await asyncio.sleep(0)
    budget.settle(first, usd("0"))
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    assert (budget.in_flight, budget.reserved) == (1, usd("0.1"))


async def test_a_raised_ceiling_lets_waiting_calls_go() -> None:
    budget = Budget(usd("1"))
    await budget.admit(Reservation(usd("0.9")))
    waiting = asyncio.create_task(budget.admit(Reservation(usd("0.5"))))
    await asyncio.sleep(0)
    budget.ceiling = usd("2")
    assert (await waiting).worst == usd("0.5")


def test_a_resumed_run_goes_on_from_what_it_spent() -> None:
    budget = Budget(usd("0.50"), spent=usd("0.3"), possible=usd("0.1"))
    assert budget.left == usd("0.1")
    assert budget.reserve(Reservation(usd("0.11"))) is None
    assert budget.reserve(Reservation(usd("0.1"))) is not None


def test_without_a_ceiling_it_only_adds_up() -> None:
    budget = Budget()
    reservation = budget.reserve(Reservation(usd("1000000")))
    assert reservation
    assert budget.left is None
    budget.settle(reservation, usd("0.1") + usd("0.2"))
    assert budget.spent == usd("0.3")


def test_a_reservation_ends_once() -> None:
    budget = Budget(usd("1"))
    reservation = budget.reserve(Reservation(usd("0.5")))
    assert reservation
    budget.settle(reservation, usd("0.1"))
    for end in (budget.release, budget.possibly_billed):
        with pytest.raises(ValueError, match="already"):
            end(reservation)
    assert (budget.spent, budget.reserved, budget.in_flight) == (usd("0.1"), usd("0"), 0)


def test_a_call_dearer_than_its_worst_case_is_counted_in_full() -> None:
    budget = Budget(usd("1"))
    reservation = budget.reserve(Reservation(usd("0.9")))
    assert reservation
    budget.settle(reservation, usd("1.2"))
    assert budget.spent == usd("1.2")
    assert budget.reserve(Reservation(usd("0"))) is None

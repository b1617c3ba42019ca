"""Several runs share one ceiling: a call leaves only where it fits into what all have left."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from evalbench.engine.cost.budget import Budget, BudgetReached, Pool, Reservation, Withdrawn


def shared(pool: Pool, **spent: Decimal) -> Budget:
    budget = Budget(**spent)
    budget.pool = pool
    pool.join(budget)
    return budget


def call(worst: int) -> Reservation:
    return Reservation(Decimal(worst))


async def test_runs_share_what_is_left_and_wait_for_one_another() -> None:
    pool = Pool(Decimal(10), {"complete": Decimal(2)})
    one, other = shared(pool, spent=Decimal(1)), shared(pool)
    assert one.left == other.left == Decimal(7)
    first = await one.admit(call(6))
    assert other.reserve(call(2)) is None
    waiting = asyncio.ensure_future(other.admit(call(2)))
    await asyncio.sleep(0)
    assert not waiting.done()
    # What the other run's call leaves over is this one's.
    one.settle(first, Decimal(3))
    second = await waiting
    assert one.left == Decimal(2)
    # Nothing is in flight in this run, but in the other one there is.
    late = asyncio.ensure_future(one.admit(call(3)))
    await asyncio.sleep(0)
    assert not late.done()
    other.settle(second, Decimal(2))
    with pytest.raises(BudgetReached):
        await late
    pool.ceiling = Decimal(20)
    assert (await one.admit(call(3))).open


async def test_a_run_keeps_to_its_own_ceiling_too() -> None:
    pool = Pool(None, {})
    one, other = shared(pool, ceiling=Decimal(1)), shared(pool)
    assert one.reserve(call(2)) is None
    assert other.reserve(call(200))
    assert other.left is None


async def test_a_run_without_money_of_its_own_waits_for_no_other() -> None:
    pool = Pool(None, {})
    one, other = shared(pool, ceiling=Decimal(1)), shared(pool)
    assert other.reserve(call(200))
    with pytest.raises(BudgetReached):
        await one.admit(call(2))


async def test_a_limit_that_comes_later_holds_all_runs_and_counts_what_is_out() -> None:
    pool = Pool(None, {"complete": Decimal(2)})
    one, other = shared(pool, spent=Decimal(1)), shared(pool)
    sent = [await one.admit(call(4)), await other.admit(call(5))]
    pool.ceiling = Decimal(13)
    assert (one.left, other.left) == (Decimal(1), Decimal(1))
    for run in one, other:
        assert run.reserve(call(2)) is None
    waiting = asyncio.ensure_future(other.admit(call(4)))
    await asyncio.sleep(0)
    assert not waiting.done()
    one.settle(sent[0], Decimal(1))
    assert (await waiting).open
    # Taken away again, it holds none of them.
    pool.ceiling = None
    for run in one, other:
        assert run.reserve(call(200))


async def test_a_run_waits_for_others_that_go_on_and_for_a_higher_budget() -> None:
    pool = Pool(Decimal(10), {})
    one, other = shared(pool), shared(pool)
    one.begin()
    other.begin()
    # Nothing is in flight, but the other run is between two calls.
    waiting = asyncio.ensure_future(one.admit(call(11)))
    await asyncio.sleep(0)
    assert (one.short, other.short) == (True, False)
    sent = await other.admit(call(1))
    other.settle(sent, Decimal(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    pool.ceiling = Decimal(20)
    first = await waiting
    one.settle(first, Decimal(11))

    # Once nobody can go on, both have reached it, one after the other.
    late = [asyncio.ensure_future(run.admit(call(9))) for run in (one, other)]
    with pytest.raises(BudgetReached):
        await late[0]
    assert not late[1].done()
    one.end()
    with pytest.raises(BudgetReached):
        await late[1]


async def test_a_run_that_ends_no_longer_holds_others_up() -> None:
    pool = Pool(Decimal(10), {})
    one, other = shared(pool), shared(pool)
    one.begin()
    other.begin()
    waiting = asyncio.ensure_future(one.admit(call(11)))
    await asyncio.sleep(0)
    assert not waiting.done()
    other.end()
    with pytest.raises(BudgetReached):
        await waiting


async def test_a_run_that_stops_waits_for_no_money() -> None:
    budget = Budget(Decimal(10))
    sent = await budget.admit(call(9))
    waiting = [asyncio.ensure_future(budget.admit(call(2))) for _ in range(2)]
    await asyncio.sleep(0)
    budget.withdraw()
    for one in waiting:
        with pytest.raises(Withdrawn):
            await one
    budget.settle(sent, Decimal(1))
    assert (budget.spent, budget.reserved) == (Decimal(1), Decimal(0))
    assert (await budget.admit(call(2))).open

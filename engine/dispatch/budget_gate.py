"""Reserves money before a call is sent; when the budget is reached, the run is notified once."""

from __future__ import annotations

from decimal import Decimal

from evalbench.engine.cost.budget import Budget, BudgetReached, Reservation, Withdrawn
from evalbench.engine.dispatch.base import ZERO, BudgetSpent, Halted, Report


class BudgetGate:
    """Reserves the possible cost of one dispatcher's calls."""

    def __init__(self, budget: Budget, report: Report) -> None:
        """``report`` receives the event that the budget is reached."""
        self._budget = budget
        self._report = report
        self._told_left: Decimal | None = None

    async def admit(self, reservation: Reservation) -> Reservation:
        """Reserve the worst case of one attempt, waiting for others in flight.

        Raises:
            BudgetSpent: it does not fit, and nothing else is in flight.
            Halted: the run stops meanwhile.
        """
        try:
            return await self._budget.admit(reservation)
        except BudgetReached as reached:
            # Every waiting call ends this way; only one reports it.
            if reached.left != self._told_left:
                self._told_left = reached.left
                left = max(ZERO, reached.left)
                self._report("budget-reached", next_call_usd=str(reached.worst), left_usd=str(left))
            raise BudgetSpent from None
        except Withdrawn:
            raise Halted from None

"""What a dispatcher needs to know of money: reserve before sending, settle after."""

from __future__ import annotations

from decimal import Decimal

from evalbench.engine.calls import Call, Reply
from evalbench.engine.errors import ProviderError
from evalbench.engine.money.budget import Budget, Ticket
from evalbench.engine.money.tokens import input_tokens
from evalbench.engine.money.unit_prices import ZERO, UnitPrices

UNCAPPED_TOKENS = 32_768
"""Taken as the longest answer of a call that has no cap of its own."""


class Purse:
    """One model's unit prices over one run's budget.

    With unknown prices nothing is reserved and every cost is None; a run with
    a ceiling does not start in that case.
    """

    def __init__(self, budget: Budget, prices: UnitPrices | None, fps: float = 1.0) -> None:
        """``fps``: frames that the model looks at in a second of a video."""
        self.budget = budget
        self.prices = prices
        self._fps = fps

    def worst_case(self, call: Call) -> Decimal:
        """The most that one attempt at a call can cost, in US dollars."""
        if self.prices is None or self.prices.free:
            return ZERO
        prompt = call.prompt
        cap = 1 if prompt.kind == "choose" else prompt.params.max_tokens or UNCAPPED_TOKENS
        most = input_tokens(prompt, call.model.name, fps=self._fps).most
        return self.prices.worst_case(most, cap)

    def cost(self, reply: Reply) -> Decimal | None:
        """What an answer cost; None when the price or its tokens are unknown."""
        return None if self.prices is None else self.prices.cost(reply.usage)

    def answered(self, ticket: Ticket, reply: Reply) -> Decimal | None:
        """Settle an answered attempt; its cost, None when prices are unknown."""
        cost = reply.billed
        if cost is None:
            if self.prices is None:
                self.budget.release(ticket)
                return None
            cost = self.prices.cost(reply.usage)
        self.budget.settle(ticket, cost)
        return ticket.worst if cost is None else cost

    def failed(self, ticket: Ticket, error: ProviderError) -> Decimal:
        """Settle a failed attempt; what it may have cost all the same."""
        if error.possibly_billed:
            self.budget.possibly_billed(ticket)
            return ticket.worst
        self.budget.release(ticket)
        return ZERO

    def cut(self, ticket: Ticket, *, sent: bool) -> None:
        """End an attempt that was abandoned, on the wire or before it."""
        if sent:
            self.budget.possibly_billed(ticket)
        else:
            self.budget.release(ticket)

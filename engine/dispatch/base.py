"""What the driver expects of a dispatcher, in whatever mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, Protocol

from evalbench.engine.calls import Call, Outcome, Reply
from evalbench.engine.errors import ProviderError

ZERO = Decimal(0)

Report = Callable[..., None]
"""``report(kind, **body)`` puts an event into the run's journal."""


class Dispatcher(Protocol):
    """Gets calls answered. Retries, waiting and limits live here, not in providers."""

    @property
    def window(self) -> int:
        """How many samples should be in work at once to keep this dispatcher busy."""

    @property
    def ready_at(self) -> float | None:
        """Since when calls can be answered, on the monotonic clock; None while a model loads."""

    async def answer(
        self, call: Call, key: str, before_send: Callable[[], Awaitable[None]]
    ) -> Reply:
        """The final reply to one call, after any retries.

        Args:
            call: what to ask.
            key: unique within the engine; equal keys are the same call.
            before_send: awaited once, just before the call first leaves.

        Returns:
            A reply; of outcome ``error`` when this call cannot be answered.

        Raises:
            RunFatal: when no call of the run can be answered.
        """

    def halt(self) -> None:
        """Send nothing more: calls that are not on the wire raise :class:`Halted`."""

    def set_concurrency(self, calls: int | None) -> None:
        """Change the number of calls in flight, live; None: the dispatcher finds its own."""

    def gauges(self) -> dict[str, Any]:
        """Numbers for the screen: in flight, waiting, memory and the like."""

    async def close(self) -> None:
        """Give everything back. Calls still in flight are cut off."""


class Halted(BaseException):
    """The run is stopping: this call was not sent.

    A BaseException, so that no ``except Exception`` in a benchmark swallows it.
    """


class BudgetSpent(Halted):
    """The budget is reached: this call was not sent, and nothing else is in flight."""


def failed_reply(error: ProviderError, attempts: int, possible_cost: Decimal = ZERO) -> Reply:
    """The reply that stands for a call that could not be answered."""
    return Reply(
        outcome=Outcome.ERROR,
        error=f"{type(error).__name__}: {error}",
        possibly_billed=error.possibly_billed,
        possible_cost=possible_cost,
        attempts=attempts,
        raw={"status": error.status, "body": error.body} if error.status or error.body else None,
    )

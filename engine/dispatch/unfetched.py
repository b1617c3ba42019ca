"""Calls that a provider has presumably answered but whose answers it does not deliver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from evalbench.engine.errors import ResultsNotFetched, counted


@dataclass(frozen=True, slots=True)
class Unfetched:
    """Calls whose batches have ended, but whose results cannot be fetched.

    Attributes:
        calls: number of calls.
        batches: number of batches they are in.
        worst: maximum cost in US dollars of sending them again; None if unknown.
        why: the provider's message.
    """

    calls: int
    batches: int
    worst: Decimal | None
    why: str


def not_fetched(found: Sequence[Unfetched], run: str) -> ResultsNotFetched:
    """The error for a run that ends with unfetched calls: their number and the cost of a resend.

    Args:
        found: at least one.
        run: the run's id.
    """
    calls, batches = sum(one.calls for one in found), sum(one.batches for one in found)
    asked = counted(calls, "call")
    ended = counted(batches, "batch") + (" has" if batches == 1 else " have")
    return ResultsNotFetched(
        f"{ended} ended, but the results of {asked} cannot be fetched",
        why=found[0].why,
        hint=(
            f"evalbench resume {run} fetches them and sends nothing again;"
            f" if that fails for good, evalbench resume {run} --resend-unfetched sends the"
            f" {asked} again, for {_cost(found)}"
        ),
    )


def _cost(found: Sequence[Unfetched]) -> str:
    worst = [one.worst for one in found if one.worst is not None]
    if len(worst) < len(found):
        return "an unknown price"
    return f"at most {sum(worst):.4f} US dollars"

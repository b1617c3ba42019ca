"""A run's current and projected cost, in words."""

from __future__ import annotations

from evalbench.engine.runs.status import Status
from evalbench.tui.state import figures


def forecast(status: Status) -> float | None:
    """Projected cost of the whole run in US dollars, if the rest costs the same; None: unknown."""
    if not status.spend_usd or not status.done:
        return None
    return status.spend_usd / status.done * status.total


def as_others(status: Status, number: int) -> float | None:
    """Cost of asking this many samples again in US dollars, if each costs what the others did."""
    answered = status.done - status.failed
    if not (status.spend_usd and number) or answered <= 0:
        return None
    return status.spend_usd / answered * number


def is_free(status: Status) -> bool:
    """Whether there is nothing to show: no money was spent, may have been, or is limited."""
    unspent = status.spend_usd == 0
    unasked = status.spend_usd is None and not (status.sent or status.from_journal)
    return (unspent or unasked) and not status.possible_usd and status.budget_usd is None


def spent_alone(status: Status) -> str:
    """``$0.12``, or ``unknown``."""
    return "unknown" if status.spend_usd is None else figures.dollars(status.spend_usd)


def spent_words(status: Status) -> str:
    """``$0.12 of $0.50``, or ``unknown``."""
    return spent_alone(status) + (
        "" if status.budget_usd is None else f" of {figures.dollars(status.budget_usd)}"
    )


def spend_line(status: Status) -> str:
    """A live run's current and projected cost; empty for one that costs nothing."""
    if is_free(status):
        return ""
    parts = [f"spent {spent_words(status)}"]
    if (
        status.done < status.total
        and not status.at_rest
        and (whole := forecast(status)) is not None
    ):
        parts.append(f"about {figures.dollars(whole)} in all")
    if status.possible_usd:
        parts.append(f"{figures.dollars(status.possible_usd)} possibly billed in addition")
    return " · ".join(parts)

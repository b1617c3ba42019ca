"""Settings that can be changed while a run is going on, parsed from typed text."""

from __future__ import annotations

import math

from evalbench.engine.runs.status import Status
from evalbench.tui.state import figures

MOST_CALLS = 10_000


class InvalidValue(ValueError):
    """The typed value is invalid; says why in one line."""


def read_concurrency(text: str) -> int | None:
    """Maximum concurrent calls; None for ``auto``: adaptive.

    Raises:
        InvalidValue: it is neither.
    """
    typed = text.strip().lower()
    if typed == "auto":
        return None
    if not typed.isdecimal() or not 1 <= int(typed) <= MOST_CALLS:
        raise InvalidValue(f"a whole number from 1 to {figures.count(MOST_CALLS)}, or auto")
    return int(typed)


def read_budget(text: str, status: Status) -> float | None:
    """US dollars; None for ``none``: no limit.

    Raises:
        InvalidValue: it is neither, or less than what is spent.
    """
    typed = text.strip().lower().removeprefix("$").strip()
    if typed == "none":
        return None
    try:
        dollars = float(typed)
    except ValueError:
        dollars = math.nan
    if not math.isfinite(dollars) or dollars <= 0:
        raise InvalidValue("an amount in US dollars, or none")
    spent = (status.spend_usd or 0) + status.possible_usd
    if dollars < spent:
        raise InvalidValue(f"{figures.dollars(spent)} are spent or possibly billed already")
    return dollars

"""``--mode auto``: use batches if they save enough to be worth the wait, else realtime."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from evalbench.engine.config.spec import RunSpec

if TYPE_CHECKING:
    from evalbench.engine.cost.estimated import Estimate

WORTH_USD = 1
"""The minimum saving for which a run waits hours for batches."""


def is_open(spec: RunSpec) -> bool:
    """Whether the mode of a run still has to be chosen."""
    return spec.settings.candidate.mode == "auto"


def in_mode(spec: RunSpec, mode: str) -> RunSpec:
    """A copy of the spec with another mode."""
    return spec.changed(mode=mode)


def chosen(spec: RunSpec, found: Estimate) -> str:
    """Choose the mode of a run by its minimum cost in each mode.

    Batch, if the provider of any model supports batches, the number of calls is at least its
    minimum, and the low end of the estimate for these models is lower by :data:`WORTH_USD` or more.
    """
    parts = spec.roles()
    saved = Decimal(0)
    for role in found.roles:
        part = parts.get(role.role)
        terms = part.batch_terms() if part else None
        if terms is None or role.realtime is None or role.batch is None:
            continue
        if role.calls.low >= terms.least_requests:
            saved += role.realtime.low - role.batch.low
    return "batch" if saved >= WORTH_USD else "realtime"


def realtime_key(role: str) -> str:
    """The key, in a run's prices, of the realtime price of a role that is asked in batches."""
    return f"{role}@realtime"

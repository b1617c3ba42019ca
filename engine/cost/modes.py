"""``--mode auto``: through batches where that is worth the wait, else at once."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from evalbench.engine.config.spec import RunSpec

if TYPE_CHECKING:
    from evalbench.engine.cost.estimated import Estimate

WORTH_USD = 1
"""What batches must save, at least, for a run to wait hours for them."""


def is_open(spec: RunSpec) -> bool:
    """Whether the mode of a run is still to be chosen."""
    return spec.settings.candidate.mode == "auto"


def in_mode(spec: RunSpec, mode: str) -> RunSpec:
    """A spec in another mode."""
    return spec.changed(mode=mode)


def chosen(spec: RunSpec, found: Estimate) -> str:
    """The mode of a run by what it will cost in each, at least.

    Batch, where some model's provider takes batches, no fewer calls than it demands,
    and the low end of the estimate is at least :data:`WORTH_USD` less for these models.
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
    """Where a run's prices hold what a role that is asked in batches costs when asked at once."""
    return f"{role}@realtime"

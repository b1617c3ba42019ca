"""The content of an estimate: calls, tokens and cost of each role, as ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalbench.engine.cost.unit_prices import ZERO, UnitPrices


@dataclass(frozen=True, slots=True)
class Range:
    """A plausible minimum and maximum."""

    low: Decimal
    high: Decimal

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)


@dataclass(frozen=True, slots=True)
class RoleEstimate:
    """The estimate for one role.

    Attributes:
        role, model: the role and its model; empty if the model is not yet known.
        calls, input_tokens, output_tokens: over the whole run.
        images, image_tokens: sent with the calls; counted, not estimated.
        reused: calls answered by earlier runs, which are reused; not part of other numbers.
        realtime, batch: US dollars; None if the price is unknown.
        prices: the prices used for ``realtime``.
        batch_note: how the prices used for ``batch`` are known, if not from the table.
    """

    role: str
    model: str
    calls: Range
    input_tokens: Range
    output_tokens: Range
    images: Range
    image_tokens: Range
    reused: Range
    realtime: Range | None
    batch: Range | None
    prices: UnitPrices | None
    batch_note: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate for a run.

    Attributes:
        samples: number of samples in the run.
        counted: how many of them the estimate is based on.
        epochs: how often each is asked.
        roles: in the benchmark's order.
        unfinished: counted samples whose ``solve`` failed on the made-up replies; the calls made
            before that are counted.
    """

    samples: int
    counted: int
    epochs: int
    roles: tuple[RoleEstimate, ...]
    unfinished: int = 0

    @property
    def realtime(self) -> Range | None:
        """Total US dollars; None if the price of any role is unknown."""
        return _sum([role.realtime for role in self.roles])

    @property
    def batch(self) -> Range | None:
        """The same through batch APIs; None if unknown for any role."""
        return _sum([role.batch for role in self.roles])


def _sum(parts: Sequence[Range | None]) -> Range | None:
    total = Range(ZERO, ZERO)
    for part in parts:
        if part is None:
            return None
        total += part
    return total


def estimate_to_json(found: Estimate) -> dict[str, Any]:
    """A JSON form for pipes and ``--json``: ranges as ``[low, high]``; unknown amounts are null."""
    return {
        "samples": found.samples,
        "counted": found.counted,
        "epochs": found.epochs,
        "unfinished": found.unfinished,
        "realtime": _pair(found.realtime),
        "batch": _pair(found.batch),
        "roles": [
            {
                "role": role.role,
                "model": role.model,
                "calls": _pair(role.calls),
                "input_tokens": _pair(role.input_tokens),
                "output_tokens": _pair(role.output_tokens),
                "images": _pair(role.images),
                "image_tokens": _pair(role.image_tokens),
                "reused": _pair(role.reused),
                "realtime": _pair(role.realtime),
                "batch": _pair(role.batch),
                "prices": role.prices.to_json() if role.prices else None,
                "batch_note": role.batch_note,
            }
            for role in found.roles
        ],
    }


def _pair(bounds: Range | None) -> list[float] | None:
    return None if bounds is None else [float(bounds.low), float(bounds.high)]

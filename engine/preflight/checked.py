"""What the check of a spec found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalbench.engine.cost.unit_prices import Prices, prices_from_json, prices_to_json


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A spec that is ready to start: prepared sample file, number of samples, unit prices.

    ``fits`` says by role whether local models fit; see
    :meth:`evalbench.engine.hardware.fit.Fit.to_json`. ``estimate`` has the form of
    :func:`evalbench.engine.cost.estimated.estimate_to_json`; None if not requested, or the run
    costs nothing. ``mode`` is the run's, chosen if it was open.
    """

    file: Path
    count: int
    prices: Prices = field(default_factory=dict)
    estimate: dict[str, Any] | None = None
    fits: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return {
            "file": str(self.file),
            "count": self.count,
            "prices": prices_to_json(self.prices),
            "estimate": self.estimate,
            "fits": dict(self.fits),
            "mode": self.mode,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CheckedSpec:
        """Inverse of :meth:`to_json`."""
        found = cls(**value)
        return replace(found, file=Path(value["file"]), prices=prices_from_json(value["prices"]))

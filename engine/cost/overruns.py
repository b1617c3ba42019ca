"""Replies that cost more than the worst case of their calls, and what is learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalbench.engine.cost.unit_prices import ZERO


@dataclass(slots=True)
class Overruns:
    """How far replies to one role's calls exceeded what was expected.

    Stored with the run, so that a resume continues from what is known.

    Attributes:
        input_tokens, output_tokens: the maximum above the estimate and above the cap.
        dollars: the maximum in US dollars that such tokens do not explain.
        uncertain: number of attempts of unknown cost, counted at their worst case.
        added: US dollars by which those were undercounted, as later overruns showed.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = ZERO
    uncertain: int = 0
    added: Decimal = ZERO

    def to_json(self) -> dict[str, Any]:
        """The JSON form read by :meth:`from_json`; decimals as text."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "dollars": str(self.dollars),
            "uncertain": self.uncertain,
            "added": str(self.added),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Overruns:
        """Inverse of :meth:`to_json`."""
        return cls(
            value["input_tokens"],
            value["output_tokens"],
            Decimal(value["dollars"]),
            value["uncertain"],
            Decimal(value["added"]),
        )

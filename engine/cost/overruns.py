"""Replies that cost more than the worst case of their calls, and what they teach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from evalbench.engine.cost.unit_prices import ZERO


@dataclass(slots=True)
class Overruns:
    """By how much the replies to one role's calls went beyond what was expected.

    Kept with the run: an engine that resumes it goes on from what is known.

    Attributes:
        input_tokens, output_tokens: the most beyond the estimate and beyond the cap.
        dollars: the most that such tokens do not explain, in US dollars.
        uncertain: attempts that were counted at their worst case, as nobody knows their cost.
        added: US dollars by which those counted too little, as overruns showed later.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = ZERO
    uncertain: int = 0
    added: Decimal = ZERO

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back; decimals as text."""
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

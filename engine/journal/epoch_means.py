"""What a run in several epochs has of each sample, kept so that its scores need not be read.

Metrics of such a run are based on each sample's mean over its epochs, which counts of equal
scores do not show. The engine hands its own counts over when the journal comes to rest; they
are stored with the sums (:mod:`evalbench.engine.journal.sums`) and hold as long as no score
is added or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring.tally import Tally

Scores = list[tuple[Outcome, Mapping[str, float]]]


@dataclass(slots=True)
class EpochMeans:
    """Samples of a run in several epochs.

    Attributes:
        epochs: how often each sample is asked.
        means: samples that have all their scores, each counted once with its means.
        begun: the scores so far of the others, by row.
    """

    epochs: int
    means: Tally
    begun: dict[int, Scores]

    @property
    def size(self) -> int:
        """How many entries they take."""
        return len(self.means.rows) + sum(map(len, self.begun.values()))

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return {
            "epochs": self.epochs,
            "means": [
                [dict(tags), outcome.value, dict(values), count]
                for (tags, outcome, values), count in self.means.rows.items()
            ],
            "begun": [
                [row, [[outcome.value, dict(values)] for outcome, values in scores]]
                for row, scores in self.begun.items()
            ],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> EpochMeans:
        """From what is stored.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: it was edited.
        """
        means = Tally()
        for tags, outcome, values, count in stored["means"]:
            means.add(tags, Outcome(outcome), values, int(count))
        begun: dict[int, Scores] = {
            int(row): [(Outcome(outcome), dict(values)) for outcome, values in scores]
            for row, scores in stored["begun"]
        }
        return cls(int(stored["epochs"]), means, begun)

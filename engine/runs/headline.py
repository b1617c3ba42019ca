"""What a score counts as in the run's headline metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Benchmark, metrics_of
from evalbench.engine.calls import Outcome
from evalbench.engine.errors import DataError, EvalbenchError
from evalbench.engine.scoring.tally import Tally


class Headline:
    """The value of a score that the headline metric counts.

    That is the value with the metric's name. If the metric combines several, as a mean of ratings
    does, it is what the metric would be for this score alone: the benchmark is made then. While a
    run has no metric, and if its benchmark is not installed, a score's first value stands for it.

    Attributes:
        name: the metric's name; empty while there is none.
        graded: whether it is a grade, such as a rating from 1 to 10, and not right or wrong.
    """

    graded = False

    def __init__(self, name: str, benchmark: Callable[[], Benchmark]) -> None:
        """``name``: that of the metric, if known; ``benchmark`` makes the run's benchmark."""
        self.name = name
        self._make = benchmark
        self._alone: dict[tuple[object, ...], float | None] = {}

    @classmethod
    def of_journal(cls, journal: Path, name: str) -> Headline:
        """That of the run whose journal this is."""
        # Most runs never need what this imports.
        from evalbench.engine.config.spec import build_benchmark
        from evalbench.engine.runs.folder import RunFolder

        return cls(name, lambda: build_benchmark(RunFolder(journal.parent).spec()))

    def follow(self, metrics: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the headline of a status file, which may have none yet."""
        for name, metric in metrics.items():
            self.name = name
            # The mean of what is right or wrong is a proportion.
            self.graded = metric.get("share") is False or (metric.get("value") or 0) > 1
            break

    def __call__(self, values: Mapping[str, float], outcome: Outcome = Outcome.OK) -> float | None:
        """The value; None if there is none, as with a rating that could not be read."""
        if self.name in values:
            return values[self.name]
        if not self.name or not values:
            return next(iter(values.values()), None)
        key = (self.name, outcome, *sorted(values.items()))
        if key not in self._alone:
            self._alone[key] = self._of_one(values, outcome)
        return self._alone[key]

    def _of_one(self, values: Mapping[str, float], outcome: Outcome) -> float | None:
        if self._benchmark is None:
            return next(iter(values.values()), None)
        tally = Tally()
        tally.add({}, outcome, values)
        try:
            values_by_name = {
                metric.name: metric.value for metric in metrics_of(self._benchmark, tally)
            }
        except DataError:
            return None
        return values_by_name.get(self.name)

    @cached_property
    def _benchmark(self) -> Benchmark | None:
        try:
            return self._make()
        except EvalbenchError:
            return None

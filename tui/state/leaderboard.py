"""Models by what they scored: the newest complete run of each model on each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalbench.tui.state.run_list import RunLine


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A row for each model, a column for each benchmark.

    Attributes:
        benchmarks: those with the most models first.
        models: ordered by the benchmark asked for, the best first; models without it last.
        runs: the run that counts, by model and benchmark.
    """

    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    runs: Mapping[tuple[str, str], RunLine]

    def run(self, model: str, benchmark: str) -> RunLine | None:
        """The run of a cell."""
        return self.runs.get((model, benchmark))


def leaderboard(lines: Sequence[RunLine], by: str = "") -> Leaderboard:
    """The scores of complete runs side by side.

    Runs differ in their settings and in how many samples they took: a cell stands for one run,
    with its interval, and the page of that run tells the rest.

    Args:
        lines: runs, the newest first.
        by: the benchmark to order models by; empty, or one without a score: the first.
    """
    runs: dict[tuple[str, str], RunLine] = {}
    for line in lines:
        if line.state == "complete" and line.value is not None:
            runs.setdefault((line.model, line.benchmark), line)
    count: dict[str, int] = {}
    for _, benchmark in runs:
        count[benchmark] = count.get(benchmark, 0) + 1
    benchmarks = tuple(sorted(count, key=lambda name: (-count[name], name)))
    first = by if by in count else next(iter(benchmarks), "")

    def place(model: str) -> tuple[bool, float, str]:
        line = runs.get((model, first))
        return line is None, -(line.value or 0.0) if line else 0.0, model

    models = tuple(sorted({model for model, _ in runs}, key=place))
    return Leaderboard(benchmarks, models, runs)

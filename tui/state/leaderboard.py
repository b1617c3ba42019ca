"""Models by score: the newest complete run of each model on each benchmark."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from evalbench.engine.errors import EvalbenchError, UsageError
from evalbench.engine.runs.history import read_latency
from evalbench.tui.state import figures
from evalbench.tui.state.run_list import RunLine

Ranks = tuple[int, int]
"""The best and worst rank that a score can have; equal if certain."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A row per model, a column per benchmark.

    Attributes:
        benchmarks: those with the most models first; files of one name are told apart by folders.
        models: ordered by the selected benchmark, best first; models without it last.
        by: the selected benchmark; empty if there is none at all.
        runs: the selected run, by model and benchmark.
        ranks: the ranks that the intervals allow, by model and benchmark.
    """

    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    runs: Mapping[tuple[str, str], RunLine]
    by: str = ""
    ranks: Mapping[tuple[str, str], Ranks] = field(default_factory=dict)

    def run(self, model: str, benchmark: str) -> RunLine | None:
        """The run of a cell."""
        return self.runs.get((model, benchmark))

    def head(self, benchmark: str) -> str:
        """A benchmark for display: the title that its newest run here has, if any, and its name."""
        runs = (run for (_, name), run in self.runs.items() if name == benchmark)
        newest = max(runs, key=lambda run: run.created)
        title = newest.name.removesuffix(f" ({newest.benchmark})")
        return benchmark if newest.name == newest.benchmark else f"{title} ({benchmark})"

    def rank(self, model: str, benchmark: str) -> str:
        """``2`` or ``1–3``; empty if a model has no score."""
        ranks = self.ranks.get((model, benchmark))
        if ranks is None:
            return ""
        return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"

    def of_model(self, model: str) -> list[RunLine]:
        """The runs of a row."""
        return [run for name in self.benchmarks if (run := self.run(model, name))]


def leaderboard(lines: Sequence[RunLine], by: str = "") -> Leaderboard:
    """Build a leaderboard from complete runs.

    Runs differ in their settings and in how many samples they used: a cell represents one run, with
    its interval; that run's page has the details.

    Args:
        lines: runs, the newest first.
        by: benchmark to order models by; empty, or one without a score: the first.
    """
    scored = [line for line in lines if line.state == "complete" and line.value is not None]
    names = _names(scored)
    runs: dict[tuple[str, str], RunLine] = {}
    for line in scored:
        runs.setdefault((line.model, names[line.benchmark, line.source]), line)
    count: dict[str, int] = {}
    for _, benchmark in runs:
        count[benchmark] = count.get(benchmark, 0) + 1
    benchmarks = tuple(sorted(count, key=lambda name: (-count[name], name)))
    first = by if by in count else next(iter(benchmarks), "")

    def place(model: str) -> tuple[bool, float, str]:
        line = runs.get((model, first))
        return line is None, -(line.value or 0.0) if line else 0.0, model

    models = tuple(sorted({model for model, _ in runs}, key=place))
    ranks: dict[tuple[str, str], Ranks] = {}
    for benchmark in benchmarks:
        ranks |= _ranks({key: run for key, run in runs.items() if key[1] == benchmark})
    return Leaderboard(benchmarks, models, runs, first, ranks)


def _names(lines: Sequence[RunLine]) -> dict[tuple[str, str], str]:
    """A name of its own for each benchmark and source: of several, the ends of their paths."""
    sources: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        sources[line.benchmark].add(line.source)
    return {
        (benchmark, source): _name(benchmark, path)
        for benchmark, several in sources.items()
        for source, path in _shortest(several).items()
    }


def _name(benchmark: str, path: str) -> str:
    if not path:
        return benchmark
    of_file = benchmark in (Path(path).name, Path(path).stem)
    return path if of_file else f"{benchmark} of {path}"


def _shortest(paths: Set[str]) -> dict[str, str]:
    """The shortest end of each path that no other has; empty for a single one."""
    if len(paths) == 1:
        return dict.fromkeys(paths, "")
    parts = {path: Path(path).parts for path in paths}
    ends: dict[str, str] = {}
    for path, own in parts.items():
        count = 1
        while count < len(own) and any(
            other[-count:] == own[-count:] for name, other in parts.items() if name != path
        ):
            count += 1
        ends[path] = str(Path(*own[-count:])) if path else ""
    return ends


def _ranks(runs: Mapping[tuple[str, str], RunLine]) -> dict[tuple[str, str], Ranks]:
    """The ranks that the intervals allow in one benchmark.

    A model is certainly behind those whose whole interval is above its own, and certainly ahead of
    those whose whole interval is below. Scores without an interval count as exact.
    """
    ends = {key: _ends(run) for key, run in runs.items()}
    found = {}
    for key, (low, high) in ends.items():
        better = sum(other[0] > high for other in ends.values())
        worse = sum(other[1] < low for other in ends.values())
        found[key] = better + 1, len(ends) - worse
    return found


def _ends(run: RunLine) -> tuple[float, float]:
    value = run.metric["value"]
    low, high = run.metric.get("low"), run.metric.get("high")
    return value if low is None else low, value if high is None else high


def latency(run: RunLine) -> float | None:
    """The median reply latency in seconds; None if the journal does not have it."""
    try:
        return read_latency(run.folder.journal, (0.5,))[0]
    except EvalbenchError:
        return None


def chosen(
    lines: Sequence[RunLine], tag: str = "", since: float = 0.0, until: float | None = None
) -> list[RunLine]:
    """The runs with a tag that were created in a period, in Unix seconds, both ends included."""
    end = float("inf") if until is None else until
    return [
        line for line in lines if (not tag or tag in line.tags) and since <= line.created <= end
    ]


def moment(text: str, *, end: bool = False) -> float:
    """Parse a date to Unix seconds, in local time: ``2026-05-01``, or with a time of day.

    Args:
        text: in ISO 8601 format.
        end: whether a date without a time means the end of that day, not its beginning.

    Raises:
        UsageError: it is invalid.
    """
    from datetime import datetime, timedelta

    try:
        found = datetime.fromisoformat(text)
        if end and len(text) == len("2026-05-01"):
            found += timedelta(days=1, microseconds=-1)
        return found.timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{text!r} is no date", why=str(error), hint="write one such as 2026-05-01"
        ) from None


def day(created: float) -> str:
    """The date a run was created."""
    return time.strftime("%Y-%m-%d", time.localtime(created)) if created else ""


def cell_words(board: Leaderboard, model: str, benchmark: str) -> str:
    """``27.2 % (23.5–31.3) · 1–2``; empty if a model has no score."""
    run = board.run(model, benchmark)
    return f"{figures.score(run.metric)} · {board.rank(model, benchmark)}" if run else ""


def total_cost(runs: Sequence[RunLine]) -> float | None:
    """The total cost of some runs in US dollars; None if any is unknown."""
    costs = [run.cost for run in runs]
    return None if any(one is None for one in costs) else sum(one or 0.0 for one in costs)

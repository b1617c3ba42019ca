"""The runs of a report, read once each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evalbench.engine.compare import Comparison, compare
from evalbench.engine.compare.scores import RunScores, read_scores
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from evalbench.tui.report.samples import ReportSamples
from evalbench.tui.state.clean import one_line
from evalbench.tui.state.heatmap import Heatmap, heatmaps
from evalbench.tui.state.run_facts import RunFacts, run_facts

_LETTERS = "ABCDEFGHIJKL"
MOST_RUNS = len(_LETTERS)
"""Runs side by side; more columns could not be read."""

_NOT_BEGUN = "nothing was asked yet"


@dataclass(slots=True)
class ReadRun:
    """One run as it was read.

    Attributes:
        label: what it is called in the report; empty for a lone one.
        matrices: its metrics over the same things.
        scores: its samples; None where they have no scores of their own, for the
            reason ``untold``.
    """

    folder: RunFolder
    spec: RunSpec
    status: Status
    facts: RunFacts
    label: str
    matrices: list[Heatmap] = field(default_factory=list)
    scores: RunScores | None = None
    untold: str = ""

    @property
    def headline(self) -> str:
        """Name of the metric that it is known by; empty without any."""
        return next(iter(self.facts.metrics), "")

    @property
    def model(self) -> str:
        """The model's own name."""
        return one_line(self.spec.model).rpartition("/")[2]

    def samples(self) -> ReportSamples | None:
        """Its samples; None where it has no journal."""
        there = self.folder.journal.exists()
        return ReportSamples(self.folder, self.headline, self.label) if there else None


@dataclass(slots=True)
class ReadRuns:
    """All runs of a report, and how they compare; None where they do not, for ``unpaired``."""

    runs: list[ReadRun]
    comparison: Comparison | None = None
    unpaired: str = ""

    @property
    def labels(self) -> list[str]:
        """What the runs are called in charts and tables."""
        return [run.label or run.model for run in self.runs]


def read_runs(folders: Sequence[RunFolder]) -> ReadRuns:
    """Read runs.

    Raises:
        UsageError: too many runs, or one twice.
        RunNotFound: a folder is no run.
        JournalError: a journal cannot be read.
    """
    if len({folder.path.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is named twice", hint="name each run once")
    if len(folders) > MOST_RUNS:
        raise UsageError(
            f"{len(folders)} runs do not fit side by side",
            hint=f"name at most {MOST_RUNS}, or write several reports",
        )
    read = ReadRuns([_read(folder, at, len(folders)) for at, folder in enumerate(folders)])
    if len(folders) > 1:
        _compare(read)
    if read.comparison is None:
        for run in read.runs:
            _tell_apart(run)
    return read


def _compare(read: ReadRuns) -> None:
    folders = [run.folder for run in read.runs]
    if not all(folder.journal.exists() for folder in folders):
        read.unpaired = _NOT_BEGUN
        return
    try:
        read.comparison = compare(folders)
    except (UsageError, SpecError) as error:
        read.unpaired = one_line(str(error))
    else:
        for run, contender in zip(read.runs, read.comparison.contenders, strict=True):
            run.scores = contender.scores


def _tell_apart(run: ReadRun) -> None:
    if not run.folder.journal.exists():
        run.untold = _NOT_BEGUN
        return
    try:
        run.scores = read_scores(run.folder)
    except (UsageError, SpecError) as error:
        run.untold = one_line(str(error))


def _read(folder: RunFolder, place: int, of: int) -> ReadRun:
    spec, status = folder.spec(), folder.status()
    run = ReadRun(folder, spec, status, run_facts(folder, spec, status), "")
    run.label = f"{_LETTERS[place]} {run.model}" if of > 1 else ""
    run.matrices = heatmaps(run.facts.metrics)
    return run

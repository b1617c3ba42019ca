"""A report's runs, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from evalbench.engine.compare import Comparison, compare
from evalbench.engine.compare.scores import RunScores, read_scores
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.errors import SpecError, UsageError
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from evalbench.engine.terminal_text import one_line
from evalbench.tui.report.samples import ReportSamples
from evalbench.tui.state.heatmap import Heatmap, heatmaps
from evalbench.tui.state.run_facts import RunFacts, run_facts

_LETTERS = "ABCDEFGHIJKL"
MOST_RUNS = len(_LETTERS)
"""Maximum runs side by side; more columns would be illegible."""

_NOT_BEGUN = "nothing was asked yet"


@dataclass(slots=True)
class ReadRun:
    """One run's data.

    Attributes:
        label: its name in the report; empty for a single one.
        matrices: its matrices of related metrics.
        scores: scores of its samples; None if there are none, for the reason ``untold``.
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
        """Name of its headline metric; empty if there is none."""
        return next(iter(self.facts.metrics), "")

    @property
    def model(self) -> str:
        """The model's own name."""
        return one_line(self.spec.model).rpartition("/")[2]

    def samples(self) -> ReportSamples | None:
        """Its samples; None if it has no journal."""
        there = self.folder.journal.exists()
        return ReportSamples(self.folder, self.headline, self.label) if there else None


@dataclass(slots=True)
class ReadRuns:
    """All runs of a report, and their comparison; None if there is none, for ``unpaired``."""

    runs: list[ReadRun]
    comparison: Comparison | None = None
    unpaired: str = ""

    @property
    def labels(self) -> list[str]:
        """The runs' names in charts and tables."""
        return [run.label or run.model for run in self.runs]


def read_runs(folders: Sequence[RunFolder]) -> ReadRuns:
    """Read runs.

    Raises:
        UsageError: there are too many runs, or one is given twice.
        RunNotFound: a folder is not a run.
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

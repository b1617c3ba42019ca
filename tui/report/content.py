"""The content of a report, independent of its format."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.installed import version
from evalbench.engine.runs.folder import INTERRUPTED, RunFolder
from evalbench.engine.terminal_text import one_line
from evalbench.tui.report.charts import Chart
from evalbench.tui.report.differences import doubts
from evalbench.tui.report.reading import ReadRun, ReadRuns, read_runs
from evalbench.tui.report.sections import Section, sections
from evalbench.tui.state import figures

SAMPLES = 8
"""Default number of samples of each kind to show."""


@dataclass(frozen=True, slots=True)
class RunPart:
    """A run as named at the head of a report.

    Attributes:
        label: its name in the report; empty for a single one.
        notes: caveats about its numbers.
        score: name, value, interval, counts and bounds of its headline; empty without a score.
    """

    label: str
    id: str
    benchmark: str
    model: str
    state: str
    made: str
    desc: str
    notes: tuple[str, ...]
    score: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report.

    Attributes:
        title: benchmark and models.
        made: creation time and version.
        runs: the runs, in order.
        warnings: why the runs may not be comparable.
        sections: the sections, in order.
    """

    title: str
    made: str
    runs: tuple[RunPart, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def charts(self) -> list[Chart]:
        """All charts in the report."""
        return [item for part in self.sections for item in part.items if isinstance(item, Chart)]


def report_on(folders: Sequence[RunFolder], *, samples: int = SAMPLES) -> Report:
    """Read runs and assemble their report.

    Args:
        folders: the runs' folders; the others are compared with the first.
        samples: number of samples of each kind to show.

    Raises:
        UsageError: there are too many runs, or one is given twice.
        RunNotFound: a folder is not a run.
        JournalError: a journal cannot be read.
    """
    read = read_runs(folders)
    parts = tuple(map(_part, read.runs))
    benchmarks = ", ".join(dict.fromkeys(part.benchmark for part in parts))
    models = ", ".join(dict.fromkeys(part.model for part in parts))
    return Report(
        f"{benchmarks} × {models}",
        f"{_day(time.time())}, evalbench {version()}",
        parts,
        tuple(_warnings(read)),
        tuple(sections(read, samples)),
    )


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M %z", time.localtime(seconds))


def _warnings(read: ReadRuns) -> Iterator[str]:
    if read.unpaired:
        yield f"not compared sample by sample: {read.unpaired}"
    for run in read.runs:
        if run.untold and run.status.done:
            of = f" of {run.label}" if run.label else ""
            yield f"wrong samples{of} cannot be identified: {run.untold}"
    if read.comparison:
        yield from doubts(read.comparison, read.labels)


def _part(run: ReadRun) -> RunPart:
    state = run.folder.shown_state(run.status)
    notes = []
    if state != "complete":
        done = f"{figures.count(run.status.done)} of {figures.count(run.status.total)}"
        reason = "; its engine is gone" if state == INTERRUPTED else ""
        notes.append(f"not complete: {done} samples are done{reason}")
    if why := run.folder.unreadable(run.status):
        notes.append(f"its files were damaged: {why}")
    if run.status.problem:
        notes.append(f"problem: {run.status.problem}")
    if run.status.mixed:
        notes.append("mixed: settings or data changed along the way; scores mix two things")
    if run.facts.imported:
        notes.append(f"imported from {run.facts.imported['source']}; no calls were made here")
        notes += run.facts.imported["notes"]
    return RunPart(
        run.label,
        run.folder.id,
        one_line(run.status.name),
        one_line(run.spec.model),
        state,
        _day(run.status.created),
        run.status.desc or "",
        tuple(notes),
        _score_words(run.facts.metrics, run.headline),
    )


def _score_words(metrics: Mapping[str, Mapping[str, Any]], name: str) -> tuple[str, ...]:
    metric = metrics.get(name)
    if metric is None or metric.get("value") is None:
        return ()
    return (
        str(metric.get("title") or name),
        figures.value(metric),
        figures.interval(metric),
        figures.fraction(metric),
        figures.bounds(metric),
    )

"""The sections of a report, one function for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from evalbench.engine.compare.sameness import NOTHING
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.sanitize import without_logins
from evalbench.engine.terminal_text import one_line
from evalbench.tui.report.charts import (
    Chart,
    Paces,
    bins_of,
    dots_of,
    heat_dots,
    heat_of,
    named,
    shares_of,
)
from evalbench.tui.report.differences import difference_table
from evalbench.tui.report.reading import ReadRun, ReadRuns
from evalbench.tui.report.samples import flips, worst
from evalbench.tui.report.tables import (
    heat_table,
    judges_table,
    metric_table,
    outcome_table,
    side_by_side,
)
from evalbench.tui.state import figures
from evalbench.tui.state.agreement import agreement_lines, agreement_metrics
from evalbench.tui.state.run_facts import (
    fate_pairs,
    flat_pairs,
    money_pairs,
    settings_pairs,
    work_pairs,
)
from evalbench.tui.state.speed_words import speed_words

_POINTS = 150
"""Approximate number of points of a curve."""

_FEW_POINTS = 3
_STRETCH_MS = 100


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report under a heading: tables, charts and lists of samples."""

    title: str
    items: tuple[Any, ...]
    intro: str = ""


def sections(read: ReadRuns, samples: int) -> Iterator[Section]:
    """All non-empty sections, in order."""
    for part in (
        _scores(read),
        *_differences(read),
        _outcomes(read),
        *_groups(read),
        _models_by_group(read),
        *_judges(read.runs),
        *_samples(read, samples),
        _effort(read),
        *_how(read),
    ):
        if part.items:
            yield part


def _there(*items: Any) -> tuple[Any, ...]:
    return tuple(item for item in items if item is not None)


def _of_run(title: str, run: ReadRun) -> str:
    title = title[:1].upper() + title[1:]
    return " · ".join(filter(None, [title, run.label]))


# -- scores ------------------------------------------------------------------------


def _scores(read: ReadRuns) -> Section:
    rows = _rows(read.runs, _names(read.runs).get("", []))
    if not rows:
        return Section("Scores", ())
    alike = [row for row in rows if _is_share(row) == _is_share(rows[0])]
    return Section(
        "Scores",
        _there(
            dots_of("Scores", read.labels, alike),
            metric_table("Scores", read.labels, rows),
            _grades(read),
        ),
    )


def _groups(read: ReadRuns) -> Iterator[Section]:
    runs, labels = read.runs, read.labels
    for group, names in _names(runs).items():
        if not group:
            continue
        rows = _rows(runs, names)
        chart = dots_of(group, labels, rows) if len(rows) > 1 else None
        title = group[:1].upper() + group[1:]
        yield Section(title, _there(chart, metric_table(group, labels, rows)))
    for run in runs:
        for matrix in run.matrices:
            title = _of_run(matrix.title, run)
            chart = heat_dots(matrix, run.facts.metrics, title)
            yield Section(title, _there(heat_table(matrix, title), chart))


def _models_by_group(read: ReadRuns) -> Section:
    """Every run's headline by its groups, as one heat map each."""
    title = "Models by group"
    headlines = {run.headline for run in read.runs}
    if len(headlines) != 1 or not (headline := headlines.pop()):
        return Section(title, ())
    metrics = [run.facts.metrics for run in read.runs]
    heads = (name.partition("=") for named in metrics for name in named)
    prefixes = dict.fromkeys(
        f"{head}=" for head, sign, _ in heads if sign and head.startswith(f"{headline}/")
    )
    what = next((str(named[headline].get("title") or headline) for named in metrics), headline)
    runs = list(zip(read.labels, metrics, strict=True))
    maps = [
        heat_of(f"{what}, by {prefix.removeprefix(f'{headline}/').rstrip('=')}", runs, prefix)
        for prefix in prefixes
        if prefix.count("/") == headline.count("/") + 1
    ]
    return Section(title, _there(*maps))


def _names(runs: Sequence[ReadRun]) -> dict[str, list[str]]:
    """Names of all metrics by group, except those shown in matrices and judges' tables."""
    groups: dict[str, list[str]] = {}
    for run in runs:
        apart = {name for matrix in run.matrices for name in matrix.metrics}
        apart |= set(agreement_metrics(run.facts.metrics))
        for name, metric in run.facts.metrics.items():
            members = groups.setdefault(str(metric.get("group") or ""), [])
            if name not in apart and name not in members:
                members.append(name)
    return {group: names for group, names in groups.items() if names}


def _rows(runs: Sequence[ReadRun], names: Sequence[str]) -> list[list[Any]]:
    rows = []
    for name in names:
        values = [run.facts.metrics.get(name) for run in runs]
        title = next(str(one.get("title") or name) for one in values if one is not None)
        rows.append([title, *values])
    return rows


def _is_share(row: Sequence[Any]) -> bool:
    return any(one is not None and figures.is_share(one) for one in row[1:])


def _grades(read: ReadRuns) -> Chart | None:
    """How often each grade was given; for fractions the outcomes show the same."""
    graded = [run.scores for run in read.runs if run.scores and not run.scores.share]
    if len(graded) < len(read.runs):
        return None
    title = graded[0].metric.title or graded[0].metric.name
    counts = [Counter(one.scores.values()) for one in graded]
    return bins_of(f"Samples by {title}", read.labels, counts)


def _differences(read: ReadRuns) -> Iterator[Section]:
    if read.comparison:
        table = difference_table(read.comparison, read.labels)
        compared = read.comparison.sameness.compared
        what = "Over" if compared == NOTHING else f"Compared: {compared}, over"
        yield Section(
            "Differences",
            (table,),
            intro=f"{what} the samples that all these runs have scored, paired by their content."
            " See evalbench compare for details.",
        )


def _outcomes(read: ReadRuns) -> Section:
    outcomes = [run.status.outcomes for run in read.runs]
    title = "Outcomes of samples"
    chart = shares_of(title, list(zip(read.labels, outcomes, strict=True)))
    if chart is None:
        return Section("Outcomes", ())
    errors = [
        {one_line(what): figures.count(n) for what, n in run.status.errors.items()}
        for run in read.runs
    ]
    return Section(
        "Outcomes",
        _there(
            chart,
            outcome_table(title, read.labels, outcomes),
            side_by_side("Errors", read.labels, errors),
        ),
        intro="A failed sample has no score and is in no denominator; bounds say what a score"
        " would be if all failed samples were wrong, or right.",
    )


def _judges(runs: Sequence[ReadRun]) -> Iterator[Section]:
    tables = [
        judges_table(lines, _of_run("Agreement of the judges", run))
        for run in runs
        if (lines := agreement_lines(run.facts.metrics))
    ]
    yield Section("Judges", tuple(tables))


# -- samples -----------------------------------------------------------------------


def _samples(read: ReadRuns, most: int) -> Iterator[Section]:
    if not most:
        return
    sampled = [(run, samples) for run in read.runs if (samples := run.samples())]
    flipped = []
    for run, samples in sampled[1:] if read.comparison else ():
        first, other = sampled[0][0].scores, run.scores
        if first and other:
            flipped += flips((sampled[0][1], samples), (first, other), most)
    yield Section("Samples on which runs differ", tuple(flipped))
    lists = [one for run, samples in sampled for one in worst(samples, run.scores, most)]
    yield Section(
        "Samples to look at",
        tuple(lists),
        intro="Long texts are cut; the command at each sample shows all of it.",
    )


# -- effort, settings, record ------------------------------------------------------


def _effort(read: ReadRuns) -> Section:
    pairs = []
    for run in read.runs:
        speeds = {
            f"local model {name}".strip(): "; ".join(speed_words(one))
            for name, one in run.facts.measures.items()
        }
        pairs.append(work_pairs(run.status) | money_pairs(run.status, run.facts) | speeds)
    table = side_by_side("Work, time and money", read.labels, pairs)
    return Section("Cost and time", _there(table, _paces(read)))


def _paces(read: ReadRuns) -> Chart | None:
    lines = tuple(_pace(run) for run in read.runs)
    if any(len(line) < _FEW_POINTS for line in lines):
        return None
    return Paces("Samples done over time", tuple(map(named, read.labels)), lines)


def _pace(run: ReadRun) -> tuple[tuple[float, float], ...]:
    """Points of (seconds since the first score, share of all samples done)."""
    if not run.folder.journal.exists() or not run.status.total:
        return ()
    with JournalReader(run.folder.journal) as journal:
        found = journal.score_times(_STRETCH_MS)
    if not found:
        return ()
    begin = found[0][0]
    sums = accumulate(count for _, count in found)
    points = [
        ((at - begin) * _STRETCH_MS / 1000, min(1.0, number / run.status.total))
        for (at, _), number in zip(found, sums, strict=True)
    ]
    step = max(1, len(points) // _POINTS)
    return (*points[:-1:step], points[-1])


def _how(read: ReadRuns) -> Iterator[Section]:
    def facts(title: str, columns: Sequence[Mapping[str, str]]) -> Any:
        return side_by_side(title, read.labels, columns)

    runs = read.runs
    yield Section(
        "Parameters",
        _there(facts("Parameters", [fate_pairs(run.status.params) for run in runs])),
        intro="Sent: on the wire. Dropped: the model does not take it. Refused: the provider"
        " rejected it, and the call went without.",
    )
    roles = [{role: str(part.model) for role, part in run.spec.roles().items()} for run in runs]
    yield Section(
        "Settings",
        _there(
            facts("Who was asked", roles),
            facts("Settings", [without_logins(settings_pairs(run.spec)) for run in runs]),
        ),
    )
    record = [flat_pairs(run.facts.record or {}) for run in runs]
    yield Section("Record", _there(facts("Versions, data and prompts", record)))

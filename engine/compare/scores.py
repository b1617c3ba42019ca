"""A metric's value for every single sample of a run, so that runs can be paired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Benchmark, metrics_of
from evalbench.engine.calls import Outcome
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.errors import UsageError, nearest
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.paging import InternedScores, interned_scores
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import Status
from evalbench.engine.scoring.tally import Metric, Tally


@dataclass(slots=True)
class RunScores:
    """One run, sample by sample.

    Attributes:
        folder, spec, status: those of the run.
        metric: the metric compared, over the whole run.
        share: whether it is a proportion.
        facts: the journal's ``run`` table.
        spread_by: the tag by which its benchmark groups samples, or empty.
        rows: the number in the run of every sample, by content id.
        tags: tags of every sample that was answered or failed, by content id.
        scores: the metric for each sample alone, averaged over its epochs; by content id.
        failed: content ids of samples that have no score because calls failed.
    """

    folder: RunFolder
    spec: RunSpec
    status: Status
    metric: Metric
    share: bool
    facts: Mapping[str, Any]
    spread_by: str
    rows: dict[str, int]
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)


def read_scores(folder: RunFolder, name: str = "") -> RunScores:
    """Read a run; ``name`` is the name of a metric (default: the headline).

    Raises:
        UsageError: there is no such metric, or it is not defined for single samples.
        SpecError: the run's benchmark is not installed here.
        JournalError: the journal cannot be read.
    """
    spec = folder.spec()
    with JournalReader(folder.journal) as journal:
        return journal.query(lambda decoder, path: _read(decoder, path, folder, spec, name))


def _read(
    decoder: RowDecoder, path: Path, folder: RunFolder, spec: RunSpec, name: str
) -> RunScores:
    facts = decoder.meta()
    benchmark = build_benchmark(spec, facts.get("shared"))
    interned = interned_scores(decoder, path)
    # From the same rows as the single scores: a live run may have more of them a moment later.
    whole = Tally()
    for (tags, outcome, values), count in Counter(score[1:] for score in interned.rows).items():
        whole.add(decoder.tags(tags), outcome, decoder.values(values), count)
    metric = _chosen(metrics_of(benchmark, whole), name, folder.id)
    found = RunScores(
        folder,
        spec,
        folder.status(),
        metric,
        _is_share(metric),
        facts,
        benchmark.spread_by,
        {ident: row for row, ident in interned.ids.items()},
    )
    _fill(found, interned, decoder, benchmark)
    return found


def _chosen(metrics: list[Metric], name: str, run: str) -> Metric:
    if not metrics or metrics[0].value is None:
        raise UsageError(
            f"run {run} has no scores yet",
            hint=f"look at it: evalbench show {run}",
        )
    names = [metric.name for metric in metrics]
    if name and name not in names:
        raise UsageError(
            f"run {run} has no metric {name!r}",
            hint=nearest(name, names) or f"see them: evalbench show {run} --json",
        )
    return metrics[names.index(name)] if name else metrics[0]


def _is_share(metric: Metric) -> bool:
    if metric.share is not None:
        return metric.share
    return metric.value is not None and 0 <= metric.value <= 1


class _Single:
    """A metric for one sample in one epoch, and its weight in the whole.

    A benchmark's metrics are functions of a tally, so a sample's score is the metric of a tally
    that contains nothing else. Equal samples are computed once.
    """

    def __init__(self, benchmark: Benchmark, name: str, decoder: RowDecoder) -> None:
        self._benchmark = benchmark
        self._name = name
        self._decoder = decoder
        self._known: dict[tuple[int, Outcome, int], tuple[float, float] | None] = {}
        self.total = self.weight = 0.0

    def of(self, tags: int, outcome: Outcome, values: int) -> float | None:
        """The score; None if the metric is undefined for this sample."""
        key = tags, outcome, values
        if key not in self._known:
            tally = Tally()
            tally.add(self._decoder.tags(tags), outcome, self._decoder.values(values))
            metrics = metrics_of(self._benchmark, tally)
            self._known[key] = next(
                ((m.value, m.n) for m in metrics if m.name == self._name and m.value is not None),
                None,
            )
        if (found := self._known[key]) is None:
            return None
        value, weight = found
        self.total += value * weight
        self.weight += weight
        return value


def _fill(
    run: RunScores, interned: InternedScores, decoder: RowDecoder, benchmark: Benchmark
) -> None:
    single = _Single(benchmark, run.metric.name, decoder)
    tags: dict[int, dict[str, str]] = {}
    for row, epochs in groupby(interned.rows, key=lambda score: score[0]):
        if (ident := interned.ids.get(row)) is None:
            continue
        values, failed = [], True
        for _, tagged, outcome, named in epochs:
            if tagged not in tags:
                tags[tagged] = decoder.tags(tagged)
            run.tags[ident] = tags[tagged]
            if outcome is Outcome.ERROR and not decoder.values(named):
                continue
            failed = False
            if (value := single.of(tagged, outcome, named)) is not None:
                values.append(value)
        if values:
            run.scores[ident] = sum(values) / len(values)
        elif failed:
            run.failed.add(ident)
    whole = run.metric.value or 0.0
    again = single.total / single.weight if single.weight else None
    if again is None or abs(again - whole) > 1e-6 * max(1.0, abs(whole)):
        raise UsageError(
            f"{run.metric.name} cannot be compared sample by sample",
            why="it is not the mean of what single samples have",
            hint="choose another with --metric; evalbench show RUN --json names them",
        )

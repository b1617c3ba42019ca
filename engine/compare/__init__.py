"""Compares runs of one benchmark: the same samples, one metric, every pair of runs.

Uses NumPy and SciPy, which are imported only when runs are compared. For what each number is and
where it comes from, see docs/comparing.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from evalbench.engine.compare.pairs import Pair, pair_up, right_or_wrong
from evalbench.engine.compare.sameness import Sameness, sameness
from evalbench.engine.compare.scores import RunScores, read_scores
from evalbench.engine.compare.significance import benjamini_hochberg, holm
from evalbench.engine.errors import UsageError, nearest
from evalbench.engine.installed import require
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.metrics import NORMAL, WILSON
from evalbench.engine.scoring.statistics import mean_interval, wilson

_FEW = 0.95
"""If less than this share of the scored samples is common to all runs, warn."""

_NOTABLE = 0.002
"""How far a mean over samples may be from the pooled metric before that is reported."""

_ENOUGH = 10
"""With fewer groups than this, clustering is not used by default."""

LEVEL = 0.05
"""Below this p-value, corrected by Holm's method, two runs count as different."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One of the runs compared.

    Attributes:
        scores: the run's scores.
        n: number of samples scored by every run.
        score: its mean over them.
        low, high, interval: 95 % interval of that mean alone, and its method.
        ahead_of, behind: runs from which it differs significantly, after Holm's correction.
        failed: number of its failed samples.
        missing: samples that another run has scored and this one has not, except failed ones.
    """

    scores: RunScores
    n: int
    score: float
    low: float | None
    high: float | None
    interval: str
    ahead_of: int
    behind: int
    failed: int
    missing: int


@dataclass(frozen=True, slots=True)
class Flip:
    """A sample for which the runs' scores differ.

    Attributes:
        id: its content id.
        numbers: its number in each run.
        tags: the sample's tags.
        scores: its score in each run.
    """

    id: str
    numbers: tuple[int, ...]
    tags: Mapping[str, str]
    scores: tuple[float, ...]

    @property
    def spread(self) -> float:
        """The largest difference between the scores."""
        return max(self.scores) - min(self.scores)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several runs over the samples that all of them have scored.

    Attributes:
        share: whether scores are proportions.
        contenders: in the order in which the runs were given.
        pairs: every two of them, the earlier one first.
        sameness: what is compared, and what else differs.
        warnings: other reasons to doubt the comparison, as text.
        flips: samples with differing scores, largest difference first.
    """

    share: bool
    contenders: tuple[Contender, ...]
    pairs: tuple[Pair, ...]
    sameness: Sameness
    warnings: tuple[str, ...]
    flips: tuple[Flip, ...]

    @property
    def ranked(self) -> list[Contender]:
        """The contenders, highest mean first."""
        return sorted(self.contenders, key=lambda one: -one.score)


def compare(
    folders: Sequence[RunFolder], metric: str = "", cluster: str | None = None
) -> Comparison:
    """Compare runs sample by sample.

    Args:
        folders: two or more.
        metric: name of the metric (default: the headline of the first run).
        cluster: tag by which similar samples are grouped (default: the benchmark's own, if it
            has enough groups); empty for none.

    Raises:
        UsageError: the runs have nothing in common, or lack this metric or tag.
        SpecError: a run's benchmark is not installed here.
        JournalError: a journal cannot be read.
    """
    require("stats", "comparing runs", "numpy", "scipy")
    import numpy as np

    _check(folders)
    first = read_scores(folders[0], metric)
    runs = [first, *(read_scores(folder, first.metric.name) for folder in folders[1:])]
    shared = _shared(runs)
    share = all(run.share for run in runs)
    arrays = [np.array([run.scores[ident] for ident in shared]) for run in runs]
    tag, clusters = _clusters(first, shared, cluster)
    pairs = [
        pair_up(
            (a, b),
            (arrays[a], arrays[b]),
            share=share,
            tag=tag,
            clusters=clusters,
            lost=_lost(runs[a], runs[b]),
        )
        for a, b in combinations(range(len(runs)), 2)
    ]
    _correct(pairs)
    return Comparison(
        share,
        tuple(_contender(place, run, arrays[place], runs, pairs) for place, run in enumerate(runs)),
        tuple(pairs),
        sameness(runs),
        tuple(_warnings(runs, len(shared))),
        tuple(_flips(runs, shared)),
    )


def _check(folders: Sequence[RunFolder]) -> None:
    if len({folder.path.resolve() for folder in folders}) < len(folders):
        raise UsageError(
            "a run is named twice",
            why="it cannot differ from itself",
            hint="name two runs of evalbench runs",
        )
    if len(folders) < 2:
        raise UsageError(
            "it takes two runs to compare",
            hint="evalbench compare RUN RUN; evalbench runs lists them",
        )
    names = [folder.spec().benchmark for folder in folders]
    if len(set(names)) > 1:
        raise UsageError(
            f"these are runs of different benchmarks: {', '.join(dict.fromkeys(names))}",
            why="their samples are not the same",
            hint="compare runs of one benchmark",
        )


def _shared(runs: Sequence[RunScores]) -> list[str]:
    """Content ids scored by all runs, in the order of the first."""
    shared = [ident for ident in runs[0].scores if all(ident in run.scores for run in runs[1:])]
    if not shared:
        raise UsageError(
            "the runs have no scored sample in common",
            why="samples are paired by their content, and none is in all of them",
            hint="run both on the same data, --limit, --shuffle and --seed",
        )
    return shared


def _clusters(run: RunScores, shared: Sequence[str], cluster: str | None) -> tuple[str, Any]:
    """The tag used for clustering, and each sample's cluster number; empty for none."""
    import numpy as np

    tag = run.spread_by if cluster is None else cluster
    known = dict.fromkeys(name for ident in shared for name in run.tags[ident])
    if cluster and cluster not in known:
        raise UsageError(
            f"no sample has a tag {cluster!r}",
            hint=nearest(cluster, known) or f"choose one of {', '.join(known) or 'none'}",
        )
    names: dict[str, int] = {}
    clusters = [names.setdefault(run.tags[ident].get(tag, ""), len(names)) for ident in shared]
    groups = len(names)
    if not tag or groups == len(shared) or (groups < _ENOUGH and cluster is None):
        return "", np.array(())
    return tag, np.array(clusters)


def _lost(first: RunScores, second: RunScores) -> list[tuple[float | None, float | None]]:
    """Scores of the samples that failed in either run and are missing from neither."""
    return [
        (first.scores.get(ident), second.scores.get(ident))
        for ident in {**dict.fromkeys(first.rows)}
        if (ident in first.failed or ident in second.failed)
        and (ident in first.failed or ident in first.scores)
        and (ident in second.failed or ident in second.scores)
    ]


def _correct(pairs: Sequence[Pair]) -> None:
    """Add the p-values corrected for all pairs at once."""
    tested = [pair for pair in pairs if pair.p is not None]
    values = [pair.p for pair in tested if pair.p is not None]
    for pair, strict, mild in zip(tested, holm(values), benjamini_hochberg(values), strict=True):
        pair.p_holm, pair.p_bh = strict, mild


def _contender(
    place: int, run: RunScores, scores: Any, runs: Sequence[RunScores], pairs: Sequence[Pair]
) -> Contender:
    n, total = len(scores), float(scores.sum())
    low: float | None = None
    high: float | None = None
    interval = ""
    if run.share and right_or_wrong(scores):
        (low, high), interval = wilson(total, n), WILSON
    elif found := mean_interval(n, total, float((scores**2).sum())):
        (low, high), interval = found, NORMAL
    apart = [
        pair.difference if pair.second == place else -pair.difference
        for pair in pairs
        if place in (pair.first, pair.second) and pair.p_holm is not None and pair.p_holm < LEVEL
    ]
    everywhere = set().union(*(one.scores for one in runs))
    return Contender(
        scores=run,
        n=n,
        score=total / n,
        low=low,
        high=high,
        interval=interval,
        ahead_of=sum(gap > 0 for gap in apart),
        behind=sum(gap < 0 for gap in apart),
        failed=len(run.failed),
        missing=len(everywhere - run.scores.keys() - run.failed),
    )


def _warnings(runs: Sequence[RunScores], n: int) -> list[str]:
    found = [
        f"{run.folder.id} is {run.status.state.value}:"
        f" {run.status.done:,} of {run.status.total:,} samples are done"
        for run in runs
        if run.status.state is not State.COMPLETE
    ]
    if any(_uneven(run) for run in runs):
        found.append(
            "samples hold unequal numbers of answers; each sample counts once here,"
            " so scores are not those of the runs' own tables"
        )
    most = max(len(run.scores) for run in runs)
    if n < _FEW * most:
        found.append(
            f"only {n:,} of {most:,} scored samples are in every run; the rest is left out"
        )
    return found


def _uneven(run: RunScores) -> bool:
    """Whether the mean over samples differs from the run's own metric."""
    whole = run.metric.value or 0.0
    mean = sum(run.scores.values()) / len(run.scores)
    return abs(mean - whole) > _NOTABLE * max(1.0, abs(whole))


def _flips(runs: Sequence[RunScores], shared: Sequence[str]) -> list[Flip]:
    found = [
        Flip(ident, tuple(run.rows[ident] for run in runs), runs[0].tags[ident], scores)
        for ident in shared
        if len(set(scores := tuple(run.scores[ident] for run in runs))) > 1
    ]
    return sorted(found, key=lambda flip: (-flip.spread, flip.numbers[0]))

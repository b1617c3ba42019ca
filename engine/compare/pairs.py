"""Compares one run with another over the samples that both have scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.compare.bootstrap import bootstrap
from evalbench.engine.compare.significance import (
    MCNEMAR,
    PAIRED_T,
    T_TEST,
    TANGO,
    WILCOXON,
    cluster_sums,
    clustered_t,
    detectable,
    mcnemar,
    paired_t,
    tango,
    wilcoxon,
)
from evalbench.engine.scoring.statistics import Interval


@dataclass(frozen=True, slots=True)
class Clustered:
    """The same difference, treating samples of one cluster as similar.

    Attributes:
        tag: the tag used for clustering.
        clusters: number of clusters.
        low, high: 95 % interval from Student's t with one degree of freedom less than clusters.
        p: from the same t.
        bootstrap: interval from resampling whole clusters.
    """

    tag: str
    clusters: int
    low: float
    high: float
    p: float | None
    bootstrap: Interval | None


@dataclass(slots=True)
class Pair:
    """The second of two runs against the first; differences are second minus first.

    Attributes:
        first, second: their indices among the runs compared.
        n: number of samples that both have scored.
        difference: difference of their mean scores.
        low, high, interval: 95 % interval and its method; None if there is none.
        bootstrap: another interval, from resampling pairs with replacement.
        test, p: the test, and its p-value; None if undefined.
        p_holm, p_bh: p corrected for all pairs compared.
        clustered: None if samples are not grouped.
        first_higher, second_higher, equal: number of samples by which run scores higher.
        both_right, both_wrong: of equal right-or-wrong scores; None for other scores.
        detectable: the smallest true difference that this many samples can detect.
        bound_low, bound_high: the difference if all samples that failed in either run had gone
            against or for the second; None for scores without a scale.
    """

    first: int
    second: int
    n: int
    difference: float
    low: float | None
    high: float | None
    interval: str
    bootstrap: Interval | None
    test: str
    p: float | None
    clustered: Clustered | None
    first_higher: int
    second_higher: int
    equal: int
    both_right: int | None
    both_wrong: int | None
    detectable: float | None
    bound_low: float | None
    bound_high: float | None
    p_holm: float | None = None
    p_bh: float | None = None


def pair_up(
    places: tuple[int, int],
    scores: tuple[Any, Any],
    *,
    share: bool,
    tag: str = "",
    clusters: Any = (),
    lost: Sequence[tuple[float | None, float | None]] = (),
) -> Pair:
    """Compare two runs.

    Right-or-wrong scores get Tango's interval and McNemar's exact test; proportions that are means
    over epochs get Student's t; other scores, such as judges' ratings, Student's interval and
    Wilcoxon's test. All get the bootstrap.

    Args:
        places: the two runs' indices among the runs compared.
        scores: scores of the same samples, one array each.
        share: whether they are between 0 and 1.
        tag, clusters: the tag used for clustering, and each sample's cluster number.
        lost: scores of samples that failed in one or both runs; None for failed.
    """
    import numpy as np

    first, second = scores
    gaps = second - first
    n = len(gaps)
    binary = share and right_or_wrong(first) and right_or_wrong(second)
    up, down = int(np.sum(gaps > 0)), int(np.sum(gaps < 0))
    low: float | None
    high: float | None
    p: float | None
    if binary:
        (low, high), interval = tango(down, up, n), TANGO
        p, test = mcnemar(down, up), MCNEMAR
    else:
        by_t = paired_t(gaps)
        low, high, interval = by_t.low, by_t.high, PAIRED_T if by_t.low is not None else ""
        p, test = (by_t.p, T_TEST) if share else (wilcoxon(gaps), WILCOXON)
    worst, best = _bounds(gaps, lost) if share else (None, None)
    return Pair(
        first=places[0],
        second=places[1],
        n=n,
        difference=float(np.mean(gaps)),
        low=low,
        high=high,
        interval=interval,
        bootstrap=bootstrap(gaps, np.ones(n)),
        test=test,
        p=p,
        clustered=_clustered(gaps, tag, clusters),
        first_higher=down,
        second_higher=up,
        equal=n - up - down,
        both_right=int(np.sum((first == 1) & (second == 1))) if binary else None,
        both_wrong=int(np.sum((first == 0) & (second == 0))) if binary else None,
        detectable=detectable(gaps),
        bound_low=worst,
        bound_high=best,
    )


def right_or_wrong(scores: Any) -> bool:
    """Whether every score is 0 or 1."""
    import numpy as np

    return bool(np.all((scores == 0) | (scores == 1)))


def _clustered(gaps: Any, tag: str, clusters: Any) -> Clustered | None:
    if not tag:
        return None
    sums, sizes = cluster_sums(gaps, clusters)
    found = clustered_t(sums, sizes)
    if found.low is None or found.high is None:
        return None
    return Clustered(tag, len(sums), found.low, found.high, found.p, bootstrap(sums, sizes))


def _bounds(gaps: Any, lost: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
    import numpy as np

    total, n = float(np.sum(gaps)), len(gaps) + len(lost)
    worst = sum(
        (0.0 if second is None else second) - (1.0 if first is None else first)
        for first, second in lost
    )
    best = sum(
        (1.0 if second is None else second) - (0.0 if first is None else first)
        for first, second in lost
    )
    return (total + worst) / n, (total + best) / n

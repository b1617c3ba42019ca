"""Rates pooled over samples with several answers each: counts are added, never rates.

Answers to one sample are correlated, so intervals are based on samples. A rate without a single
answer in its denominator has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring.metrics import CLUSTERED, WILSON
from evalbench.engine.scoring.statistics import Interval, wilson
from evalbench.engine.scoring.tally import Metric, Tally

Counts = Callable[[Mapping[str, float]], tuple[float, float]]
"""Numerator and denominator of one sample, from its values."""

Cluster = tuple[float, float, int]
"""Numerator and denominator of a sample, and the number of such samples."""


def pooled(tally: Tally, counts: Counts, name: str, title: str = "", group: str = "") -> Metric:
    """Σ numerators / Σ denominators over the scored samples.

    For the bounds, a failed sample is assumed to have as many answers as the largest scored one;
    those it has are counted.
    """
    clusters = [
        (*counts(row.values), row.count)
        for row in tally
        if row.values or row.outcome is not Outcome.ERROR
    ]
    k = sum(right * count for right, _, count in clusters)
    n = sum(of * count for _, of, count in clusters)
    if not n:
        return Metric(name, None, title=title, group=group, share=True)
    most = max(of for _, of, _ in clusters)
    missing = sum(
        row.count * (most - (counts(row.values)[1] if row.values else 0))
        for row in tally
        if row.outcome is Outcome.ERROR
    )
    low, high, kind = _interval(tally, clusters, counts)
    return Metric(
        name=name,
        value=k / n,
        low=low,
        high=high,
        k=_whole(k),
        n=round(n),
        interval=kind,
        bound_low=k / (n + missing),
        bound_high=(k + missing) / (n + missing),
        title=title,
        group=group,
        share=True,
    )


def _interval(
    tally: Tally, clusters: list[Cluster], counts: Counts
) -> tuple[float | None, float | None, str]:
    if tally.epochs > 1:
        if tally.means is None:
            return None, None, ""
        clusters = [
            (*counts(row.values), row.count)
            for row in tally.means
            if row.values or row.outcome is not Outcome.ERROR
        ]
    asked = [cluster for cluster in clusters if cluster[1]]
    if all(of == 1 and right in (0, 1) for right, of, _ in asked):
        k, n = sum(right * count for right, _, count in asked), sum(count for *_, count in asked)
        return (*wilson(k, n), WILSON) if n else (None, None, "")
    return *clustered_wilson(asked), CLUSTERED


def clustered_wilson(clusters: Iterable[Cluster]) -> Interval:
    """Wilson interval of a pooled rate, with the effective number of answers.

    With clusters i of k_i right in n_i answers, m of them, K = Σk_i, N = Σn_i
    and p = K/N, the variance of the ratio is
    ``v = m/(m-1) · Σ(k_i - p·n_i)² / N²`` (linearised, clusters with
    replacement). The answers are worth ``p(1-p)/v`` independent ones (N
    divided by the design effect), at most N. Where that says nothing, because
    every answer is right or none, or there is one cluster, they are taken to
    be worth one a cluster, as if a cluster's answers were all the same.

    Sources: L. Kish, "Survey Sampling" (1965), for the design effect; N. Dean
    and M. Pagano, "Evaluating confidence interval methods for binomial
    proportions in clustered surveys", Journal of Survey Statistics and
    Methodology 3 (2015) 484-503, for Wilson's interval with it.

    Args:
        clusters: with n_i above 0; at least one.
    """
    rows = list(clusters)
    m = sum(count for *_, count in rows)
    k = sum(right * count for right, _, count in rows)
    n = sum(of * count for _, of, count in rows)
    p = k / n
    spread = sum((right - p * of) ** 2 * count for right, of, count in rows)
    worth: float = m
    if m > 1 and 0 < p < 1:
        variance = m / (m - 1) * spread / (n * n)
        worth = min(n, p * (1 - p) / variance) if variance > 0 else n
    return wilson(p * worth, worth)


def _whole(k: float) -> float:
    """A sum of shares times their denominators, without rounding errors."""
    return round(k, 9)

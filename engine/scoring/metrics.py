"""Metrics from a tally: rates, means, macro averages and per-group tables.

Two rules hold everywhere. A failed sample (outcome ``error``) is in no denominator;
``bound_low`` and ``bound_high`` say what the metric would be if every failed sample had been
wrong, or right. A refused, filtered, truncated or unparsed sample is scored, with the values set
by the benchmark: 0 for accuracies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import sqrt

from evalbench.engine.calls import Outcome
from evalbench.engine.scoring.statistics import (
    ROUNDING,
    Z95,
    equal_interval,
    mean_interval,
    mean_of_rates_interval,
    scaled_interval,
    wilson,
)
from evalbench.engine.scoring.tally import Metric, Tally

WILSON = "Wilson 95 %"
NORMAL = "normal 95 %"
MACRO = "from the groups' Wilson intervals, 95 %"
CLUSTERED = "clustered by sample, 95 %"
SCALED = "Wilson on the scale, 95 %"
SCALED_CLUSTERED = "Wilson on the scale, clustered by sample, 95 %"

_NOTHING = (None, None)


def rate(tally: Tally, value: str, name: str, title: str = "", group: str = "") -> Metric:
    """Micro average of a value that is 0 or 1: k = Σ value, n = scored samples, Wilson interval."""
    n, k, _, failed = tally.sums(value)
    metric = _proportion(k, n, failed, name, title, group)
    return metric if tally.epochs == 1 else _over_samples(metric, tally, value)


def _over_samples(metric: Metric, tally: Tally, value: str) -> Metric:
    """The metric with an interval based on samples rather than repeated answers.

    The standard error of the mean of the samples' means is the cluster-robust
    one of Liang and Zeger (Biometrika 73, 1986) with a sample as cluster, where
    every sample was scored in every epoch; for language model evaluation see
    E. Miller, "Adding error bars to evals", arXiv 2411.00640.
    """
    interval = None
    if tally.means:
        n, total, squares, _ = tally.means.sums(value)
        interval = mean_interval(n, total, squares)
        if interval is None and n:
            interval = equal_interval(total / n, n, (0.0, 1.0))
    if interval is None:
        return replace(metric, low=None, high=None, interval="")
    # A normal interval may exceed the range of a proportion; clip it.
    low, high = max(0.0, interval[0]), min(1.0, interval[1])
    return replace(metric, low=low, high=high, interval=CLUSTERED)


def share(
    tally: Tally, outcomes: Collection[Outcome], name: str, title: str = "", group: str = ""
) -> Metric:
    """Share of scored samples whose outcome is one of ``outcomes``, with its Wilson interval.

    With several epochs it is a share of answers, and has no interval.
    """
    counts = tally.outcomes()
    failed = counts.pop(Outcome.ERROR.value)
    k = sum(counts[outcome.value] for outcome in outcomes)
    metric = _proportion(k, sum(counts.values()), failed, name, title, group)
    return metric if tally.epochs == 1 else replace(metric, low=None, high=None, interval="")


def mean(
    tally: Tally,
    value: str,
    name: str,
    title: str = "",
    group: str = "",
    *,
    scale: tuple[float, float] | None = None,
) -> Metric:
    """Mean of a value over the scored samples that have it.

    Its interval is normal or, on a scale, Wilson's, which never leaves the scale.

    Args:
        scale: the lowest and highest possible value, for the interval and for the bounds due to
            failed samples; without it there are no bounds if a sample failed.
    """
    n, total, squares, failed = tally.sums(value)
    average = total / n if n else None
    bounds: tuple[float | None, float | None] = (average, average)
    if failed:
        worst, best = scale or _NOTHING
        bounds = _with_failed(total, n, failed, worst), _with_failed(total, n, failed, best)
    interval, kind = mean_interval(n, total, squares), NORMAL
    if scale and average is not None and not interval:
        interval, kind = equal_interval(average, n, scale), SCALED
    elif interval and scale and average is not None:
        error = (interval[1] - interval[0]) / (2 * Z95)
        if bounded := scaled_interval(average, error * error, scale):
            interval, kind = bounded, SCALED
    low, high = interval or _NOTHING
    return Metric(
        name,
        average,
        low,
        high,
        total,
        n,
        kind if interval else "",
        *bounds,
        title,
        group,
        share=False,
    )


def missing(tally: Tally, names: Collection[str]) -> int:
    """How many values with these names are missing because of failed samples."""
    return sum(
        row.count * sum(name not in row.values for name in names)
        for row in tally
        if row.outcome is Outcome.ERROR
    )


def pooled_mean(
    sums: Sequence[tuple[float, int, int]],
    failed: int,
    scale: tuple[float, float],
    name: str,
    title: str,
    group: str = "",
) -> Metric:
    """A ratio of sums over samples, with the interval of a ratio estimator.

    Values of one sample are correlated, so the interval is based on samples:
    ``se² = m/(m-1) · Σ(sᵢ - R·nᵢ)² / (Σ nᵢ)²`` over the m samples that have a value (W. G. Cochran,
    Sampling Techniques, 3rd edition, section 2.11). On the scale it is Wilson's with that error, so
    it never leaves the scale; ratings outside the scale get the normal interval. Samples that are
    all equal say nothing about the spread: they have no interval, except at an end of the scale.

    Args:
        sums: (sum, number of values, number of such samples).
        failed: number of values missing because of failed samples.
        scale: the lowest and the highest possible value.
    """
    total = sum(s * count for s, _, count in sums)
    n = sum(held * count for _, held, count in sums)
    holders = sum(count for _, held, count in sums if held)
    if not n:
        return Metric(name, None, k=total, n=n, title=title, group=group, share=False)
    value = total / n
    low = high = None
    kind = ""
    if holders > 1:
        spread = sum(count * (s - value * held) ** 2 for s, held, count in sums)
        error = sqrt(holders / (holders - 1) * spread) / n
        if spread <= ROUNDING * value * value:
            bounded = equal_interval(value, holders, scale)
        else:
            (low, high), kind = (value - Z95 * error, value + Z95 * error), CLUSTERED
            bounded = scaled_interval(value, error * error, scale)
        if bounded:
            (low, high), kind = bounded, SCALED_CLUSTERED
    worst, best = ((total + failed * end) / (n + failed) for end in scale)
    return Metric(
        name,
        value,
        low,
        high,
        total,
        n,
        kind,
        worst,
        best,
        title,
        group,
        share=False,
    )


def macro(tally: Tally, value: str, by: str, name: str, title: str = "", group: str = "") -> Metric:
    """Macro average: the unweighted mean of the rates of ``value`` in each group of tag ``by``.

    k is the sum of the groups' rates and n the number of groups that have a
    scored sample. The bounds also count groups in which every sample failed.
    """
    rates: list[tuple[float, int]] = []
    worst: list[float] = []
    best: list[float] = []
    for part in tally.groups(by).values():
        n, k, _, failed = part.sums(value)
        samples, right, _, _ = (part.means or part).sums(value)
        if samples:
            rates.append((right, samples))
        if n + failed:
            worst.append(k / (n + failed))
            best.append((k + failed) / (n + failed))
    total = sum(k / n for k, n in rates)
    interval = mean_of_rates_interval(rates) if rates else None
    low, high = interval or _NOTHING
    return Metric(
        name=name,
        value=total / len(rates) if rates else None,
        low=low,
        high=high,
        k=total,
        n=len(rates),
        interval=MACRO if interval else "",
        bound_low=_average(worst),
        bound_high=_average(best),
        title=title,
        group=group,
        share=True,
    )


def table(
    tally: Tally, by: str, name: str, make: Callable[[Tally, str, str], Metric]
) -> list[Metric]:
    """One metric per value of tag ``by``, in sorted order.

    ``make`` gets each group's tally, its metric name (``name/by=value``) and
    the tag's value as title.
    """
    return [make(part, f"{name}/{by}={tag}", tag) for tag, part in tally.groups(by).items()]


def scored_ok(tally: Tally) -> Tally:
    """The part whose answer was parsed, with the failed samples kept for the bounds."""
    return tally.where(lambda row: row.outcome in (Outcome.OK, Outcome.ERROR))


def _with_failed(total: float, n: int, failed: int, each: float | None) -> float | None:
    return None if each is None else (total + failed * each) / (n + failed)


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _proportion(k: float, n: int, failed: int, name: str, title: str, group: str) -> Metric:
    interval = wilson(k, n) if n else None
    low, high = interval or _NOTHING
    everyone = n + failed
    return Metric(
        name=name,
        value=k / n if n else None,
        low=low,
        high=high,
        k=k,
        n=n,
        interval=WILSON if interval else "",
        bound_low=k / everyone if everyone else None,
        bound_high=(k + failed) / everyone if everyone else None,
        title=title,
        group=group,
        share=True,
    )

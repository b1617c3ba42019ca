"""How the library aggregates, from additive counts of numbers.

The formulas are those of lm-evaluation-harness 0.4.13, ``lm_eval/api/metrics.py`` and
``lm_eval/api/group.py``; each function names its own there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.scoring.tally import Tally

Rows = Sequence[tuple[tuple[float, ...], int]]
"""The numbers of a document, and how many documents have them."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A metric of a task or group: its value, standard error and number of documents."""

    value: float | None
    stderr: float | None
    n: int


def rows_of(tally: Tally, name: str) -> list[tuple[tuple[float, ...], int]]:
    """The numbers of a metric by document, in no order."""
    found: dict[tuple[float, ...], int] = {}
    for row in tally:
        numbers = numbers_of(row.values, name)
        if numbers:
            found[numbers] = found.get(numbers, 0) + row.count
    return list(found.items())


def numbers_of(values: Mapping[str, float], name: str) -> tuple[float, ...]:
    """The numbers of a metric of one document: ``name``, or ``name#0``, ``name#1`` and so on."""
    if name in values:
        return (values[name],)
    out: list[float] = []
    while (number := values.get(f"{name}#{len(out)}")) is not None:
        out.append(number)
    return tuple(out)


def mean(rows: Rows) -> float:
    """Sum over count."""
    return sum(row[0] * count for row, count in rows) / sum(count for _, count in rows)


def median(rows: Rows) -> float:
    """The upper one of two in the middle."""
    ordered = sorted((row[0], count) for row, count in rows)
    at = sum(count for _, count in ordered) // 2
    for value, count in ordered:
        at -= count
        if at < 0:
            return value
    return ordered[-1][0]


def _weighted_mean(rows: Rows) -> float:
    total = sum(row[0] * count for row, count in rows)
    return total / sum(row[1] * count for row, count in rows)


def perplexity(rows: Rows) -> float:
    """Of log-likelihoods of whole documents."""
    return math.exp(-mean(rows))


def weighted_perplexity(rows: Rows) -> float:
    """Of log-likelihoods with the number of words or bytes."""
    return math.exp(-_weighted_mean(rows))


def bits_per_byte(rows: Rows) -> float:
    """The same, in bits."""
    return -_weighted_mean(rows) / math.log(2)


def f1(rows: Rows) -> float:
    """``sklearn.metrics.f1_score`` of gold and prediction, class 1."""
    right = sum(count for (gold, predicted), count in rows if gold == predicted == 1)
    wrong = sum(count for (gold, predicted), count in rows if (gold == 1) != (predicted == 1))
    return 2 * right / (2 * right + wrong) if right + wrong else 0.0


def matthews_corrcoef(rows: Rows) -> float:
    """``sklearn.metrics.matthews_corrcoef``, for any number of classes."""
    n = sum(count for _, count in rows)
    gold: dict[float, int] = {}
    predicted: dict[float, int] = {}
    right = 0
    for (one, other), count in rows:
        gold[one] = gold.get(one, 0) + count
        predicted[other] = predicted.get(other, 0) + count
        right += count * (one == other)
    cov = right * n - sum(times * predicted.get(one, 0) for one, times in gold.items())
    cov_gold = n * n - sum(times * times for times in gold.values())
    cov_said = n * n - sum(times * times for times in predicted.values())
    return cov / math.sqrt(cov_gold * cov_said) if cov_gold and cov_said else 0.0


def brier_score(rows: Rows) -> float:
    """Gold, then the chance of each choice: the mean squared distance."""
    total = 0.0
    for (gold, *chances), count in rows:
        total += count * sum((p - (at == gold)) ** 2 for at, p in enumerate(chances))
    return total / sum(count for _, count in rows)


CORPUS_METRICS = ("bleu", "chrf", "chrf++", "ter")
"""Metrics of sacrebleu, which sum counts over all segments."""


def corpus_metric(name: str) -> Any:
    """A new metric of sacrebleu, by one of these names."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    if name == "chrf++":
        return CHRF(word_order=2)
    return {"bleu": BLEU, "chrf": CHRF, "ter": TER}[name]()


def _sacrebleu(kind: str) -> Callable[[Rows], float]:
    def score(rows: Rows) -> float:
        sums = [sum(row[at] * count for row, count in rows) for at in range(len(rows[0][0]))]
        whole = [round(one) for one in sums] if all(one == round(one) for one in sums) else sums
        return float(corpus_metric(kind)._compute_score_from_stats(whole).score)

    return score


_NAMED = (mean, median, perplexity, weighted_perplexity, bits_per_byte)
_OF_PAIRS = (f1, matthews_corrcoef, brier_score)

AGGREGATIONS: Mapping[str, Callable[[Rows], float]] = {
    **{one.__name__: one for one in (*_NAMED, *_OF_PAIRS)},
    "nanmean": mean,  # every stored value is a number
    **{kind: _sacrebleu(kind) for kind in CORPUS_METRICS},
}
"""The library's registered aggregations by name."""

SHARES = frozenset({"mean", "nanmean"})
"""Those whose values, if they are zeros and ones, make a proportion."""

SUMMED = frozenset({"mean", "weighted_perplexity", "bits_per_byte", "brier_score"})
"""Those that need nothing but sums, and whose standard error, if there is one, is a formula."""
ITERATIONS = 100_000
"""How many resamples the library takes by default for a bootstrapped standard error."""


def aggregate(rows: Rows, how: str) -> Aggregate:
    """A metric of one task over its documents."""
    n = sum(count for _, count in rows)
    if not n or how not in AGGREGATIONS:
        return Aggregate(None, None, n)
    try:
        value = AGGREGATIONS[how](rows)
    except (ArithmeticError, ValueError):
        return Aggregate(None, None, n)
    return Aggregate(value, _mean_stderr(rows, value, n) if how == "mean" else None, n)


def _mean_stderr(rows: Rows, average: float, n: int) -> float | None:
    """``mean_stderr``: the sample's standard deviation over the root of its size."""
    if n < 2:
        return None
    squares = sum((row[0] - average) ** 2 * count for row, count in rows)
    return math.sqrt(squares / (n - 1)) / math.sqrt(n)


def over_tasks(parts: Sequence[Aggregate], *, by_size: bool) -> Aggregate:
    """``aggregate_subtask_metrics``; errors by ``pooled_sample_stderr`` or, unweighted,
    ``unweighted_mean_stderr``."""
    valued = [(part.value, part.n) for part in parts if part.value is not None]
    if not valued:
        return Aggregate(None, None, 0)
    sizes = [n if by_size else 1 for _, n in valued]
    weighted = [value * size for (value, _), size in zip(valued, sizes, strict=True)]
    errors = [part.stderr for part in parts if part.value is not None and part.stderr is not None]
    stderr = None
    if len(errors) == len(valued):
        if by_size:
            total = sum(sizes)
            pooled = [(n - 1) * error**2 * n for error, n in zip(errors, sizes, strict=True)]
            stderr = math.sqrt(sum(pooled) / (total - len(sizes)) / total)
        else:
            stderr = math.sqrt(sum(error**2 for error in errors)) / len(errors)
    return Aggregate(sum(weighted) / sum(sizes), stderr, sum(n for _, n in valued))

"""The library's bootstrapped standard errors, with its resamples, many at a time.

Loaded by the child process only: it needs NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evalbench.engine.benchmarks.lm_eval.aggregation import (
    AGGREGATIONS,
    CORPUS_METRICS,
    corpus_metric,
)

BOOTSTRAPPED = frozenset({"median", "matthews_corrcoef", "f1", "perplexity", "nanmean"}) | {
    *CORPUS_METRICS
}
"""Aggregations whose standard errors the library estimates (``stderr_for_metric``)."""
_CORPUS_ITERATIONS = 100
"""The library takes no more of metrics of sacrebleu."""
_CHUNK = 1000
_CELLS = 2_000_000
"""Most resampled documents that are held at a time."""


def bootstrap_stderr(
    documents: Sequence[tuple[float, ...]], how: str, iterations: int
) -> float | None:
    """``lm_eval.api.metrics.bootstrap_stderr``.

    Args:
        documents: the numbers of each document, in the order of their data set.
        how: one of :data:`BOOTSTRAPPED`.
        iterations: how many resamples.
    """
    if len(documents) < 2:
        return None
    if how in CORPUS_METRICS:
        iterations = min(iterations, _CORPUS_ITERATIONS)
    kinds = list(dict.fromkeys(documents))
    place = {kind: at for at, kind in enumerate(kinds)}
    numbers = np.array([place[one] for one in documents])
    found: list[float] = []
    for drawn in _resamples(len(documents), iterations):
        found += _statistics(numbers[drawn], kinds, how)
    return float(np.std(found, ddof=1))


def _resamples(n: int, iterations: int) -> Iterator[np.ndarray]:
    """Indices of shape (resamples, n), as ``random.Random(chunk).choices`` draws them.

    Both are MT19937 and make floats of it alike; NumPy seeds as Python does if given a list.
    """
    chunk = min(_CHUNK, iterations)
    for seed in range(iterations // chunk):
        source = np.random.RandomState([seed])
        left = chunk
        while left:
            rows = min(left, max(1, _CELLS // n))
            yield (source.random_sample((rows, n)) * n).astype(np.int64)
            left -= rows


def _statistics(drawn: np.ndarray, kinds: Sequence[tuple[float, ...]], how: str) -> Sequence[float]:
    """The statistic of every resample of documents of these kinds."""
    n = drawn.shape[1]
    found: Sequence[float]
    if how in ("nanmean", "perplexity", "median"):
        values = np.array([kind[0] for kind in kinds])[drawn]
        if how == "median":
            found = np.partition(values, n // 2, axis=1)[:, n // 2].tolist()
        elif how == "nanmean":
            found = (values.sum(axis=1) / n).tolist()
        else:
            found = np.exp(-values.sum(axis=1) / n).tolist()
        return found
    shifted = drawn + len(kinds) * np.arange(len(drawn))[:, None]
    counts = np.bincount(shifted.ravel(), minlength=len(drawn) * len(kinds))
    counts = counts.reshape(len(drawn), len(kinds))
    if how in CORPUS_METRICS:
        used = corpus_metric(how)
        sums = counts @ np.array(kinds)
        listed = (sums.astype(np.int64) if np.array_equal(sums, np.rint(sums)) else sums).tolist()
        return [float(used._compute_score_from_stats(row).score) for row in listed]
    return [_of_counts(row, kinds, how) for row in counts.tolist()]


def _of_counts(counts: Sequence[int], kinds: Sequence[tuple[float, ...]], how: str) -> float:
    rows = [(kind, count) for kind, count in zip(kinds, counts, strict=True) if count]
    return AGGREGATIONS[how](rows)

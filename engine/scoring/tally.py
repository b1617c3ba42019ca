"""Additive counts of scores, and the metrics computed from them.

A tally can be kept live, stored, merged and rebuilt from one grouped scan of the journal, because
it holds only counts of equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalbench.engine.calls.replies import Outcome

Tags = tuple[tuple[str, str], ...]
Values = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """``count`` samples that share tags, outcome and values."""

    tags: Mapping[str, str]
    outcome: Outcome
    values: Mapping[str, float]
    count: int


@dataclass(slots=True)
class Tally:
    """Counts by (tags, outcome, values).

    Attributes:
        rows: the counts, of samples × epochs.
        epochs: how often each sample is asked.
        means: with several epochs, another tally of the same samples, each counted once with the
            mean of its values: repeated answers to one question are correlated, so intervals must
            be based on samples. None for a part that was selected by outcome.
    """

    rows: dict[tuple[Tags, Outcome, Values], int] = field(default_factory=dict)
    epochs: int = 1
    means: Tally | None = None

    def add(
        self,
        tags: Mapping[str, str],
        outcome: Outcome,
        values: Mapping[str, float],
        count: int = 1,
    ) -> None:
        """Count ``count`` samples (negative to undo)."""
        key = (tuple(sorted(tags.items())), outcome, tuple(sorted(values.items())))
        total = self.rows.get(key, 0) + count
        if total:
            self.rows[key] = total
        else:
            self.rows.pop(key, None)

    def __iter__(self) -> Iterator[Row]:
        for (tags, outcome, values), count in self.rows.items():
            yield Row(dict(tags), outcome, dict(values), count)

    def outcomes(self) -> dict[str, int]:
        """Samples by outcome name; every outcome is present."""
        counts = {outcome.value: 0 for outcome in Outcome}
        for (_, outcome, _), count in self.rows.items():
            counts[outcome.value] += count
        return counts

    def where(self, keep: Callable[[Row], bool]) -> Tally:
        """The part of the tally whose rows satisfy ``keep``."""
        part = Tally(epochs=self.epochs)
        for row in self:
            if keep(row):
                part.add(row.tags, row.outcome, row.values, row.count)
        return part

    def groups(self, tag: str) -> dict[str, Tally]:
        """One tally per value of ``tag``, in sorted order."""
        parts: dict[str, Tally] = {}
        for row in self:
            parts.setdefault(row.tags.get(tag, ""), Tally(epochs=self.epochs)).add(
                row.tags, row.outcome, row.values, row.count
            )
        if self.means:
            for value, part in self.means.groups(tag).items():
                parts[value].means = part
        return dict(sorted(parts.items()))

    def add_sample(
        self,
        tags: Mapping[str, str],
        scores: Sequence[tuple[Outcome, Mapping[str, float]]],
        count: int = 1,
    ) -> None:
        """Count ``count`` samples that were asked in several epochs, with the means of values."""
        scored = [values for outcome, values in scores if values or outcome is not Outcome.ERROR]
        names = {name for values in scored for name in values}
        means = {
            name: sum(v[name] for v in scored if name in v) / sum(name in v for v in scored)
            for name in names
        }
        self.add(tags, Outcome.OK if scored else Outcome.ERROR, means, count)

    def sums(self, name: str) -> tuple[int, float, float, int]:
        """``(n, sum, sum of squares, failed)`` of value ``name``.

        ``n`` counts samples that have the value; ``failed`` those with outcome ``error`` that
        do not, which are in no denominator.
        """
        n, total, squares, failed = 0, 0.0, 0.0, 0
        for (_, outcome, values), count in self.rows.items():
            held = False
            for key, value in values:
                if key == name:
                    held = True
                    n += count
                    total += value * count
                    squares += value * value * count
            if outcome is Outcome.ERROR and not held:
                failed += count
        return n, total, squares, failed


@dataclass(frozen=True, slots=True)
class Metric:
    """One number and what it is based on.

    Attributes:
        name: for example ``accuracy`` or ``accuracy/subject=anatomy``.
        value: None if nothing was scored.
        low, high: 95 % interval (see ``interval``).
        k, n: numerator and denominator; ``k`` is the sum of values.
        interval: how low and high were computed.
        bound_low, bound_high: the value if every failed sample were wrong or right; equal to
            ``value`` if nothing failed.
        title: display title.
        group: section of the score table, empty for the main one.
        share: whether it is a proportion, shown in percent; None to infer it from the value.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    k: float = 0.0
    n: int = 0
    interval: str = ""
    bound_low: float | None = None
    bound_high: float | None = None
    title: str = ""
    group: str = ""
    share: bool | None = None

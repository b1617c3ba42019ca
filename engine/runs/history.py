"""History of a run: scores, replies and spend per time interval, from a few scans.

At 100,000 samples the scans take a few hundred milliseconds: not for a UI thread.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from evalbench.engine.calls import Outcome
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.records import OUTCOME_CODE, dollars
from evalbench.engine.journal.schema import SLOT_BITS, has_reused
from evalbench.engine.runs.browse import opened
from evalbench.engine.runs.headline import Headline

_MOST_LATENCIES = 50_000
"""Maximum number of calls used for latency; if there are more, they are sampled evenly."""

_LATENCIES = (
    "SELECT r.at, c.sent FROM reply r JOIN call c ON c.id = r.id"
    " WHERE r.outcome <> ? AND c.sent IS NOT NULL AND r.at >= c.sent AND (r.id >> ?) % ? = 0"
)

_ERROR = OUTCOME_CODE[Outcome.ERROR]

_ERRORS = {"wait": "reason", "sample-failed": "error"}
"""Events about errors, and where each names its kind."""
_NO_ERROR = ("Warming",)
_BATCH_BEGINS = ("batch-submitted", "batch-found")
_BATCH_END = "batch-read"

_SHORT_PAUSE_S = 30.0
"""Shorter pauses are left on the time axis."""


@dataclass(slots=True)
class Stretch:
    """What happened in one interval of a run.

    Attributes:
        scored, total, squares: count, sum and sum of squares of the headline value.
        failed: samples whose score is an error.
        replies, failures: answered calls, and calls that ended in an error.
        tokens: generated tokens of the replies.
        cost: US dollars, as far as prices are known.
        retried: attempts that failed and were repeated, by kind of error.
        lost: samples that failed, by kind of error.
        latencies: seconds from sending a call to its reply, sorted; for a local model from when
            it was first loaded, if that was later.
    """

    scored: int = 0
    total: float = 0.0
    squares: float = 0.0
    failed: int = 0
    replies: int = 0
    failures: int = 0
    tokens: int = 0
    cost: float = 0.0
    retried: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)

    def latency(self, share: float) -> float | None:
        """The latency quantile for ``share`` (nearest rank); None if there are no latencies."""
        if not self.latencies:
            return None
        rank = math.ceil(share * len(self.latencies))
        return self.latencies[max(0, rank - 1)]


class BatchTime(NamedTuple):
    """When a batch was sent and when its results were read, in seconds since the run's creation.

    ``end`` is None for one whose results are not in.
    """

    name: str
    begin: float
    end: float | None


@dataclass(frozen=True, slots=True)
class History:
    """A run's history in intervals of equal length.

    Attributes:
        every_s: interval length in seconds.
        stretches: intervals by number; the first starts at the run's creation.
        groups: (n, mean of the headline value) by tag name and value.
        batches: the provider batches, in the order in which they were sent.
        pauses: (begin, end) of the times without an engine, in seconds since the run's creation.
    """

    every_s: float
    stretches: Mapping[int, Stretch]
    groups: Mapping[tuple[str, str], tuple[int, float]]
    batches: Sequence[BatchTime] = ()
    pauses: Sequence[tuple[float, float]] = ()

    def numbers(self) -> Sequence[int]:
        """Numbers of the intervals in which anything happened, in order."""
        return sorted(self.stretches)

    def steps(self) -> list[int]:
        """Numbers of all intervals from the first to the last, without those in pauses."""
        numbers = self.numbers()
        found = []
        at, last = (numbers[0], numbers[-1]) if numbers else (0, -1)
        while at <= last:
            begin, end = at * self.every_s, (at + 1) * self.every_s
            inside = next(
                (stop for start, stop in self.pauses if start <= begin < end <= stop), None
            )
            if inside is None or at in self.stretches:
                found.append(at)
                at += 1
            else:
                following = numbers[bisect_right(numbers, at)]
                at = min(following, max(at + 1, int(inside // self.every_s)))
        return found

    def worked(self, moment: float) -> float:
        """Seconds from the run's creation to a moment, without pauses."""
        return moment - sum(
            min(moment, end) - begin for begin, end in self.pauses if begin < moment
        )

    def moment(self, worked: float) -> float:
        """The inverse of :meth:`worked`."""
        for begin, end in self.pauses:
            if worked > begin:
                worked += end - begin
        return worked


def read_history(journal: Path, value: str, most: int = 120, *, until: float = 0.0) -> History:
    """Read a run's history.

    Args:
        journal: the run's journal.
        value: name of its headline metric.
        most: maximum number of intervals in the active time span.
        until: where it ends at the earliest, in seconds since the run's creation, even if nothing
            has happened lately.

    Raises:
        JournalError: the journal cannot be read.
    """
    with opened(journal) as decoder:
        first, last = _ends(decoder)
        last = max(last, int(1000 * until)) if last else 0
        pauses = _pauses(decoder)
        idle = sum(1000 * (end - begin) for begin, end in pauses)
        every = 1000 * max(1, math.ceil((last - first + 1 - idle) / most / 1000))
        found: dict[int, Stretch] = defaultdict(Stretch)
        if last:
            found[last // every] = Stretch()
        values: dict[int, float | None] = {}
        headline = Headline.of_journal(journal, value)

        def valued(ident: int) -> float | None:
            if ident not in values:
                values[ident] = headline(decoder.values(ident))
            return values[ident]

        for number, ident, outcome, count in decoder.db.execute(
            "SELECT at / ?, vals, outcome, count(*) FROM score GROUP BY 1, 2, 3", (every,)
        ):
            stretch = found[number]
            if outcome == _ERROR:
                stretch.failed += count
            elif (one := valued(ident)) is not None:
                stretch.scored += count
                stretch.total += count * one
                stretch.squares += count * one * one
        _add_replies(decoder, every, found)
        batches = _add_events(decoder, every, found)
        groups: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for tags, ident, count in decoder.db.execute(
            "SELECT tags, vals, count(*) FROM score WHERE outcome <> ? GROUP BY 1, 2", (_ERROR,)
        ):
            if (one := valued(ident)) is not None:
                for tag in decoder.tags(tags).items():
                    groups[tag][0] += count
                    groups[tag][1] += count * one
    means = {tag: (int(n), total / n) for tag, (n, total) in groups.items()}
    return History(every / 1000, dict(found), means, batches, pauses)


def read_latency(journal: Path, shares: Sequence[float]) -> list[float | None]:
    """Latency quantiles in seconds (nearest rank); None without calls.

    Raises:
        JournalError: the journal cannot be read.
    """
    found: dict[int, Stretch] = defaultdict(Stretch)
    with opened(journal) as decoder:
        _add_latencies(decoder, 1 << 62, found)
    return [found[0].latency(share) for share in shares]


def _ends(decoder: RowDecoder) -> tuple[int, int]:
    """Times of the first and last score, reply or error, in milliseconds."""
    ends = decoder.db.execute(
        "SELECT min(at), max(at) FROM score UNION ALL SELECT min(at), max(at) FROM reply"
        " UNION ALL SELECT min(at), max(at) FROM event WHERE kind IN (?, ?)",
        tuple(_ERRORS),
    ).fetchall()
    times = [at for pair in ends for at in pair if at is not None]
    return (min(times), max(times)) if times else (0, 0)


def _pauses(decoder: RowDecoder) -> list[tuple[float, float]]:
    """From the end of an engine to the start of the next one, except short ones."""
    starts = [event.at_ms / 1000 for event in decoder.events("started")]
    ends = [event.at_ms / 1000 for event in decoder.events("ended")]
    found = []
    for end in ends:
        start = next((one for one in starts if one >= end), None)
        if start is not None and start - end >= _SHORT_PAUSE_S:
            found.append((end, start))
    return found


def _add_replies(decoder: RowDecoder, every: int, found: dict[int, Stretch]) -> None:
    for number, count, failures, tokens, cost in decoder.db.execute(
        "SELECT at / ?, count(*), sum(outcome = ?), coalesce(sum(output), 0),"
        " coalesce(sum(cost), 0) FROM reply GROUP BY 1",
        (every, _ERROR),
    ):
        stretch = found[number]
        stretch.replies, stretch.failures, stretch.tokens = count, failures, tokens
        stretch.cost = float(dollars(cost))
    _add_latencies(decoder, every, found)


def _add_events(decoder: RowDecoder, every: int, found: dict[int, Stretch]) -> list[BatchTime]:
    """Count errors, and find out when batches were sent and read."""
    for what, named in _ERRORS.items():
        for event in decoder.events(what):
            kind = str(event.body.get(named) or "")
            if kind and kind not in _NO_ERROR:
                stretch = found[event.at_ms // every]
                counts = stretch.lost if what == "sample-failed" else stretch.retried
                counts[kind] += event.count
    begun: dict[str, float] = {}
    for what in _BATCH_BEGINS:
        for event in decoder.events(what):
            begun.setdefault(str(event.body.get("batch")), event.at_ms / 1000)
    ended = {str(e.body.get("batch")): e.at_ms / 1000 for e in decoder.events(_BATCH_END)}
    batches = [BatchTime(name, at, ended.get(name)) for name, at in begun.items()]
    return sorted(batches, key=lambda batch: batch.begin)


def _loads(decoder: RowDecoder) -> list[tuple[int, int]]:
    """From the start of each engine until its first local model was loaded, in milliseconds."""
    loaded = [event.at_ms for event in decoder.events("model-loaded")]
    starts = [event.at_ms for event in decoder.events("started")]
    found = []
    for begin, following in zip_longest(starts, starts[1:], fillvalue=math.inf):
        if (end := next((at for at in loaded if begin <= at < following), None)) is not None:
            found.append((int(begin), end))
    return found


def _add_latencies(decoder: RowDecoder, every: int, found: dict[int, Stretch]) -> None:
    (total,) = decoder.db.execute("SELECT count(*) FROM reply").fetchone()
    reused = "SELECT call FROM reused" if has_reused(decoder.db) else "0"
    nth = max(1, math.ceil(total / _MOST_LATENCIES))
    sql = f"{_LATENCIES} AND r.id NOT IN ({reused})"
    loads = _loads(decoder)
    for at, sent in decoder.db.execute(sql, (_ERROR, SLOT_BITS, nth)):
        begun = next((end for begin, end in loads if begin <= sent < end <= at), sent)
        found[at // every].latencies.append((at - begun) / 1000)
    for stretch in found.values():
        stretch.latencies.sort()

"""How a run went: what was scored, answered and spent in each stretch of its time, by a few scans.

At 100,000 samples the scans take some hundred milliseconds: not for a thread that draws.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalbench.engine.calls import Outcome
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.records import OUTCOME_CODE, dollars
from evalbench.engine.journal.schema import SLOT_BITS, has_reused
from evalbench.engine.runs.browse import headline, opened

_MOST_LATENCIES = 50_000
"""Calls whose time to the reply is looked at; of more, some from everywhere."""

_LATENCIES = (
    "SELECT r.at / ?, r.at - c.sent FROM reply r JOIN call c ON c.id = r.id"
    " WHERE r.outcome <> ? AND c.sent IS NOT NULL AND r.at >= c.sent AND (r.id >> ?) % ? = 0"
)

_ERROR = OUTCOME_CODE[Outcome.ERROR]


@dataclass(slots=True)
class Stretch:
    """What happened in one stretch of a run's time.

    Attributes:
        scored, total, squares: number, sum and sum of squares of the headline value.
        failed: samples whose score tells of an error.
        replies, failures: calls that were answered, and those that ended in an error.
        tokens: of the replies, made by the models.
        cost: US dollars, as far as prices are known.
        latencies: seconds from sending a call to its reply, in order.
    """

    scored: int = 0
    total: float = 0.0
    squares: float = 0.0
    failed: int = 0
    replies: int = 0
    failures: int = 0
    tokens: int = 0
    cost: float = 0.0
    latencies: list[float] = field(default_factory=list)

    def latency(self, share: float) -> float | None:
        """The latency that a share of the calls stayed within (nearest rank); None without one."""
        if not self.latencies:
            return None
        rank = math.ceil(share * len(self.latencies))
        return self.latencies[max(0, rank - 1)]


@dataclass(frozen=True, slots=True)
class History:
    """A run's time in stretches of equal length.

    Attributes:
        every_s: how long each is, in seconds.
        stretches: by number; the first begins at the run's creation.
        groups: (n, mean of the headline value) by name and value of a tag.
    """

    every_s: float
    stretches: Mapping[int, Stretch]
    groups: Mapping[tuple[str, str], tuple[int, float]]

    def numbers(self) -> Sequence[int]:
        """Stretches in which anything happened, in order."""
        return sorted(self.stretches)


def read_history(journal: Path, value: str, most: int = 120) -> History:
    """Read how a run went.

    Args:
        journal: of the run.
        value: name of its headline value, see :func:`headline`.
        most: stretches at most, of the time in which something happened.

    Raises:
        JournalError: it cannot be read.
    """
    with opened(journal) as decoder:
        first, last = _ends(decoder)
        every = 1000 * max(1, math.ceil((last - first + 1) / most / 1000))
        found: dict[int, Stretch] = defaultdict(Stretch)
        values: dict[int, float | None] = {}

        def valued(ident: int) -> float | None:
            if ident not in values:
                values[ident] = headline(decoder.values(ident), value)
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
        groups: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for tags, ident, count in decoder.db.execute(
            "SELECT tags, vals, count(*) FROM score WHERE outcome <> ? GROUP BY 1, 2", (_ERROR,)
        ):
            if (one := valued(ident)) is not None:
                for tag in decoder.tags(tags).items():
                    groups[tag][0] += count
                    groups[tag][1] += count * one
    means = {tag: (int(n), total / n) for tag, (n, total) in groups.items()}
    return History(every / 1000, dict(found), means)


def median_latency(journal: Path) -> float | None:
    """The median of the seconds from sending a call to its reply; None without any.

    Raises:
        JournalError: the journal cannot be read.
    """
    found: dict[int, Stretch] = defaultdict(Stretch)
    with opened(journal) as decoder:
        _add_latencies(decoder, _ONE_STRETCH, found)
    every = Stretch(latencies=sorted(one for part in found.values() for one in part.latencies))
    return every.latency(0.5)


_ONE_STRETCH = 1 << 62
"""Milliseconds that all of a run's time lies within."""


def _ends(decoder: RowDecoder) -> tuple[int, int]:
    """When anything was scored or answered first and last, in milliseconds."""
    ends = decoder.db.execute(
        "SELECT min(at), max(at) FROM score UNION ALL SELECT min(at), max(at) FROM reply"
    ).fetchall()
    times = [at for pair in ends for at in pair if at is not None]
    return (min(times), max(times)) if times else (0, 0)


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


def _add_latencies(decoder: RowDecoder, every: int, found: dict[int, Stretch]) -> None:
    (total,) = decoder.db.execute("SELECT count(*) FROM reply").fetchone()
    reused = "SELECT call FROM reused" if has_reused(decoder.db) else "0"
    nth = max(1, math.ceil(total / _MOST_LATENCIES))
    sql = f"{_LATENCIES} AND r.id NOT IN ({reused})"
    for number, took in decoder.db.execute(sql, (every, _ERROR, SLOT_BITS, nth)):
        found[number].latencies.append(took / 1000)
    for stretch in found.values():
        stretch.latencies.sort()

"""What the rows of a journal add up to, kept so that nobody has to look at each of them again.

The writer counts along in memory and stores the sums when the journal comes to rest; its
first row after that takes them out in the same transaction. So they are in the journal only
while they are right. After a kill they are not there, and are counted anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from evalbench.engine.journal.schema import has_reused
from evalbench.engine.shapes import list_of, record, whole

KEY = "sums"
"""Their place in the table ``run``."""

COUNTED = ("sample", "call", "reply", "score")
"""The tables whose rows they add up."""

_FEW_KINDS = 1000
_SCORES_A_KIND = 10
"""Scores that nearly all differ are not worth it: their counts take as much room as they do."""

_OWN_REPLIES = (
    "SELECT coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cost), 0),"
    " coalesce(sum(possible), 0) FROM reply"
)

_KEPT = record(
    dict.fromkeys(
        ("samples", "calls", "replies", "input", "output", "cost", "possible"), whole(0, 2**63)
    ),
    {"scores": list_of(list_of(whole(0, 2**63)))},
)

Kind = tuple[int, int, int]
"""Tags, outcome and values of a score, as the numbers that the journal holds."""


@dataclass(slots=True)
class Sums:
    """Counts and sums over the rows of one journal.

    Attributes:
        samples, calls, replies: how many there are.
        input, output: tokens of the replies that were not taken from earlier runs.
        cost, possible: what those cost, and may have cost besides, in picodollars.
        scores: how many there are of each kind.
        certain: whether they are known to be right.
    """

    samples: int = 0
    calls: int = 0
    replies: int = 0
    input: int = 0
    output: int = 0
    cost: int = 0
    possible: int = 0
    scores: dict[Kind, int] = field(default_factory=dict)
    certain: bool = True

    def count(self, outcomes: Iterable[int]) -> int:
        """How many scores have one of these outcomes."""
        codes = set(outcomes)
        return sum(count for (_, code, _), count in self.scores.items() if code in codes)

    def add(self, tables: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        """Count the rows that one transaction stored, by table."""
        self.samples += len(tables.get("sample", ()))
        self.calls += len(tables.get("call", ()))
        replies = tables.get("reply", ())
        self.replies += len(replies)
        # A reply is marked as an earlier run's in the transaction that stores it.
        reused = {call for call, _, _ in tables.get("reused", ())}
        for ident, _, _, given, made, cost, possible, _ in replies:
            if ident not in reused:
                self.input += given or 0
                self.output += made or 0
                self.cost += cost or 0
                self.possible += possible
        for _, _, tags, outcome, values, _ in tables.get("score", ()):
            self._score(tags, outcome, values, 1)

    def become(self, other: Sums) -> None:
        """Take over what another has counted."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def follow(self, connection: sqlite3.Connection) -> None:
        """Take off every row that this connection deletes or replaces from now on."""
        # Without it, triggers do not hear of rows that are replaced.
        connection.execute("PRAGMA recursive_triggers = ON")
        for table in COUNTED:
            connection.execute(
                f"CREATE TEMP TRIGGER {table}_gone AFTER DELETE ON main.{table} BEGIN"
                f" SELECT {table}_gone({'OLD.tags, OLD.outcome, OLD.vals' * (table == 'score')});"
                " END"
            )
        connection.create_function("sample_gone", 0, self._sample_gone)
        connection.create_function("call_gone", 0, self._call_gone)
        connection.create_function("reply_gone", 0, self._reply_gone)
        connection.create_function("score_gone", 3, self._score_gone)

    def _sample_gone(self) -> None:
        self.samples -= 1

    def _call_gone(self) -> None:
        self.calls -= 1

    def _reply_gone(self) -> None:
        self.replies -= 1
        # Nothing replaces a reply. If anything ever does, it is not known whose that one was.
        self.certain = False

    def _score_gone(self, tags: int, outcome: int, values: int) -> None:
        self._score(tags, outcome, values, -1)

    def _score(self, tags: int, outcome: int, values: int, count: int) -> None:
        kind = tags, outcome, values
        if total := self.scores.get(kind, 0) + count:
            self.scores[kind] = total
        else:
            del self.scores[kind]

    def dump(self) -> bytes | None:
        """As the table ``run`` holds them; None when they are not to be kept."""
        scores = [[*kind, count] for kind, count in self.scores.items()]
        few = max(_FEW_KINDS, sum(self.scores.values()) // _SCORES_A_KIND)
        if not self.certain or len(scores) > few:
            return None
        held = asdict(self) | {"scores": scores}
        del held["certain"]
        return orjson.dumps(held)


def kept(connection: sqlite3.Connection) -> Sums | None:
    """The sums that a journal at rest holds; None when it holds none."""
    row = connection.execute("SELECT value FROM run WHERE key = ?", (KEY,)).fetchone()
    if row is None:
        return None
    try:
        held = orjson.loads(row[0])
        _KEPT(held)
        held["scores"] = {(tags, code, values): n for tags, code, values, n in held["scores"]}
        return Sums(**held)
    except (TypeError, ValueError):
        return None  # Edited: whoever asks counts.


def recount(connection: sqlite3.Connection) -> Sums:
    """The sums by a look at every row."""
    samples, calls, replies = connection.execute(
        "SELECT (SELECT count(*) FROM sample), (SELECT count(*) FROM call),"
        " (SELECT count(*) FROM reply)"
    ).fetchone()
    own = count_own_replies(connection)
    return Sums(samples, calls, replies, *own, scores=count_by_kind(connection))


def count_own_replies(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    """``input``, ``output``, ``cost`` and ``possible`` of :class:`Sums`."""
    ours = " WHERE id NOT IN (SELECT call FROM reused)" if has_reused(connection) else ""
    given, made, cost, possible = connection.execute(_OWN_REPLIES + ours).fetchone()
    return given, made, cost, possible


def count_by_kind(connection: sqlite3.Connection) -> dict[Kind, int]:
    """How many scores there are of each kind."""
    # Grouped by one number, which SQLite sorts in half the time of three.
    rows = connection.execute(
        "SELECT tags, outcome, vals, count(*) FROM score"
        " GROUP BY (tags << 36) | (vals << 4) | outcome"
    )
    return {(tags, outcome, values): count for tags, outcome, values, count in rows}

"""Sums over the rows of a journal, kept so that they need not be recounted.

The writer counts in memory and stores the sums when the journal comes to rest; its first row
after that deletes them in the same transaction. So the journal contains them only while they
are correct. After a kill they are missing and are recounted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from evalbench.engine.field_checks import anything, list_of, record, whole
from evalbench.engine.journal.epoch_means import EpochMeans
from evalbench.engine.journal.schema import has_reused

KEY = "sums"
"""Their key in the table ``run``."""

COUNTED = ("sample", "call", "reply", "score")
"""The tables that they cover."""

_FEW_KINDS = 1000
_SCORES_A_KIND = 10
"""If nearly all scores differ, the sums are not stored: they would be as large as the scores."""

_OWN_REPLIES = (
    "SELECT coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cost), 0),"
    " coalesce(sum(possible), 0) FROM reply"
)

_NUMBERS = ("samples", "calls", "replies", "input", "output", "cost", "possible")
_KEPT = record(
    dict.fromkeys(_NUMBERS, whole(0, 2**63)),
    {"scores": list_of(list_of(whole(0, 2**63))), "epoch_means": anything},
)

Kind = tuple[int, int, int]
"""Tags, outcome and values of a score, as the numbers in the journal."""


@dataclass(slots=True)
class Sums:
    """Counts and sums over the rows of one journal.

    Attributes:
        samples, calls, replies: number of each.
        input, output: tokens of the replies that were not reused from earlier runs.
        cost, possible: their cost, and possible further cost, in picodollars.
        scores: number of scores of each kind.
        certain: whether they are known to be correct.
        epoch_means: of a run in several epochs, if they are known.
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
    epoch_means: EpochMeans | None = field(default=None, compare=False)

    def count(self, outcomes: Iterable[int]) -> int:
        """Number of scores with one of these outcomes."""
        codes = set(outcomes)
        return sum(count for (_, code, _), count in self.scores.items() if code in codes)

    def add(self, tables: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        """Count the rows stored by one transaction, by table."""
        self.samples += len(tables.get("sample", ()))
        self.calls += len(tables.get("call", ()))
        replies = tables.get("reply", ())
        self.replies += len(replies)
        # A reply is marked as reused in the transaction that stores it.
        reused = {call for call, _, _ in tables.get("reused", ())}
        for ident, _, _, given, made, cost, possible, _ in replies:
            if ident not in reused:
                self.input += given or 0
                self.output += made or 0
                self.cost += cost or 0
                self.possible += possible
        for _, _, tags, outcome, values, _ in tables.get("score", ()):
            self._score(tags, outcome, values, 1)

    def agree(self, counted: Sums) -> bool:
        """Whether these are the sums counted from every row, as far as they are known."""
        if self.certain:
            return self == counted
        names = "samples", "calls", "replies", "scores"
        return all(getattr(self, name) == getattr(counted, name) for name in names)

    def become(self, other: Sums) -> None:
        """Copy the sums of another instance."""
        for name in self.__slots__:
            setattr(self, name, getattr(other, name))

    def follow(self, connection: sqlite3.Connection) -> None:
        """Subtract every row that this connection deletes or replaces from now on."""
        # Without this, triggers do not fire for replaced rows.
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
        # Replies are never replaced. If one ever were, we could not tell whether it was reused.
        self.certain = False

    def _score_gone(self, tags: int, outcome: int, values: int) -> None:
        self._score(tags, outcome, values, -1)

    def _score(self, tags: int, outcome: int, values: int, count: int) -> None:
        self.epoch_means = None
        kind = tags, outcome, values
        if total := self.scores.get(kind, 0) + count:
            self.scores[kind] = total
        else:
            del self.scores[kind]

    def dump(self) -> bytes | None:
        """Their form in the table ``run``; None if they should not be stored."""
        scores = [[*kind, count] for kind, count in self.scores.items()]
        few = max(_FEW_KINDS, sum(self.scores.values()) // _SCORES_A_KIND)
        if not self.certain or len(scores) > few:
            return None
        values = {name: getattr(self, name) for name in _NUMBERS} | {"scores": scores}
        if self.epoch_means and self.epoch_means.size <= few:
            values["epoch_means"] = self.epoch_means.to_json()
        return orjson.dumps(values)


def kept(connection: sqlite3.Connection) -> Sums | None:
    """The sums stored in a journal at rest; None if there are none."""
    row = connection.execute("SELECT value FROM run WHERE key = ?", (KEY,)).fetchone()
    if row is None:
        return None
    try:
        stored = orjson.loads(row[0])
        _KEPT(stored)
        stored["scores"] = {(tags, code, values): n for tags, code, values, n in stored["scores"]}
        means = stored.pop("epoch_means", None)
        return Sums(**stored, epoch_means=EpochMeans.from_json(means) if means else None)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None  # edited: the caller recounts


def recount(connection: sqlite3.Connection, scores: dict[Kind, int] | None = None) -> Sums:
    """Compute the sums from every row; ``scores`` by kind are not counted if they are given."""
    samples, calls, replies = connection.execute(
        "SELECT (SELECT count(*) FROM sample), (SELECT count(*) FROM call),"
        " (SELECT count(*) FROM reply)"
    ).fetchone()
    own = count_own_replies(connection)
    kinds = count_by_kind(connection) if scores is None else scores
    return Sums(samples, calls, replies, *own, scores=kinds)


def count_own_replies(connection: sqlite3.Connection) -> tuple[int, int, int, int]:
    """``input``, ``output``, ``cost`` and ``possible`` of :class:`Sums`."""
    ours = " WHERE id NOT IN (SELECT call FROM reused)" if has_reused(connection) else ""
    given, made, cost, possible = connection.execute(_OWN_REPLIES + ours).fetchone()
    return given, made, cost, possible


def count_by_kind(connection: sqlite3.Connection) -> dict[Kind, int]:
    """Number of scores of each kind."""
    # Grouped by a single number, which SQLite sorts in half the time of three.
    rows = connection.execute(
        "SELECT tags, outcome, vals, count(*) FROM score"
        " GROUP BY (tags << 36) | (vals << 4) | outcome"
    )
    return {(tags, outcome, values): count for tags, outcome, values, count in rows}

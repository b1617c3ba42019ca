"""Pages of samples: unfinished ones, and scored ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.journal.reader import RowDecoder, calls_of
from evalbench.engine.journal.records import OUTCOME_CODE, CallRow
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS, understand


def count_scores(decoder: RowDecoder, ignoring: Iterable[Outcome] = ()) -> int:
    """Number of scores, not counting some outcomes."""
    if known := decoder.sums():
        return known.count(set(OUTCOME_CODE.values()) - {OUTCOME_CODE[one] for one in ignoring})
    sql = "SELECT count(*) FROM score WHERE ? >> outcome & 1 = 0"
    return int(decoder.db.execute(sql, (_mask(ignoring),)).fetchone()[0])


def _mask(outcomes: Iterable[Outcome]) -> int:
    return sum(1 << OUTCOME_CODE[outcome] for outcome in set(outcomes))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A sample without a score in some epochs, with its calls so far."""

    row: int
    sample: Sample
    epochs: list[int]
    calls: list[CallRow]


_UNFINISHED = """
SELECT s.row, s.hash, s.occurrence, s.tags, s.body,
    (SELECT group_concat(k.id - (s.row << :epoch_bits)) FROM score k
     WHERE k.id BETWEEN s.row << :epoch_bits AND (s.row << :epoch_bits) + :epochs - 1
     AND :again >> k.outcome & 1 = 0),
    EXISTS (SELECT 1 FROM call c
     WHERE c.id BETWEEN s.row << :slot_bits AND (s.row + 1 << :slot_bits) - 1) AS asked
FROM sample s
WHERE s.row > :after
    AND (SELECT count(*) FROM score k
     WHERE k.id BETWEEN s.row << :epoch_bits AND (s.row << :epoch_bits) + :epochs - 1
     AND :again >> k.outcome & 1 = 0) < :epochs
    {only}
    AND (asked OR NOT :asked_only)
ORDER BY s.row LIMIT :most
"""
# A separate query, so that looking for a few rows does not scan all.
_ONLY = "AND s.row IN (SELECT value FROM json_each(:rows))"


def unfinished(
    decoder: RowDecoder,
    path: Path,
    *,
    after: int,
    epochs: int,
    most: int,
    ask_again: Iterable[Outcome] = (),
    asked_only: bool = False,
    rows: Collection[int] | None = None,
) -> list[Unfinished]:
    """Samples after row ``after`` that lack a score in any epoch, in row order.

    Args:
        decoder, path: the journal.
        after: the last row of the previous page; 0 at first.
        epochs: number of scores of a finished sample.
        most: maximum number of samples.
        ask_again: scores of these outcomes do not count.
        asked_only: leave out samples that have made no calls.
        rows: consider only these samples.
    """
    limits = {
        "after": after,
        "epochs": epochs,
        "most": most,
        "again": _mask(ask_again),
        "asked_only": asked_only,
        "rows": str(sorted(rows or ())),
        "epoch_bits": EPOCH_BITS,
        "slot_bits": SLOT_BITS,
    }
    try:
        sql = _UNFINISHED.format(only="" if rows is None else _ONLY)
        found_rows = decoder.db.execute(sql, limits).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    samples = {row: decoder.sample(*columns) for row, *columns, _, _ in found_rows}
    asked = {row: samples[row] for row, *_, has_asked in found_rows if has_asked}
    calls = calls_of(decoder, path, asked)
    found = []
    for row, *_, done, _ in found_rows:
        scored = set(map(int, done.split(","))) if done else ()
        missing = [epoch for epoch in range(epochs) if epoch not in scored]
        found.append(Unfinished(row, samples[row], missing, calls.get(row, [])))
    return found


class SampleCalls(NamedTuple):
    """A sample with all its calls."""

    row: int
    sample: Sample
    calls: list[CallRow]


def samples_with_calls(decoder: RowDecoder, path: Path, rows: Collection[int]) -> list[SampleCalls]:
    """Samples by row, with their calls, in row order. Rows that no longer exist are left out."""
    try:
        found = decoder.db.execute(
            "SELECT row, hash, occurrence, tags, body FROM sample"
            " WHERE row IN (SELECT value FROM json_each(?)) ORDER BY row",
            (str(sorted(rows)),),
        ).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    samples = {row: decoder.sample(*columns) for row, *columns in found}
    calls = calls_of(decoder, path, samples)
    return [SampleCalls(row, sample, calls.get(row, [])) for row, sample in samples.items()]


class CutOff(NamedTuple):
    """A call without a reply that no engine is working on.

    Attributes:
        call: as stored.
        billed: failed attempts that may have been billed.
        flying: 1 if another attempt may have been in flight, else 0.
    """

    call: CallRow
    billed: int
    flying: int


def cut_off(decoder: RowDecoder, path: Path) -> list[CutOff]:
    """Calls that have no reply although no engine is working on them any more."""
    known = decoder.sums()
    if known and known.calls == known.replies:
        return []
    cut = {
        ident: (billed, flying)
        for ident, billed, flying in decoder.db.execute(
            "SELECT c.id, coalesce(a.billed, 0), coalesce(a.flying, 1) FROM call c"
            " LEFT JOIN reply r ON r.id = c.id LEFT JOIN attempts a ON a.call = c.id"
            " WHERE r.id IS NULL AND c.id NOT IN (SELECT call FROM batched)"
        )
    }
    rows = {ident >> SLOT_BITS for ident in cut}
    return [
        CutOff(call, *cut[call.id])
        for one in samples_with_calls(decoder, path, rows)
        for call in one.calls
        if call.id in cut
    ]


class Scored(NamedTuple):
    """A sample with all its calls, and the outcome and values of each scored epoch."""

    row: int
    sample: Sample
    calls: list[CallRow]
    scores: dict[int, tuple[Outcome, dict[str, float]]]


def scored_samples(decoder: RowDecoder, path: Path, after: int, most: int) -> list[Scored]:
    """Samples after row ``after``, at most ``most``, in row order."""
    try:
        rows = decoder.db.execute(
            "SELECT row, hash, occurrence, tags, body FROM sample WHERE row > ?"
            " ORDER BY row LIMIT ?",
            (after, most),
        ).fetchall()
        samples = {row: decoder.sample(*columns) for row, *columns in rows}
        calls = calls_of(decoder, path, samples)
        found = []
        for row, sample in samples.items():
            scores = decoder.db.execute(
                "SELECT id, outcome, vals FROM score WHERE id BETWEEN ? AND ?",
                (row << EPOCH_BITS, (row + 1 << EPOCH_BITS) - 1),
            ).fetchall()
            by_epoch = {
                ident & ((1 << EPOCH_BITS) - 1): (decoder.outcome(outcome), decoder.values(values))
                for ident, outcome, values in scores
            }
            found.append(Scored(row, sample, calls.get(row, []), by_epoch))
        return found
    except sqlite3.Error as error:
        raise understand(error, path) from error


class InternedScores(NamedTuple):
    """All scores of a journal in stored form; see ``RowDecoder.name`` for the numbers.

    Attributes:
        ids: content id of every sample, by row.
        rows: (row, number of the tags, outcome, number of the values) of every score, in row
            order; a sample has one per epoch.
    """

    ids: dict[int, str]
    rows: list[tuple[int, int, Outcome, int]]


def interned_scores(decoder: RowDecoder, path: Path) -> InternedScores:
    """All scores, with tags and values as numbers: the few distinct ones are decoded once."""
    try:
        samples = decoder.db.execute("SELECT row, hash, occurrence FROM sample ORDER BY row")
        ids = {row: decoder.ident(digest, occurrence) for row, digest, occurrence in samples}
        scores = decoder.db.execute("SELECT id, tags, outcome, vals FROM score ORDER BY id")
        return InternedScores(
            ids,
            [
                (ident >> EPOCH_BITS, tags, decoder.outcome(code), vals)
                for ident, tags, code, vals in scores
            ],
        )
    except sqlite3.Error as error:
        raise understand(error, path) from error

"""Tracks exactly which spans each destination has received, even after a crash.

Stored next to the journal, in ``traces.db``: one row per call that a destination has accepted.
The journal itself is only written by the engine.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Sample
from evalbench.engine.journal import JournalReader
from evalbench.engine.journal.paging import samples_with_calls
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.records import ScoreRow
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS, understand
from evalbench.engine.paths import open_private
from evalbench.engine.telemetry.spans import Answered

FILE = "traces.db"
PAGE = 256

_SLOT = (1 << SLOT_BITS) - 1

_UNTOLD = f"""
SELECT r.id, r.at, s.epoch FROM reply r JOIN slot s ON s.id = r.id & {_SLOT}
WHERE r.id >= :low AND r.id > :after
    AND NOT EXISTS (SELECT 1 FROM told t WHERE t.place = :place AND t.call = r.id)
    AND (:all OR EXISTS (
        SELECT 1 FROM score k WHERE k.id = (r.id >> {SLOT_BITS} << {EPOCH_BITS}) + s.epoch))
ORDER BY r.id LIMIT :most
"""  # noqa: S608
_FIRST_OPEN = f"""
SELECT s.row FROM sample s WHERE s.row >= :low AND (
    SELECT count(*) FROM score k WHERE k.id BETWEEN s.row << {EPOCH_BITS}
    AND (s.row << {EPOCH_BITS}) + :epochs - 1) < :epochs
ORDER BY s.row LIMIT 1
"""  # noqa: S608

_Reply = tuple[int, int, int]
"""Call number, time its reply was stored, epoch."""


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """One sample in one epoch, with those of its calls that have to be sent."""

    sample: Sample
    epoch: int
    calls: list[Answered]
    score: ScoreRow | None
    scored_ms: int


class Outbox:
    """What one destination has received of one run, on top of a reader of its journal.

    Raises:
        JournalError: the journal, or the file next to it, cannot be used; raised by every method.
    """

    def __init__(self, journal: JournalReader, place: str, epochs: int) -> None:
        """Open the outbox.

        Args:
            journal: the run's journal; the caller closes it.
            place: identifies the destination.
            epochs: number of scores of a finished sample.
        """
        self._journal = journal
        self._epochs = epochs
        self._low = 1
        path = journal.path.with_name(FILE)

        def open_beside(decoder: RowDecoder, _: Path) -> int:
            open_private(path, "ab").close()
            decoder.db.execute("ATTACH ? AS beside", (f"{path.absolute().as_uri()}?mode=rw",))
            decoder.db.execute(
                "CREATE TABLE IF NOT EXISTS beside.place"
                " (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
            )
            decoder.db.execute(
                "CREATE TABLE IF NOT EXISTS beside.told (place INTEGER, call INTEGER,"
                " refused INTEGER, PRIMARY KEY (place, call)) WITHOUT ROWID"
            )
            decoder.db.execute("INSERT OR IGNORE INTO beside.place (name) VALUES (?)", (place,))
            return int(
                decoder.db.execute(
                    "SELECT id FROM beside.place WHERE name = ?", (place,)
                ).fetchone()[0]
            )

        self._place = self._query(open_beside)

    def _query(self, read: Any) -> Any:
        try:
            return self._journal.query(read)
        except (sqlite3.Error, OSError) as error:
            raise understand(error, self._journal.path) from error

    def pending(self, *, everything: bool = False) -> Iterator[OutboxItem]:
        """Finished samples with unsent calls, in row order.

        Args:
            everything: include calls of samples that have no score yet.
        """
        after = 0
        if everything:
            self._low = 1
        low = self._query(self._first_open)
        while page := self._query(partial(self._page, after=after, everything=everything)):
            # A page may end within a sample: the rest of it starts the next one.
            row = page[-1][0] >> SLOT_BITS
            if len(page) == PAGE and page[0][0] >> SLOT_BITS != row:
                page = [one for one in page if one[0] >> SLOT_BITS != row]
            after = page[-1][0]
            yield from self._query(partial(self._gather, page=page))
        self._low = low

    def _first_open(self, decoder: RowDecoder, _: Path) -> int:
        """The first unfinished sample: nothing new can appear before it."""
        found = decoder.db.execute(
            _FIRST_OPEN, {"low": self._low, "epochs": self._epochs}
        ).fetchone()
        return int(found[0]) if found else self._low

    def _page(self, decoder: RowDecoder, _: Path, *, after: int, everything: bool) -> list[_Reply]:
        limits = {
            "low": self._low << SLOT_BITS,
            "after": after,
            "place": self._place,
            "all": everything,
            "most": PAGE,
        }
        return decoder.db.execute(_UNTOLD, limits).fetchall()

    def _gather(self, decoder: RowDecoder, path: Path, *, page: list[_Reply]) -> list[OutboxItem]:
        found = []
        samples = {
            one.row: one
            for one in samples_with_calls(decoder, path, {one[0] >> SLOT_BITS for one in page})
        }
        for row, group in groupby(page, key=lambda one: one[0] >> SLOT_BITS):
            wanted = list(group)
            if row not in samples:
                continue  # removed by changed settings; its calls stay as a record
            _, sample, own_calls = samples[row]
            calls = {call.id: call for call in own_calls}
            batched = _batched(decoder, row)
            for epoch in sorted({epoch for _, _, epoch in wanted}):
                own = [
                    Answered(calls[ident], at, ident in batched)
                    for ident, at, one in wanted
                    if one == epoch
                ]
                found.append(OutboxItem(sample, epoch, own, *_score(decoder, row, epoch)))
        return found

    def mark(self, calls: Iterable[int], *, refused: bool = False) -> None:
        """Record that these calls were sent, or that the destination rejected them."""
        rows = [(self._place, call, refused) for call in calls]

        def write(decoder: RowDecoder, _: Path) -> None:
            decoder.db.execute("BEGIN")
            decoder.db.executemany("INSERT OR REPLACE INTO beside.told VALUES (?, ?, ?)", rows)
            decoder.db.execute("COMMIT")

        self._query(write)

    def forget(self, *, all_of_it: bool) -> None:
        """Mark what the destination rejected, or everything, as unsent."""
        self._query(
            lambda decoder, _: decoder.db.execute(
                "DELETE FROM beside.told WHERE place = ? AND (refused OR ?)",
                (self._place, all_of_it),
            )
        )

    def left(self) -> int:
        """Number of unsent replies."""
        return int(
            self._query(
                lambda decoder, _: decoder.db.execute(
                    "SELECT (SELECT count(*) FROM reply) -"
                    " (SELECT count(*) FROM beside.told WHERE place = ? AND NOT refused)",
                    (self._place,),
                ).fetchone()[0]
            )
        )


def _score(decoder: RowDecoder, row: int, epoch: int) -> tuple[ScoreRow | None, int]:
    found = decoder.db.execute(
        "SELECT at, outcome, vals FROM score WHERE id = ?", ((row << EPOCH_BITS) + epoch,)
    ).fetchone()
    if found is None:
        return None, 0
    at, outcome, values = found
    return ScoreRow(row, epoch, decoder.outcome(outcome), decoder.values(values), {}), at


def _batched(decoder: RowDecoder, row: int) -> set[int]:
    try:
        rows = decoder.db.execute(
            "SELECT call FROM batched WHERE call BETWEEN ? AND ?",
            (row << SLOT_BITS, (row + 1 << SLOT_BITS) - 1),
        )
    except sqlite3.OperationalError:
        return set()  # a journal from a version without batches
    return {call for (call,) in rows}

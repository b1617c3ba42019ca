"""The batches of a journal, and the calls in their lines."""

from __future__ import annotations

import re
import sqlite3
from array import array
from collections.abc import Collection
from pathlib import Path

import orjson

from evalbench.engine.calls import Outcome
from evalbench.engine.errors import JournalError
from evalbench.engine.journal.reader import RowDecoder
from evalbench.engine.journal.records import OUTCOME_CODE, BatchRow
from evalbench.engine.journal.schema import has_batches, understand


def batches(decoder: RowDecoder, path: Path) -> list[BatchRow]:
    """All batches, in the order in which they were started."""
    try:
        if not has_batches(decoder.db):
            return []
        rows = decoder.db.execute("SELECT id, name, state, body FROM batch ORDER BY id").fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    return [_row(path, *row) for row in rows]


def _row(path: Path, ident: int, name: str, state: str, body: bytes) -> BatchRow:
    """A batch; its name is part of file names, so it must not lead to another folder."""
    if not re.fullmatch(r"\w+", name):
        raise JournalError(f"the journal {path} cannot be used", why="it names a batch oddly")
    return BatchRow(ident, name, state, orjson.loads(body))


def calls_in(decoder: RowDecoder, path: Path, batch: int, requests: int) -> array[int]:
    """The calls of a batch by line number; 0 if a call has left it since.

    Args:
        decoder, path: the journal.
        batch: the batch's number.
        requests: its number of lines, if known; 0 for a batch that was never completed.
    """
    try:
        rows = decoder.db.execute(
            "SELECT call, item FROM batched WHERE batch = ?", (batch,)
        ).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    lines = max([requests, *(item + 1 for _, item in rows)])
    calls = array("q", bytes(8 * lines))
    for call, item in rows:
        calls[item] = call
    return calls


def line_of(decoder: RowDecoder, path: Path, call: int) -> tuple[BatchRow, int] | None:
    """The batch in which a call was sent, and its line; None if it was not in a batch."""
    try:
        if not has_batches(decoder.db):
            return None
        found = decoder.db.execute(
            "SELECT b.id, b.name, b.state, b.body, k.item FROM batched k"
            " JOIN batch b ON b.id = k.batch WHERE k.call = ?",
            (call,),
        ).fetchone()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    if found is None:
        return None
    *row, item = found
    return _row(path, *row), item


def answered(decoder: RowDecoder, path: Path, calls: Collection[int]) -> set[int]:
    """Those of these calls that have a reply."""
    return _replied(decoder, path, calls, ignoring=-1)


def well_answered(decoder: RowDecoder, path: Path, calls: Collection[int]) -> set[int]:
    """Those of these calls that have a reply that is not an error."""
    return _replied(decoder, path, calls, ignoring=OUTCOME_CODE[Outcome.ERROR])


def _replied(decoder: RowDecoder, path: Path, calls: Collection[int], *, ignoring: int) -> set[int]:
    """Those of these calls that have a reply, not counting replies of one outcome."""
    try:
        rows = decoder.db.execute(
            "SELECT id FROM reply WHERE outcome != ? AND id IN (SELECT value FROM json_each(?))",
            (ignoring, orjson.dumps(list(calls)).decode()),
        )
        return {ident for (ident,) in rows}
    except sqlite3.Error as error:
        raise understand(error, path) from error

"""Salvages what can still be read from a damaged journal into a new one.

SQLite refuses a file that is shorter than it should be. Padded with zeros it can be opened, and
every row whose pages exist can be read. Samples are salvaged whole: if anything of a sample
cannot be read, it is left out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.errors import JournalError
from evalbench.engine.files import open_plain
from evalbench.engine.journal.reader import JournalReader
from evalbench.engine.journal.schema import (
    EPOCH_BITS,
    SLOT_BITS,
    connect,
    create,
    migrate,
    page_size,
)
from evalbench.engine.journal.sums import KEY as SUMS

_MAGIC = b"SQLite format 3\x00"
_HEAD = 100
_MOST_STEPS = 2_000
"""How many keys are tried one by one after a row that cannot be read."""

_NUMBERED = {
    "name": ("id", 0), "slot": ("id", 0), "sample": ("row", 0), "event": ("id", 0),
    "batch": ("id", 0), "call": ("id", SLOT_BITS), "reply": ("id", SLOT_BITS),
    "batched": ("call", SLOT_BITS), "reused": ("call", SLOT_BITS),
    "attempts": ("call", SLOT_BITS), "score": ("id", EPOCH_BITS),
}  # fmt: skip
"""Tables keyed by number: the key column, and how many of its low bits are not the sample row."""
_KEYS = {"run": "key", "blob": "hash"}
_DICTIONARIES = ("sample", "call", "reply", "detail")


class Salvaged(NamedTuple):
    """How much was salvaged."""

    samples: int
    scores: int


def salvage(path: Path, into: Path) -> Salvaged:
    """Create a journal at ``into`` from what can be read at ``path``, which is left unchanged.

    Raises:
        JournalError: no sample can be read.
    """
    scratch = into.with_name(into.name + ".damaged")
    _fill_up(path, scratch)
    try:
        create(into)
        with closing(connect(scratch)) as damaged, closing(connect(into)) as whole:
            migrate(damaged)
            whole.execute("BEGIN")
            for table in (*_KEYS, *_NUMBERED):
                for row in _readable(damaged, table):
                    holes = ", ?" * (len(row) - 1)
                    whole.execute(f"INSERT OR REPLACE INTO {table} VALUES (?{holes})", row)  # noqa: S608
            whole.execute("DELETE FROM run WHERE key = ?", (SUMS,))
            whole.execute("COMMIT")
            _leave_out(whole, _unreadable(into))
            count = "SELECT (SELECT count(*) FROM sample), (SELECT count(*) FROM score)"
            found = Salvaged(*whole.execute(count).fetchone())
    except sqlite3.Error as error:
        raise JournalError(f"nothing can be read of {path}", why=str(error)) from error
    except JournalError as error:
        raise JournalError(f"nothing can be read of {path}", why=error.why) from error
    if not found.samples:
        raise JournalError(f"no sample can be read of {path}", why="too much of it is missing")
    return found


def _fill_up(path: Path, scratch: Path) -> None:
    """Copy a journal, padded to the length given in its header."""
    try:
        with open_plain(path) as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise JournalError(f"nothing can be read of {path}", why=error.strerror or "") from None
    if len(head) < _HEAD or not head.startswith(_MAGIC):
        raise JournalError(f"nothing can be read of {path}", why="it does not begin as a journal")
    shutil.copyfile(path, scratch)
    log = path.with_name(path.name + "-wal")
    if log.exists():
        shutil.copyfile(log, scratch.with_name(scratch.name + "-wal"))
    size = page_size(head) * int.from_bytes(head[28:32])
    if scratch.stat().st_size < size:
        os.truncate(scratch, size)


def _readable(damaged: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    if table in _KEYS:
        yield from _from_both_ends(damaged, table, _KEYS[table])
        return
    key, bits = _NUMBERED[table]
    last, steps = -1, 0
    while steps < _MOST_STEPS:
        sql = f"SELECT * FROM {table} WHERE {key} > ? ORDER BY {key}"  # noqa: S608
        try:
            for row in damaged.execute(sql, (last,)):
                last, steps = row[0], 0
                yield row
        except sqlite3.DatabaseError:
            # The next readable row may belong to a later sample.
            steps += 1
            last = ((last >> bits) + 1 << bits) | (1 << bits) - 1
        else:
            return


def _from_both_ends(damaged: sqlite3.Connection, table: str, key: str) -> Iterator[tuple[Any, ...]]:
    queries: list[tuple[str, tuple[Any, ...]]] = [
        (f"SELECT * FROM {table} ORDER BY {key} {way}", ())  # noqa: S608
        for way in ("ASC", "DESC")
    ]
    if table == "blob":
        # Without its dictionary no record of a kind can be read.
        queries += [
            ("SELECT * FROM blob WHERE hash = ?", (f"dictionary/{kind}".encode(),))
            for kind in _DICTIONARIES
        ]
    for sql, values in queries:
        with contextlib.suppress(sqlite3.DatabaseError):
            yield from damaged.execute(sql, values)


def _unreadable(path: Path) -> list[int]:
    """The samples for which something required is missing."""
    bad = []
    with JournalReader(path) as reader:
        rows = reader.query(
            lambda decoder, _: decoder.db.execute("SELECT row FROM sample").fetchall()
        )
        for (row,) in rows:
            try:
                list(reader.samples(row, 1))
                reader.calls(row)
            except Exception:  # an incomplete record may raise anything
                bad.append(row)
    return bad


def _leave_out(whole: sqlite3.Connection, bad: list[int]) -> None:
    whole.execute("BEGIN")
    whole.executemany("DELETE FROM sample WHERE row = ?", [(row,) for row in bad])
    for table, (key, bits) in _NUMBERED.items():
        if bits:
            whole.execute(
                f"DELETE FROM {table} WHERE {key} >> {bits} NOT IN (SELECT row FROM sample)"  # noqa: S608
            )
    for table, (key, bits) in _NUMBERED.items():
        if bits == SLOT_BITS and table != "call":
            whole.execute(
                f"DELETE FROM {table} WHERE {key} NOT IN (SELECT id FROM call)"  # noqa: S608
            )
    whole.execute("COMMIT")

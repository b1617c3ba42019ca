"""The journal file as its one writer sees it: rows are collected for a turn, then committed.

With ``synchronous=NORMAL`` a commit survives the death of the process at any moment; a power cut
may lose the last ones, but for those before a :meth:`JournalFile.to_disk`. There is no writer
thread: a commit only reaches the system's page cache, in a few tens of microseconds, which is less
than handing it to a thread would cost; the disk itself is waited for once per four megabytes.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from evalbench.engine.errors import JournalError
from evalbench.engine.journal import codec
from evalbench.engine.journal.epoch_means import EpochMeans
from evalbench.engine.journal.log_watch import LogWatch
from evalbench.engine.journal.reader import RowDecoder, count_by_sample
from evalbench.engine.journal.schema import (
    connect,
    journal_mode,
    migrate,
    on_network_disk,
    understand,
)
from evalbench.engine.journal.sums import KEY, Sums, kept, recount
from evalbench.engine.paths import identity

T = TypeVar("T")

_INTO = {
    table: f"INSERT OR REPLACE INTO {table} VALUES (?{', ?' * (columns - 1)})"  # noqa: S608
    for table, columns in {
        "run": 2,
        "name": 2,
        "blob": 3,
        "slot": 7,
        "sample": 5,
        "call": 5,
        "reply": 8,
        "score": 6,
        "event": 5,
        "batch": 4,
        "batched": 3,
        "reused": 3,
        "attempts": 3,
    }.items()
}


class JournalFile:
    """Opened, written in one transaction per turn of the event loop, and closed as one file.

    Attributes:
        rollback_on: type of the network file system that forced a rollback log, or empty.
        broken: the error that ended writing, if any; every later call raises it.
    """

    def __init__(self, path: Path, epochs: int = 1) -> None:
        """``epochs``: how often each sample is asked, if its means will be wanted."""
        self.path = path
        self._epochs = epochs
        self.broken: JournalError | None = None
        self.rollback_on = on_network_disk(path)
        self._loop = asyncio.get_running_loop()
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._due: asyncio.Handle | None = None
        self._file: tuple[int, int] | None = None
        self._log: tuple[int, int] | None = None
        self._log_watch = LogWatch(path.with_name(path.name + "-wal"))
        self._size = 0
        self._modified: int | None = None
        self._touched = False
        self._overwritten = ""
        self._db = connect(path)
        try:
            self._open()
            self._displaced()
            self._modified = self._modified_now()
        except sqlite3.Error as error:
            self._db.close()
            raise understand(error, path) from error

    def _open(self) -> None:
        self._db.execute(f"PRAGMA journal_mode = {journal_mode(self.path)}")
        self._db.execute("PRAGMA synchronous = NORMAL")
        migrate(self._db)
        self._decoder = RowDecoder(self._db)
        stored = kept(self._db)
        self._kept = stored is not None
        self._sums = self._decoder.live = stored or self._count()
        self._sums.follow(self._db)

    def _count(self) -> Sums:
        if self._epochs == 1:
            return recount(self._db)
        kinds, means = count_by_sample(self._decoder, self._epochs)
        sums = recount(self._db, kinds)
        sums.epoch_means = means
        return sums

    def keep_epoch_means(self, known: EpochMeans) -> None:
        """Take what the engine counted of each sample, right before the journal is closed."""
        self._commit()
        self._sums.epoch_means = known

    def query(self, read: Callable[[RowDecoder], T]) -> T:
        """Run a query that also sees everything stored so far."""
        self._commit()
        if self.broken:
            raise self.broken
        try:
            return read(self._decoder)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    @property
    def replies(self) -> int:
        """Number of committed replies."""
        return self._sums.replies

    def check_place(self) -> None:
        """Check that the file at the journal's path is the one being written.

        Costs a few file-system lookups and a checksum of the write-ahead log; meant to run about
        once a second.

        Raises:
            JournalError: it, or its write-ahead log, was deleted, moved, replaced, truncated or
                overwritten.
        """
        what = f"the journal {self.path} is not what this engine writes any more"
        again = f"evalbench resume {self.path.parent.name}"
        why, log = self._displaced(), self._log_displaced()
        if not why and not log:
            why = self._log_overwritten()
        if why:
            raise JournalError(
                what,
                why=f"{why}; what is answered from now on would be kept nowhere",
                hint=f"put the run's folder back as it was, then: {again}",
            )
        if log:
            raise JournalError(
                what, why=f"{log}; what was answered is kept all the same", hint=again
            )

    def _displaced(self) -> str:
        try:
            now = self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            there = self.path.parent.is_dir()
            return "it was deleted" if there else "the run's folder was deleted or renamed"
        except OSError as error:
            return f"it cannot be reached: {error.strerror}"
        if not stat.S_ISREG(now.st_mode):
            return "something else than a file was put in its place"
        if self._file and identity(now) != self._file:
            return "another file was put in its place"
        if now.st_size < self._size:
            return "its end was cut off"
        self._see_others()
        if self._touched and not self._overwritten:
            self._overwritten = self._damage()
        if self._overwritten:
            return self._overwritten
        self._file, self._size = identity(now), now.st_size
        return ""

    def _see_others(self) -> None:
        """Detect whether another process may have written to the file since this connection did.

        With a write-ahead log it changes only at checkpoints, which are part of commits. On network
        disks the servers have their own clocks, so times prove nothing.
        """
        if self._modified is not None and not self.rollback_on:
            now = self._modified_now()
            self._touched = self._touched or now not in (None, self._modified)
            self._modified = now

    def _damage(self) -> str:
        """What is wrong with a file whose time changed: only its content counts.

        Read by a connection of its own, which has no pages in memory. SQLite shares the locks of
        a process among its connections, which opening the file in any other way would drop.
        """
        self._commit()
        try:
            with closing(
                sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
            ) as db:
                (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
                whole = verdict == "ok" and self._sums.agree(recount(db))
        except sqlite3.DatabaseError:
            whole = False
        self._touched = False
        return "" if whole else "something else wrote into it"

    def _modified_now(self) -> int | None:
        try:
            return os.stat(self.path).st_mtime_ns
        except OSError:
            return None

    def _log_displaced(self) -> str:
        if self.rollback_on:
            return ""
        try:
            now = identity(self.path.with_name(self.path.name + "-wal").lstat())
        except OSError:
            return "its write-ahead log was deleted" if self._log else ""
        if self._log and now != self._log:
            return "another file was put in the place of its write-ahead log"
        self._log = now
        return ""

    def _log_overwritten(self) -> str:
        self._overwritten = self._overwritten or self._log_watch.look()
        return self._overwritten

    def recount(self) -> None:
        """Count every row, if stored sums are not trusted: rows may have been edited by hand."""
        counted = self.query(lambda decoder: recount(decoder.db))
        self._sums.epoch_means = None
        if counted != self._sums:
            self._sums.become(counted)
            self._delete(("DELETE FROM run WHERE key = ?", [(KEY,)]))

    def use_dictionary(self, kind: str, dictionary: bytes) -> None:
        """Compress further records of a kind with this dictionary, unless it already has one."""
        packer = self._decoder.packers[kind]
        if not packer.trained:
            self._put("blob", f"dictionary/{kind}".encode(), "dictionary", dictionary)
            packer.use(dictionary)

    def flush(self) -> None:
        """Commit everything stored so far.

        Raises:
            JournalError: it could not be written.
        """
        self._commit()
        if self.broken:
            raise self.broken

    async def to_disk(self) -> None:
        """Commit what is stored, and wait until it would survive a power cut.

        Raises:
            JournalError: it could not be written.
        """
        self.flush()
        if not self.rollback_on:  # commits to a rollback log wait for the disk anyway
            try:
                await asyncio.to_thread(_sync, self.path.with_name(self.path.name + "-wal"))
            except OSError as error:
                raise understand(error, self.path) from error

    async def close(self) -> None:
        """Commit what is stored, then leave a single file.

        Raises:
            JournalError: the last records could not be written.
        """
        self._commit()
        if not self._kept and not self.broken and (sums := self._sums.dump()):
            self._put("run", KEY, sums)
            self._commit()
        await asyncio.to_thread(self._rest)
        if self.broken:
            raise self.broken

    # -- committing -----------------------------------------------------------

    def _pack(self, kind: str, data: bytes) -> bytes:
        """Compress a record; with enough of its kind, the next ones get a dictionary."""
        packer = self._decoder.packers[kind]
        frame = packer.pack(data)
        if examples := packer.enough():
            self.use_dictionary(kind, codec.train(examples))
        return frame

    def _put(self, table: str, *row: Any) -> None:
        if self.broken:
            raise self.broken
        self._rows.setdefault(table, []).append(row)
        if self._due is None:
            self._due = self._loop.call_soon(self._commit)

    def _delete(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        """Run deletions, each once per key, in one transaction of their own."""
        self.flush()
        self._rows.update(statements)
        self.flush()

    def committed(self) -> asyncio.Future[None]:
        """A future that is done once everything stored so far is committed."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(future)
        if self._due is None:
            self._due = self._loop.call_soon(self._commit)
        return future

    def _commit(self) -> None:
        """Write all rows in one transaction and resolve the waiting futures."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        rows, self._rows = self._rows, {}
        waiting, self._waiting = self._waiting, []
        if rows and not self.broken:
            try:
                self._write(rows)
            except Exception as error:
                self.broken = understand(error, self.path)
                self.broken.__cause__ = error
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
        for future in waiting:
            if future.done():
                continue
            if self.broken:
                future.set_exception(self.broken)
                future.exception()  # not everyone waits
            else:
                future.set_result(None)

    def _write(self, tables: dict[str, list[tuple[Any, ...]]]) -> None:
        """Write rows by table, or by the statement that deletes them."""
        self._see_others()
        self._db.execute("BEGIN IMMEDIATE")
        if self._kept:
            # From here on the sums are correct only in memory, until the journal is closed.
            self._db.execute("DELETE FROM run WHERE key = ?", (KEY,))
        for table, rows in tables.items():
            self._db.executemany(_INTO.get(table, table), rows)
        self._db.execute("COMMIT")
        self._modified = self._modified_now()
        self._kept = False
        self._sums.add(tables)

    def _rest(self) -> None:
        try:
            # If another file has taken its place, the log next to it is better left as it is.
            log = self._log_displaced()
            if not (self._displaced() or (not log and self._log_overwritten())):
                self._db.execute("PRAGMA busy_timeout = 300")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            # A reader may hold the file open, or the disk may be full: the write-ahead log next to
            # the file keeps everything, so nothing is lost.
            if not self.broken and "lock" not in str(error):
                self.broken = understand(error, self.path)
        if self._overwritten:
            _close_as_it_is(self._db)
        else:
            self._db.close()


def _sync(log: Path) -> None:
    file = os.open(log, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _close_as_it_is(db: sqlite3.Connection) -> None:
    """Close without a checkpoint, which would copy pages of an overwritten log into the journal."""
    if sys.version_info >= (3, 12):
        db.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        db.close()
    else:
        # It has no such setting: the connection ends with the process, as if it were killed.
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))

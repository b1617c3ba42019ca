"""The engine's side of the journal: rows gather for a turn of the event loop, then commit at once.

Methods that store something return (where anybody needs to wait) a future that
is done once the record is committed. With ``synchronous=NORMAL`` a commit
survives the death of the process at any moment; a power cut may take the last
ones. There is no thread: a commit only reaches the system's page cache, a few
tens of microseconds, which is less than handing it to a thread costs; the disk
itself is waited for once per four megabytes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import codec
from evalbench.engine.journal.paging import cut_off
from evalbench.engine.journal.reader import Shelf
from evalbench.engine.journal.records import OUTCOME_CODE, BatchRow, CallKey, picodollars
from evalbench.engine.journal.schema import (
    EPOCH_BITS,
    SLOT_BITS,
    connect,
    journal_mode,
    migrate,
    on_network_disk,
    understand,
)
from evalbench.engine.journal.sums import KEY, kept, recount

T = TypeVar("T")

_MERGE_MS = 10_000
_SHORT = 64
_MOST_NAMES = 4000
_MOST_BLOBS = 4000

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
    }.items()
}


class Journal:
    """Writer of one journal. Make it inside a running event loop; close it to bring it to rest.

    Attributes:
        rollback_on: type of the network file system that forced a rollback log, or empty.
        broken: the error that ended writing, if any; every later call raises it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broken: JournalError | None = None
        self.rollback_on = on_network_disk(path)
        self._loop = asyncio.get_running_loop()
        self._db = connect(path)
        try:
            self._open()
        except sqlite3.Error as error:
            self._db.close()
            raise understand(error, path) from error
        self._blobs: set[bytes] = set()
        self._last_event: tuple[str, bytes, int, int] | None = None
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._due: asyncio.Handle | None = None

    def _open(self) -> None:
        self._db.execute(f"PRAGMA journal_mode = {journal_mode(self.path)}")
        self._db.execute("PRAGMA synchronous = NORMAL")
        migrate(self._db)
        self._shelf = Shelf(self._db)
        held = kept(self._db)
        self._kept = held is not None
        self._sums = self._shelf.live = held or recount(self._db)
        self._sums.follow(self._db)
        self._names = {text: ident for ident, text in self._db.execute("SELECT id, text FROM name")}
        self._slots = {
            tuple(key): ident
            for ident, *key in self._db.execute(
                "SELECT id, epoch, role, model, step, repeat, reask FROM slot"
            )
        }
        newest = "SELECT coalesce(max(id), 0), coalesce(max(at), 0) FROM event"
        self._events: int
        self._now: int
        self._events, self._now = self._db.execute(newest).fetchone()
        created = self._db.execute("SELECT value FROM run WHERE key = 'created'").fetchone()
        self.created = orjson.loads(created[0]) if created else time.time()

    def now_ms(self) -> int:
        """Milliseconds since the run's creation. They never go back, as clocks may."""
        self._now = max(self._now, int((time.time() - self.created) * 1000))
        return self._now

    # -- storing ------------------------------------------------------------

    def set(self, **values: Any) -> None:
        """Store values of the ``run`` table."""
        for key, value in values.items():
            self._put("run", key, orjson.dumps(value))
        self.created = values.get("created", self.created)

    def add_samples(self, samples: Iterable[tuple[int, Sample]]) -> asyncio.Future[None]:
        """Store samples by row number."""
        packer = self._shelf.packers["sample"]
        for row, sample in samples:
            digest, _, occurrence = sample.id.partition(".")
            body = packer.pack(codec.sample_body(sample))
            tags = self._tags(sample.tags)
            self._put("sample", row, bytes.fromhex(digest), int(occurrence), tags, body)
        return self._committed()

    def intend(
        self, row: int, key: CallKey, reask: int, call: Call, digest: bytes, quotes: Sequence[str]
    ) -> asyncio.Future[None]:
        """Store a call before it leaves. ``quotes`` are its sample's ``codec.quotable`` texts."""
        shape, texts, blobs = codec.split_prompt(call.prompt)
        for blob_hash, data in blobs.items():
            if blob_hash not in self._blobs:
                self._put("blob", blob_hash, "part", codec.Packer().pack(data))
                if len(self._blobs) >= _MOST_BLOBS:
                    self._blobs.clear()
                self._blobs.add(blob_hash)
        self._put(
            "call",
            row << SLOT_BITS | self._slot(key, reask),
            digest,
            self.now_ms(),
            self._name(shape),
            self._shelf.packers["call"].pack(codec.quote(texts, quotes)),
        )
        return self._committed()

    def call_id(self, row: int, key: CallKey, reask: int) -> int:
        """The number of a call in this journal."""
        return row << SLOT_BITS | self._slot(key, reask)

    def put_batch(self, batch: BatchRow) -> asyncio.Future[None]:
        """Store where a batch stands."""
        self._put("batch", batch.id, batch.name, batch.state, orjson.dumps(batch.body))
        return self._committed()

    def put_in_batch(self, call: int, batch: int, item: int) -> None:
        """Store that a call is in a line of a batch, and in no other batch any more."""
        self._put("batched", call, batch, item)

    def take_out_of_batch(self, calls: Iterable[int]) -> None:
        """Forget that calls are in a batch."""
        self._delete("DELETE FROM batched WHERE call = ?", [(call,) for call in calls])

    def forget_calls(self, calls: Iterable[int]) -> None:
        """Delete calls that never left, and that they were to go into a batch."""
        gone: list[tuple[Any, ...]] = [(call,) for call in calls]
        self._delete("DELETE FROM call WHERE id = ?", gone)
        self._delete("DELETE FROM batched WHERE call = ?", gone)

    def store_reply(self, row: int, key: CallKey, reask: int, reply: Reply) -> asyncio.Future[None]:
        """Store the reply to an intended call.

        Raises:
            TypeError: the reply holds what JSON cannot carry, see ``replies.plain``.
        """
        ident = row << SLOT_BITS | self._slot(key, reask)
        if reply.reused:
            self._put("reused", ident, self._name(f'"{reply.reused.run}"'), reply.reused.call)
        self._put(
            "reply",
            ident,
            self.now_ms(),
            OUTCOME_CODE[reply.outcome],
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            None if reply.cost is None else picodollars(reply.cost),
            picodollars(reply.possible_cost),
            self._shelf.packers["reply"].pack(codec.reply_body(reply)),
        )
        return self._committed()

    def close_cut_calls(self, worst_case: Callable[[Call], Decimal]) -> int:
        """Give every call that an earlier engine left in flight a reply of outcome ``error``.

        It may have been answered, and billed, by a provider that nobody listened
        to any more, so it counts at its worst case and is asked again. Calls in a
        batch are not cut: their replies are still to come.

        Returns:
            How many there were.
        """
        cut = self.query(partial(cut_off, path=self.path))
        for row in cut:
            call = Call(ModelRef.parse(row.key.model), row.prompt)
            worst = worst_case(call)
            reply = Reply(
                outcome=Outcome.ERROR,
                error="CutOff: the engine ended while this call was in flight",
                possibly_billed=bool(worst),
                possible_cost=worst,
            )
            self.store_reply(row.row, row.key, row.reask, reply)
        return len(cut)

    def store_score(
        self,
        row: int,
        epoch: int,
        tags: Mapping[str, str],
        outcome: Outcome,
        values: Mapping[str, float],
        detail: Mapping[str, Any],
    ) -> None:
        """Store (or replace) the score of one sample in one epoch.

        Raises:
            TypeError: ``values`` or ``detail`` are not JSON.
        """
        told = orjson.dumps(detail)
        if len(told) <= _SHORT and (told.decode() in self._names or len(self._names) < _MOST_NAMES):
            stored: int | bytes = self._name(told.decode())
        else:
            stored = self._shelf.packers["detail"].pack(told)
        self._put(
            "score",
            row << EPOCH_BITS | epoch,
            self.now_ms(),
            self._tags(tags),
            OUTCOME_CODE[outcome],
            self._name(orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode()),
            stored,
        )

    def event(self, kind: str, **body: Any) -> None:
        """Store an event. Equal ones in a row within 10 s become one with a count."""
        told, now = orjson.dumps(body), self.now_ms()
        last = self._last_event
        if last and last[:2] == (kind, told) and now - last[2] < _MERGE_MS:
            at, count = last[2], last[3] + 1
        else:
            self._events += 1
            at, count = now, 1
        self._last_event = kind, told, at, count
        self._put("event", self._events, at, kind, count, told)

    def use_dictionary(self, kind: str, dictionary: bytes) -> None:
        """Pack further records of a kind with this dictionary, unless one is in use already."""
        packer = self._shelf.packers[kind]
        if not packer.trained:
            self._put("blob", f"dictionary/{kind}".encode(), "dictionary", dictionary)
            packer.use(dictionary)

    def forget_scores(self, outcomes: Iterable[Outcome]) -> None:
        """Delete scores of the given outcomes: their samples are unfinished again."""
        codes = [OUTCOME_CODE[what] for what in outcomes]
        known = self.query(Shelf.sums)
        if known is None or known.count(codes):
            self._delete("DELETE FROM score WHERE outcome = ?", [(code,) for code in codes])

    def forget_samples(self, rows: Iterable[int]) -> None:
        """Take samples and their scores out; their calls stay as a record of what was paid."""
        gone = list(rows)
        self._delete("DELETE FROM sample WHERE row = ?", [(row,) for row in gone])
        self._delete(
            "DELETE FROM score WHERE id BETWEEN ? AND ?",
            [(row << EPOCH_BITS, (row + 1 << EPOCH_BITS) - 1) for row in gone],
        )

    def forget_epochs(self, first: int) -> None:
        """Take out the scores of epoch ``first`` and all later ones; their calls stay."""
        self._delete("DELETE FROM score WHERE id & ? >= ?", [((1 << EPOCH_BITS) - 1, first)])

    def query(self, read: Callable[[Shelf], T]) -> T:
        """What ``read`` finds, with everything stored so far in sight."""
        self._commit()
        if self.broken:
            raise self.broken
        try:
            return read(self._shelf)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def recount(self) -> None:
        """Count every row, for whoever does not trust what is kept: rows may be changed by hand."""
        counted = self.query(lambda shelf: recount(shelf.db))
        if counted != self._sums:
            self._sums.become(counted)
            self._delete("DELETE FROM run WHERE key = ?", [(KEY,)])

    def flush(self) -> None:
        """Commit everything stored so far.

        Raises:
            JournalError: when it could not be written.
        """
        self._commit()
        if self.broken:
            raise self.broken

    async def close(self) -> None:
        """Commit what is stored, then leave a single file behind.

        Raises:
            JournalError: when the last records could not be written.
        """
        self._commit()
        if not self._kept and not self.broken and (held := self._sums.dump()):
            self._put("run", KEY, held)
            self._commit()
        await asyncio.to_thread(self._rest)
        if self.broken:
            raise self.broken

    # -- committing -----------------------------------------------------------

    def _put(self, table: str, *row: Any) -> None:
        if self.broken:
            raise self.broken
        self._rows.setdefault(table, []).append(row)
        self._commit_soon()

    def _commit_soon(self) -> None:
        if self._due is None:
            self._due = self._loop.call_soon(self._commit)

    def _delete(self, sql: str, keys: list[tuple[Any, ...]]) -> None:
        self.flush()
        self._rows[sql] = keys
        self.flush()

    def _committed(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(future)
        self._commit_soon()
        return future

    def _commit(self) -> None:
        """Write all rows in one transaction and tell who waits for them."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        for kind, packer in self._shelf.packers.items():
            if not self.broken and (examples := packer.enough()):
                self.use_dictionary(kind, codec.train(examples))
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
            else:
                future.set_result(None)

    def _write(self, tables: dict[str, list[tuple[Any, ...]]]) -> None:
        """Write rows by their tables, or by the statement that deletes them."""
        self._db.execute("BEGIN IMMEDIATE")
        if self._kept:
            # From here on they are right in memory alone, until the journal rests again.
            self._db.execute("DELETE FROM run WHERE key = ?", (KEY,))
        for table, rows in tables.items():
            self._db.executemany(_INTO.get(table, table), rows)
        self._db.execute("COMMIT")
        self._kept = False
        self._sums.add(tables)

    def _rest(self) -> None:
        try:
            self._db.execute("PRAGMA busy_timeout = 300")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            # A reader may hold the file, or the disk may be full: the write-ahead
            # log beside the file keeps everything, so this is no loss.
            if not self.broken and "lock" not in str(error):
                self.broken = understand(error, self.path)
        self._db.close()

    # -- interning ------------------------------------------------------------

    def _name(self, text: str) -> int:
        ident = self._names.get(text)
        if ident is None:
            ident = len(self._names) + 1
            self._put("name", ident, text)
            self._names[text] = ident
        return ident

    def _slot(self, key: CallKey, reask: int) -> int:
        full = (*key, reask)
        ident = self._slots.get(full)
        if ident is None:
            ident = len(self._slots) + 1
            if ident >= 1 << SLOT_BITS:
                raise JournalError("a run cannot have more than a million kinds of calls")
            self._put("slot", ident, *full)
            self._slots[full] = ident
        return ident

    def _tags(self, tags: Mapping[str, str]) -> int:
        return self._name(orjson.dumps(tags, option=orjson.OPT_SORT_KEYS).decode())

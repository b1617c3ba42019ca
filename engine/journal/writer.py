"""The engine's side of the journal: one thread that writes, one transaction per drained queue.

Every method that stores something queues it and returns a future that is done
once the record is committed. With ``synchronous=NORMAL`` a commit survives
the death of the process at any moment; a power cut may take the last ones.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, Outcome, Reply
from evalbench.engine.calls.replies import reply_to_json
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import codec
from evalbench.engine.journal.reader import Shelf
from evalbench.engine.journal.records import OUTCOME_CODE, CallKey
from evalbench.engine.journal.schema import (
    EPOCH_BITS,
    SLOT_BITS,
    connect,
    on_network_disk,
    understand,
)

T = TypeVar("T")
_Operation = tuple[Callable[..., Any], tuple[Any, ...], "asyncio.Future[Any] | None"]

_MOST_AT_ONCE = 2000
"""Keeps transactions short, so that readers and waiting calls are never held up."""


def sample_body(sample: Sample) -> bytes:
    """The bytes of a sample in the journal; prompts are compressed beside them."""
    return orjson.dumps([sample.inputs, sample.gold])


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
        self._db = connect(path)
        self._loop = asyncio.get_running_loop()
        try:
            mode = "DELETE" if self.rollback_on else "WAL"
            self._db.execute(f"PRAGMA journal_mode = {mode}")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._shelf = Shelf(self._db)
            self._names = {
                text: ident for ident, text in self._db.execute("SELECT id, text FROM name")
            }
            self._slots = {
                tuple(key): ident
                for ident, *key in self._db.execute(
                    "SELECT id, epoch, role, model, step, repeat, reask FROM slot"
                )
            }
            created = self._db.execute("SELECT value FROM run WHERE key = 'created'").fetchone()
        except sqlite3.Error as error:
            raise understand(error, path) from error
        self.created = orjson.loads(created[0]) if created else time.time()
        self._blobs: set[bytes] = set()
        self._last_event: tuple[int, str, bytes, float] | None = None
        self._queue: deque[_Operation] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def now_ms(self) -> int:
        """Milliseconds since the run's creation."""
        return int((time.time() - self.created) * 1000)

    # -- queueing ---------------------------------------------------------

    def _submit(self, operation: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        if self.broken:
            raise self.broken
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.append((operation, args, future))
        self._wake.set()
        return future

    def _post(self, operation: Callable[..., Any], *args: Any) -> None:
        if self.broken:
            raise self.broken
        self._queue.append((operation, args, None))
        self._wake.set()

    def set(self, **values: Any) -> None:
        """Store values of the ``run`` table."""
        self._post(self._set, {key: orjson.dumps(value) for key, value in values.items()})

    def add_samples(self, samples: Iterable[tuple[int, Sample]]) -> asyncio.Future[None]:
        """Store samples by row number."""
        return self._submit(self._add_samples, list(samples))

    def intend(
        self, row: int, key: CallKey, reask: int, call: Call, digest: bytes, beside: bytes
    ) -> asyncio.Future[None]:
        """Store a call before it leaves. ``beside`` is its sample's :func:`sample_body`."""
        return self._submit(self._intend, row, key, reask, call, digest, beside, self.now_ms())

    def store_reply(
        self, row: int, key: CallKey, reask: int, reply: Reply, cost: float | None
    ) -> asyncio.Future[None]:
        """Store the reply to an intended call."""
        return self._submit(self._store_reply, row, key, reask, reply, cost, self.now_ms())

    def store_score(
        self,
        row: int,
        epoch: int,
        tags: Mapping[str, str],
        outcome: Outcome,
        values: Mapping[str, float],
        detail: Mapping[str, Any],
    ) -> None:
        """Store (or replace) the score of one sample in one epoch."""
        self._post(self._store_score, row, epoch, tags, outcome, values, detail, self.now_ms())

    def forget_scores(self, outcomes: Iterable[Outcome]) -> asyncio.Future[None]:
        """Delete scores of the given outcomes: their samples are unfinished again."""
        return self._submit(self._forget_scores, [OUTCOME_CODE[outcome] for outcome in outcomes])

    def forget_samples(self, rows: Iterable[int]) -> asyncio.Future[None]:
        """Take samples and their scores out; their calls stay as a record of what was paid."""
        return self._submit(self._forget_samples, list(rows))

    def event(self, kind: str, **body: Any) -> None:
        """Store an event. Equal ones in a row within 10 s become one with a count."""
        self._post(self._event, kind, orjson.dumps(body), self.now_ms())

    def query(self, read: Callable[[Shelf], T]) -> asyncio.Future[T]:
        """Run ``read`` on the writer's thread, after everything queued before it."""
        return self._submit(lambda: read(self._shelf))

    async def flush(self) -> None:
        """Wait until everything queued so far is committed."""
        await self._submit(lambda: None)

    async def close(self) -> None:
        """Commit what is queued, then leave a single file behind.

        Raises:
            JournalError: when the last records could not be written.
        """
        self._closing = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)
        if self.broken:
            raise self.broken

    # -- the writing thread -------------------------------------------------

    def _write(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while batch := self._drain():
                if self.broken:
                    self._tell([(future, None) for *_, future in batch if future], self.broken)
                else:
                    self._commit(batch)
            if self._closing and not self._queue:
                self._rest()
                return

    def _drain(self) -> list[_Operation]:
        batch: list[_Operation] = []
        while self._queue and len(batch) < _MOST_AT_ONCE:
            batch.append(self._queue.popleft())
        return batch

    def _commit(self, batch: list[_Operation]) -> None:
        done: list[tuple[asyncio.Future[Any], Any]] = []
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for operation, args, future in batch:
                result = operation(*args)
                if future is not None:
                    done.append((future, result))
            self._learn()
            self._db.execute("COMMIT")
        except Exception as error:
            self.broken = (
                understand(error, self.path)
                if isinstance(error, sqlite3.Error | OSError)
                else JournalError(
                    "a record could not be stored", why=f"{type(error).__name__}: {error}"
                )
            )
            self.broken.__cause__ = error
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._tell([(future, None) for *_, future in batch if future], self.broken)
            return
        if done:
            self._tell(done, None)

    def _tell(
        self, results: list[tuple[asyncio.Future[Any], Any]], error: Exception | None
    ) -> None:
        def resolve() -> None:
            for future, result in results:
                if not future.done():
                    if error is not None:
                        future.set_exception(error)
                    else:
                        future.set_result(result)

        try:
            self._loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            # The loop is gone: nobody waits any more.
            return

    def _rest(self) -> None:
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            # A reader may hold the file, or the disk may be full: the write-ahead
            # log beside the file keeps everything, so this is no loss.
            if not self.broken and "lock" not in str(error):
                self.broken = understand(error, self.path)
        self._db.close()

    def _learn(self) -> None:
        for kind, packer in self._shelf.packers.items():
            if dictionary := packer.learn():
                self._db.execute(
                    "INSERT OR REPLACE INTO blob VALUES (?, 'dictionary', ?)",
                    (f"dictionary/{kind}".encode(), dictionary),
                )

    # -- operations, on the writing thread ------------------------------------

    def _name(self, text: str) -> int:
        ident = self._names.get(text)
        if ident is None:
            ident = len(self._names) + 1
            self._db.execute("INSERT INTO name VALUES (?, ?)", (ident, text))
            self._names[text] = ident
        return ident

    def _slot(self, key: CallKey, reask: int) -> int:
        full = (*key, reask)
        ident = self._slots.get(full)
        if ident is None:
            ident = len(self._slots) + 1
            if ident >= 1 << SLOT_BITS:
                raise JournalError("a run cannot have more than a million kinds of calls")
            self._db.execute("INSERT INTO slot VALUES (?, ?, ?, ?, ?, ?, ?)", (ident, *full))
            self._slots[full] = ident
        return ident

    def _tags(self, tags: Mapping[str, str]) -> int:
        return self._name(orjson.dumps(tags, option=orjson.OPT_SORT_KEYS).decode())

    def _set(self, values: Mapping[str, bytes]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", list(values.items()))
        if "created" in values:
            self.created = orjson.loads(values["created"])

    def _add_samples(self, samples: list[tuple[int, Sample]]) -> None:
        packer = self._shelf.packers["sample"]
        rows = []
        for row, sample in samples:
            digest, _, occurrence = sample.id.partition(".")
            rows.append(
                (
                    row,
                    bytes.fromhex(digest),
                    int(occurrence),
                    self._tags(sample.tags),
                    packer.pack(sample_body(sample)),
                )
            )
        self._db.executemany("INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?, ?)", rows)

    def _intend(
        self, row: int, key: CallKey, reask: int, call: Call, digest: bytes, beside: bytes, at: int
    ) -> None:
        shape, texts, blobs = codec.split_prompt(call.prompt)
        for blob_hash, data in blobs.items():
            if blob_hash not in self._blobs:
                frame = codec.Packer().pack(data)
                self._db.execute(
                    "INSERT OR IGNORE INTO blob VALUES (?, 'part', ?)", (blob_hash, frame)
                )
                self._blobs.add(blob_hash)
        self._db.execute(
            "INSERT OR REPLACE INTO call VALUES (?, ?, ?, ?, ?)",
            (
                row << SLOT_BITS | self._slot(key, reask),
                digest,
                at,
                self._name(shape),
                codec.pack_beside(orjson.dumps(texts), beside),
            ),
        )

    def _store_reply(
        self, row: int, key: CallKey, reask: int, reply: Reply, cost: float | None, at: int
    ) -> None:
        body = reply_to_json(reply)
        body.pop("outcome", None)
        usage = body.get("usage", {})
        tokens_in, tokens_out = usage.pop("input_tokens", None), usage.pop("output_tokens", None)
        if not usage:
            body.pop("usage", None)
        packed = self._shelf.packers["reply"].pack(orjson.dumps(body))
        self._db.execute(
            "INSERT OR REPLACE INTO reply VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                row << SLOT_BITS | self._slot(key, reask),
                at,
                OUTCOME_CODE[reply.outcome],
                tokens_in,
                tokens_out,
                cost,
                packed,
            ),
        )

    def _store_score(
        self,
        row: int,
        epoch: int,
        tags: Mapping[str, str],
        outcome: Outcome,
        values: Mapping[str, float],
        detail: Mapping[str, Any],
        at: int,
    ) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO score VALUES (?, ?, ?, ?, ?, ?)",
            (
                row << EPOCH_BITS | epoch,
                at,
                self._tags(tags),
                OUTCOME_CODE[outcome],
                orjson.dumps(values, option=orjson.OPT_SORT_KEYS),
                self._shelf.packers["detail"].pack(orjson.dumps(detail)),
            ),
        )

    def _forget_scores(self, codes: list[int]) -> None:
        for code in codes:
            self._db.execute("DELETE FROM score WHERE outcome = ?", (code,))

    def _forget_samples(self, rows: list[int]) -> None:
        for row in rows:
            self._db.execute("DELETE FROM sample WHERE row = ?", (row,))
            self._db.execute(
                "DELETE FROM score WHERE id BETWEEN ? AND ?",
                (row << EPOCH_BITS, (row + 1 << EPOCH_BITS) - 1),
            )

    def _event(self, kind: str, body: bytes, at: int) -> None:
        last = self._last_event
        if last and last[1] == kind and last[2] == body and at - last[3] < 10_000:
            self._db.execute("UPDATE event SET count = count + 1 WHERE id = ?", (last[0],))
            return
        cursor = self._db.execute(
            "INSERT INTO event (at, kind, count, body) VALUES (?, ?, 1, ?)", (at, kind, body)
        )
        self._last_event = (cursor.lastrowid or 0, kind, body, at)

"""Reading a journal: live, at rest or left by a crash, the same code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.journal import codec
from evalbench.engine.journal.records import (
    OUTCOMES,
    CallKey,
    CallRow,
    Event,
    SampleRow,
    ScoreRow,
)
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS, connect, understand
from evalbench.engine.scoring.tally import Tally

PACKED = ("sample", "reply", "detail")


class Shelf:
    """Decodes rows of one open journal; caches names, slots and blobs."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection
        self._names: dict[int, str] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._slots: dict[int, tuple[CallKey, int]] = {}
        self.packers = {kind: codec.Packer(self._dictionary(kind)) for kind in PACKED}

    def _dictionary(self, kind: str) -> bytes | None:
        row = self.db.execute(
            "SELECT data FROM blob WHERE hash = ?", (f"dictionary/{kind}".encode(),)
        ).fetchone()
        return row[0] if row else None

    def unpack(self, kind: str, frame: bytes) -> bytes:
        """The bytes behind a packed frame; picks up a dictionary learned since opening."""
        try:
            return self.packers[kind].unpack(frame)
        except ValueError:
            self.packers[kind] = codec.Packer(self._dictionary(kind))
            return self.packers[kind].unpack(frame)

    def name(self, ident: int) -> str:
        """The interned text with this id."""
        if ident not in self._names:
            row = self.db.execute("SELECT text FROM name WHERE id = ?", (ident,)).fetchone()
            self._names[ident] = row[0]
        return self._names[ident]

    def tags(self, ident: int) -> dict[str, str]:
        """Interned tags."""
        tags: dict[str, str] = orjson.loads(self.name(ident))
        return tags

    def slot(self, ident: int) -> tuple[CallKey, int]:
        """Key and re-ask number of a slot."""
        if ident not in self._slots:
            epoch, role, model, step, repeat, reask = self.db.execute(
                "SELECT epoch, role, model, step, repeat, reask FROM slot WHERE id = ?", (ident,)
            ).fetchone()
            self._slots[ident] = CallKey(epoch, role, model, step, repeat), reask
        return self._slots[ident]

    def blob(self, digest: bytes) -> bytes:
        """A blob by content hash, decompressed; empty when missing."""
        if digest not in self._blobs:
            row = self.db.execute("SELECT data FROM blob WHERE hash = ?", (digest,)).fetchone()
            if len(self._blobs) > 256:
                self._blobs.clear()
            self._blobs[digest] = codec.Packer().unpack(row[0]) if row else b""
        return self._blobs[digest]

    def sample(
        self, row: int, digest: bytes, occurrence: int, tags: int, frame: bytes
    ) -> SampleRow:
        """A sample from its columns."""
        inputs, gold = orjson.loads(self.unpack("sample", frame))
        ident = f"{digest.hex()}.{occurrence}"
        return SampleRow(row, Sample(ident, inputs, gold, self.tags(tags)))

    def prompt(self, shape: int, frame: bytes, reference: bytes) -> Prompt:
        """A prompt from its columns and its sample's bytes."""
        skeleton = self.name(shape)
        texts = orjson.loads(codec.unpack_beside(frame, reference))
        blobs = {digest: self.blob(digest) for digest in codec.shape_blobs(skeleton)}
        return codec.join_prompt(skeleton, texts, blobs)

    def reply(
        self, outcome: int, tokens_in: int | None, tokens_out: int | None, frame: bytes
    ) -> Reply:
        """A reply from its columns."""
        body = orjson.loads(self.unpack("reply", frame))
        body["outcome"] = OUTCOMES[outcome].value
        usage = body.setdefault("usage", {})
        usage["input_tokens"], usage["output_tokens"] = tokens_in, tokens_out
        return reply_from_json(body)


class JournalReader:
    """Read-only view of one journal. Cheap to open; keep queries short while a run is live.

    Raises:
        JournalError: when the file cannot be read; also from every method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = connect(path, readonly=True)
        self._shelf = Shelf(self._db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, sql: str, args: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._db.execute(sql, args)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def meta(self, key: str) -> Any:
        """A value of the ``run`` table, or None."""
        for (value,) in self._rows("SELECT value FROM run WHERE key = ?", (key,)):
            return orjson.loads(value)
        return None

    def size(self) -> int:
        """Number of samples."""
        for (count,) in self._rows("SELECT coalesce(max(row), 0) FROM sample"):
            return int(count)
        return 0

    def samples(self, first: int = 1, count: int = -1) -> Iterator[SampleRow]:
        """Samples from row ``first`` on."""
        sql = "SELECT row, hash, occurrence, tags, body FROM sample WHERE row >= ? LIMIT ?"
        for columns in self._rows(sql, (first, count)):
            yield self._shelf.sample(*columns)

    def scores(self, first: int = 1, count: int = -1) -> Iterator[ScoreRow]:
        """Scores of samples from row ``first`` on, in row order."""
        sql = "SELECT id, outcome, vals, detail FROM score WHERE id >= ? LIMIT ?"
        for ident, outcome, values, detail in self._rows(sql, (first << EPOCH_BITS, count)):
            yield ScoreRow(
                ident >> EPOCH_BITS,
                ident & ((1 << EPOCH_BITS) - 1),
                OUTCOMES[outcome],
                orjson.loads(values),
                orjson.loads(self._shelf.unpack("detail", detail)),
            )

    def calls(self, row: int) -> list[CallRow]:
        """Every call of one sample, in the order of their slots."""
        return calls_between(self._shelf, self.path, row, row).get(row, [])

    def events(self, after: int = 0, count: int = 1000) -> list[Event]:
        """Events with an id above ``after``. The newest one's count may still grow."""
        sql = "SELECT id, at, kind, count, body FROM event WHERE id > ? ORDER BY id LIMIT ?"
        return [
            Event(ident, at, kind, number, orjson.loads(body))
            for ident, at, kind, number, body in self._rows(sql, (after, count))
        ]

    def tally(self) -> Tally:
        """All scores, grouped."""
        return tally_of(self._shelf, self.path)

    def tokens(self) -> tuple[int, int]:
        """Input and output tokens of all replies."""
        for columns in self._rows(
            "SELECT coalesce(sum(input), 0), coalesce(sum(output), 0) FROM reply"
        ):
            return int(columns[0]), int(columns[1])
        return 0, 0


def tally_of(shelf: Shelf, path: Path) -> Tally:
    """All scores of a journal by one grouped scan."""
    tally = Tally()
    try:
        rows = shelf.db.execute(
            "SELECT tags, outcome, vals, count(*) FROM score GROUP BY tags, outcome, vals"
        ).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    for tags, outcome, values, count in rows:
        tally.add(shelf.tags(tags), OUTCOMES[outcome], orjson.loads(values), count)
    return tally


def calls_between(shelf: Shelf, path: Path, first: int, last: int) -> Mapping[int, list[CallRow]]:
    """Calls of the samples in rows ``first`` to ``last``, by row."""
    found: dict[int, list[CallRow]] = {}
    try:
        rows = shelf.db.execute(
            "SELECT c.id, c.hash, c.sent, c.shape, c.body, s.body, r.outcome, r.input, r.output,"
            " r.cost, r.body FROM call c JOIN sample s ON s.row = c.id >> ?"
            " LEFT JOIN reply r ON r.id = c.id WHERE c.id BETWEEN ? AND ? ORDER BY c.id",
            (SLOT_BITS, first << SLOT_BITS, (last + 1 << SLOT_BITS) - 1),
        ).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    for (
        ident,
        digest,
        sent,
        shape,
        body,
        sample,
        outcome,
        tokens_in,
        tokens_out,
        cost,
        packed,
    ) in rows:
        key, reask = shelf.slot(ident & ((1 << SLOT_BITS) - 1))
        reference = shelf.unpack("sample", sample)
        reply = None if outcome is None else shelf.reply(outcome, tokens_in, tokens_out, packed)
        row = ident >> SLOT_BITS
        found.setdefault(row, []).append(
            CallRow(
                row, key, reask, digest, sent, shelf.prompt(shape, body, reference), reply, cost
            )
        )
    return found


def error_code() -> int:
    """The stored code of outcome ``error``."""
    return OUTCOMES.index(Outcome.ERROR)

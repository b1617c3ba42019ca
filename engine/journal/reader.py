"""Reads a journal in any state: live, at rest, or left by a crash."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from evalbench.engine.benchmark import FirstScore, Sample
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.calls.replies import reply_from_json
from evalbench.engine.errors import JournalError
from evalbench.engine.field_checks import Check, anything
from evalbench.engine.journal import codec
from evalbench.engine.journal.epoch_means import EpochMeans, Scores
from evalbench.engine.journal.records import (
    OUTCOMES,
    CallKey,
    CallRow,
    Event,
    SampleRow,
    ScoreRow,
    dollars,
)
from evalbench.engine.journal.schema import (
    EPOCH_BITS,
    SLOT_BITS,
    connect,
    has_reused,
    understand,
)
from evalbench.engine.journal.sums import Kind, Sums, count_by_kind, count_own_replies, kept
from evalbench.engine.record_schemas import (
    DETAIL,
    EVENTS,
    FACTS,
    REPLY,
    STORED_SAMPLE,
    TAGS,
    VALUES,
)
from evalbench.engine.scoring.tally import Tally

T = TypeVar("T")

_WRONG = (
    *(AttributeError, LookupError, TypeError, ValueError, ArithmeticError, StopIteration),
    sqlite3.Error,
)
"""Errors raised by columns whose types are not those that were written."""

PACKED = ("sample", "call", "reply", "detail")


def damaged(what: str, error: Exception) -> JournalError:
    """The error for a record that cannot have been written like this."""
    why = str(error) or type(error).__name__
    return JournalError(f"{what} in the journal cannot be read", why=why)


class RowDecoder:
    """Decodes rows of one open journal; caches names, slots and blobs.

    Methods that decode a record raise ``JournalError`` if it cannot have been written like this.

    Attributes:
        live: the writer's running sums; None for other readers.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection
        self.live: Sums | None = None
        self._names: dict[int, str] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._slots: dict[int, tuple[CallKey, int]] = {}
        self._tags: dict[int, dict[str, str]] = {}
        self.packers = {kind: codec.Packer(self._dictionary(kind)) for kind in PACKED}

    def _dictionary(self, kind: str) -> bytes:
        row = self.db.execute(
            "SELECT data FROM blob WHERE hash = ?", (f"dictionary/{kind}".encode(),)
        ).fetchone()
        return row[0] if row else b""

    def unpack(self, kind: str, frame: bytes) -> bytes:
        """The content of a packed frame; picks up a dictionary learned since opening.

        Raises:
            JournalError: the frame is damaged.
        """
        try:
            return self.packers[kind].unpack(frame)
        except codec.DictionaryMissing:
            self.packers[kind] = codec.Packer(self._dictionary(kind))
            return self.packers[kind].unpack(frame)

    def name(self, ident: int) -> str:
        """The interned text with this id."""
        try:
            if ident not in self._names:
                row = self.db.execute("SELECT text FROM name WHERE id = ?", (ident,)).fetchone()
                self._names[ident] = row[0]
            return self._names[ident]
        except _WRONG as error:
            raise damaged("a name", error) from error

    def _object(self, text: str, fits: Check) -> dict[str, Any]:
        try:
            value: dict[str, Any] = orjson.loads(text)
            fits(value)
        except _WRONG as error:
            raise damaged("a record", error) from error
        return value

    def tags(self, ident: int) -> dict[str, str]:
        """Interned tags."""
        if ident not in self._tags:
            self._tags[ident] = self._object(self.name(ident), TAGS)
        return self._tags[ident].copy()

    def events(self, kind: str) -> Iterator[Event]:
        """All events of a kind, oldest first."""
        sql = "SELECT id, at, kind, count, body FROM event WHERE kind = ? ORDER BY id"
        for columns in self.db.execute(sql, (kind,)):
            yield _event(*columns)

    def values(self, ident: int) -> dict[str, float]:
        """The interned values of a score."""
        return self._object(self.name(ident), VALUES)

    def detail(self, stored: int | bytes) -> dict[str, Any]:
        """The details of a score besides its values, interned or packed."""
        try:
            raw = self.name(stored) if isinstance(stored, int) else self.unpack("detail", stored)
            value: dict[str, Any] = orjson.loads(raw)
            DETAIL(value)
        except _WRONG as error:
            raise damaged("the detail of a score", error) from error
        return value

    def outcome(self, code: int) -> Outcome:
        """The outcome for its number."""
        try:
            if code < 0:
                raise IndexError(code)
            return OUTCOMES[code]
        except _WRONG as error:
            raise damaged("an outcome", error) from error

    def fact(self, key: str) -> Any:
        """One fact of the ``run`` table, or None."""
        row = self.db.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()
        return None if row is None else _fact(key, row[0])

    def origin(self, ident: int) -> str:
        """The id of an earlier run from its interned name."""
        return self.name(ident).strip('"')

    def meta(self) -> dict[str, Any]:
        """Every fact of the ``run`` table."""
        rows = self.db.execute("SELECT key, value FROM run").fetchall()
        return {key: _fact(key, value) for key, value in rows}

    def sums(self) -> Sums | None:
        """The sums over all rows, if known without a scan."""
        if self.live is None:
            return kept(self.db)
        return self.live if self.live.certain else None

    def slot(self, ident: int) -> tuple[CallKey, int]:
        """Key and re-ask number of a slot."""
        try:
            if ident not in self._slots:
                self._slots[ident] = self._read_slot(ident)
            return self._slots[ident]
        except _WRONG as error:
            raise damaged("the key of a call", error) from error

    def _read_slot(self, ident: int) -> tuple[CallKey, int]:
        epoch, role, model, step, repeat, reask = self.db.execute(
            "SELECT epoch, role, model, step, repeat, reask FROM slot WHERE id = ?", (ident,)
        ).fetchone()
        if not all(isinstance(part, str) for part in (role, model, step)):
            raise TypeError("role, model and step should be texts")
        return CallKey(int(epoch), role, model, step, int(repeat)), int(reask)

    def blob(self, digest: bytes) -> bytes:
        """A blob by content hash, decompressed; empty if missing."""
        if digest not in self._blobs:
            row = self.db.execute("SELECT data FROM blob WHERE hash = ?", (digest,)).fetchone()
            if len(self._blobs) > 256:
                self._blobs.clear()
            self._blobs[digest] = codec.Packer().unpack(row[0]) if row else b""
        return self._blobs[digest]

    def ident(self, digest: bytes, occurrence: int) -> str:
        """A sample's content id."""
        try:
            return f"{digest.hex()}.{occurrence}"
        except _WRONG as error:
            raise damaged("the id of a sample", error) from error

    def sample(self, digest: bytes, occurrence: int, tags: int, frame: bytes) -> Sample:
        """A sample from its columns."""
        try:
            inputs, gold = orjson.loads(self.unpack("sample", frame))
            STORED_SAMPLE(inputs)
            return Sample(f"{digest.hex()}.{occurrence}", inputs, gold, self.tags(tags))
        except _WRONG as error:
            raise damaged("a sample", error) from error

    def prompt(self, shape: int, frame: bytes, quotes: Callable[[], Sequence[str]]) -> Prompt:
        """A prompt from its columns and the texts it may quote, see ``codec.quotable``."""
        try:
            texts = codec.unquote(self.unpack("call", frame), quotes)
            return codec.join_prompt(self.name(shape), texts, self.blob)
        except _WRONG as error:
            raise damaged("a prompt", error) from error

    def reply(
        self,
        outcome: int,
        tokens_in: int | None,
        tokens_out: int | None,
        cost: int | None,
        possible: int,
        frame: bytes,
    ) -> Reply:
        """A reply from its columns."""
        try:
            body = orjson.loads(self.unpack("reply", frame))
            body["outcome"] = self.outcome(outcome).value
            usage = body.setdefault("usage", {})
            usage["input_tokens"], usage["output_tokens"] = tokens_in, tokens_out
            REPLY(body)
            return replace(
                reply_from_json(body),
                cost=None if cost is None else dollars(cost),
                possible_cost=dollars(possible),
            )
        except _WRONG as error:
            raise damaged("a reply", error) from error


class JournalReader:
    """Read-only view of one journal. Cheap to open; keep queries short while a run is live.

    Raises:
        JournalError: the file cannot be read; also raised by every method.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = connect(path, readonly=True)
        self._decoder = RowDecoder(self._db)

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
        try:
            return self._decoder.fact(key)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def size(self) -> int:
        """Number of samples."""
        try:
            return count_samples(self._decoder)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def answered_without_score(self, most: int) -> list[int]:
        """Rows of up to ``most`` unscored samples whose calls all have a reply."""
        sql = (
            "SELECT DISTINCT r.id >> :slots AS row FROM reply r"
            " WHERE NOT EXISTS (SELECT 1 FROM score k WHERE k.id"
            "   BETWEEN (r.id >> :slots) << :epochs AND ((r.id >> :slots) + 1 << :epochs) - 1)"
            " AND NOT EXISTS (SELECT 1 FROM call c LEFT JOIN reply o ON o.id = c.id WHERE c.id"
            "   BETWEEN (r.id >> :slots) << :slots AND ((r.id >> :slots) + 1 << :slots) - 1"
            "   AND o.id IS NULL) LIMIT :most"
        )
        given = {"slots": SLOT_BITS, "epochs": EPOCH_BITS, "most": most}
        try:
            return [row for (row,) in self._db.execute(sql, given)]
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def samples(self, first: int = 1, count: int = -1) -> Iterator[SampleRow]:
        """Samples from row ``first`` on."""
        sql = "SELECT row, hash, occurrence, tags, body FROM sample WHERE row >= ? LIMIT ?"
        for row, *columns in self._rows(sql, (first, count)):
            yield SampleRow(row, self._decoder.sample(*columns))

    def scores(self, first: int = 1, count: int = -1) -> Generator[ScoreRow, None, None]:
        """Scores of samples from row ``first`` on, in row order."""
        sql = "SELECT id, outcome, vals, detail FROM score WHERE id >= ? LIMIT ?"
        for ident, outcome, values, detail in self._rows(sql, (first << EPOCH_BITS, count)):
            yield ScoreRow(
                ident >> EPOCH_BITS,
                ident & ((1 << EPOCH_BITS) - 1),
                self._decoder.outcome(outcome),
                self._decoder.values(values),
                self._decoder.detail(detail),
            )

    def calls(self, row: int) -> list[CallRow]:
        """All calls of one sample, in slot order."""
        samples = {one.row: one.sample for one in self.samples(row, 1) if one.row == row}
        return calls_of(self._decoder, self.path, samples).get(row, [])

    def query(self, read: Callable[[RowDecoder, Path], T]) -> T:
        """Run a function of this package that takes a decoder and its path."""
        try:
            return read(self._decoder, self.path)
        except sqlite3.Error as error:
            raise understand(error, self.path) from error

    def events(self, after: int = 0, count: int = 1000) -> list[Event]:
        """Events with an id above ``after``. The newest one's count may still grow."""
        sql = "SELECT id, at, kind, count, body FROM event WHERE id > ? ORDER BY id LIMIT ?"
        return [_event(*columns) for columns in self._rows(sql, (after, count))]

    def newest_event(self, kind: str = "", before: int | None = None) -> Event | None:
        """The newest event, or the newest of a kind; None if there is none.

        ``before`` is the id of a later event.
        """
        sql = (
            "SELECT id, at, kind, count, body FROM event"
            " WHERE (kind = ? OR ? = '') AND (id < ? OR ? IS NULL) ORDER BY id DESC LIMIT 1"
        )
        for columns in self._rows(sql, (kind, kind, before, before)):
            return _event(*columns)
        return None

    def score_times(self, every_ms: int, since_ms: int = 0) -> list[tuple[int, int]]:
        """Number of scores stored in each non-empty time interval, from one scan.

        Args:
            every_ms: interval length.
            since_ms: leave out earlier ones, in milliseconds since the run's creation.

        Returns:
            (interval number since the run's creation, number of scores), in order.
        """
        sql = "SELECT at / ?, count(*) FROM score WHERE at >= ? GROUP BY 1 ORDER BY 1"
        return [(number, count) for number, count in self._rows(sql, (every_ms, since_ms))]

    def scored_since(self, at_ms: int) -> list[tuple[int, int, int]]:
        """Scores in the order in which they were stored, from one scan.

        Args:
            at_ms: leave out earlier ones, in milliseconds since the run's creation.

        Returns:
            (milliseconds, row, epoch) of each.
        """
        rows = self._rows("SELECT at, id FROM score WHERE at >= ? ORDER BY at, id", (at_ms,))
        return [(at, ident >> EPOCH_BITS, ident & ((1 << EPOCH_BITS) - 1)) for at, ident in rows]

    def tally(self, epochs: int = 1) -> Tally:
        """All scores, grouped; with several epochs also each sample's means."""
        return tally_of(self._decoder, self.path, epochs)

    def taken(self) -> list[tuple[Decimal, int, int]]:
        """US dollars, input and output tokens of each scored sample, over all epochs.

        Replies whose price or tokens are unknown count as zero here.
        """
        rows = self._rows(
            "SELECT coalesce(sum(r.cost), 0), coalesce(sum(r.input), 0), coalesce(sum(r.output), 0)"
            " FROM (SELECT DISTINCT id >> ? AS row FROM score) k"
            " LEFT JOIN reply r ON r.id BETWEEN k.row << ? AND (k.row + 1 << ?) - 1 GROUP BY k.row",
            (EPOCH_BITS, SLOT_BITS, SLOT_BITS),
        )
        return [(dollars(cost), given, made) for cost, given, made in rows]

    def tokens(self) -> tuple[int, int]:
        """Input and output tokens of all replies."""
        found = totals(self._decoder, self.path)
        return found.input_tokens, found.output_tokens


def first_scores(path: Path) -> Iterator[FirstScore]:
    """Every scored sample with its first score, in row order.

    The journal is opened when the first one is asked for.
    """
    with JournalReader(path) as reader, closing(reader.scores()) as scores:
        score = next(scores, None)
        for one in reader.samples():
            while score and score.row < one.row:
                score = next(scores, None)
            if score and score.row == one.row:
                yield one.sample, score.values, score.detail.get("parsed") or {}


def _fact(key: str, raw: bytes) -> Any:
    try:
        value = orjson.loads(raw)
        FACTS.get(key, anything)(value)
    except _WRONG as error:
        raise damaged(f"the fact {key!r}", error) from error
    return value


def _event(ident: int, at: int, kind: str, count: int, raw: bytes) -> Event:
    try:
        body = orjson.loads(raw)
        EVENTS.get(kind, DETAIL)(body)
        return Event(ident, int(at), str(kind), int(count), body)
    except _WRONG as error:
        raise damaged(f"event {ident}", error) from error


def tally_of(decoder: RowDecoder, path: Path, epochs: int = 1) -> Tally:
    """All scores of a journal, grouped."""
    tally = Tally(epochs=epochs)
    if epochs > 1:
        tally.means = epoch_means(decoder, path, epochs).means
    try:
        known = decoder.sums()
        kinds = known.scores if known else count_by_kind(decoder.db)
    except sqlite3.Error as error:
        raise understand(error, path) from error
    for (tags, outcome, values), count in sorted(kinds.items()):
        tally.add(decoder.tags(tags), decoder.outcome(outcome), decoder.values(values), count)
    return tally


def epoch_means(decoder: RowDecoder, path: Path, epochs: int) -> EpochMeans:
    """What a run in several epochs has of each sample; a copy, read with a scan if not known."""
    known = decoder.sums()
    if known and (means := known.epoch_means) and means.epochs == epochs:
        begun = {row: scores.copy() for row, scores in means.begun.items()}
        return EpochMeans(epochs, Tally(means.means.rows.copy()), begun)
    try:
        return count_by_sample(decoder, epochs)[1]
    except sqlite3.Error as error:
        raise understand(error, path) from error


def scores_with(decoder: RowDecoder, outcomes: Sequence[int]) -> list[int]:
    """Numbers of all scores with one of these outcomes, in order."""
    sql = "SELECT id FROM score WHERE outcome IN (SELECT value FROM json_each(?)) ORDER BY id"
    return [ident for (ident,) in decoder.db.execute(sql, (str(list(outcomes)),))]


def means_without(
    decoder: RowDecoder, known: EpochMeans, scores: Sequence[int]
) -> EpochMeans | None:
    """What there is of each sample without some of its scores, which are still stored.

    Args:
        decoder: the journal.
        known: what there is now; changed.
        scores: numbers of the scores, in order.

    Returns:
        None if what is known does not agree with them, as means are sums in another order.
    """
    sql = "SELECT id, tags, outcome, vals FROM score WHERE id BETWEEN ? AND ? ORDER BY id"
    for row, group in groupby(scores, key=lambda ident: ident >> EPOCH_BITS):
        removed = set(group)
        rows = decoder.db.execute(sql, (row << EPOCH_BITS, (row + 1 << EPOCH_BITS) - 1)).fetchall()
        before: dict[int, tuple[Outcome, Mapping[str, float]]] = {
            ident: (decoder.outcome(code), decoder.values(values))
            for ident, _, code, values in rows
        }
        if len(before) == known.epochs:
            known.means.add_sample(decoder.tags(rows[0][1]), [*before.values()], -1)
        known.begun.pop(row, None)
        if left := [score for ident, score in before.items() if ident not in removed]:
            known.begun[row] = left
    return None if any(count < 0 for count in known.means.rows.values()) else known


def count_by_sample(decoder: RowDecoder, epochs: int) -> tuple[dict[Kind, int], EpochMeans]:
    """Number of scores of each kind, and what there is of each sample, in one scan."""
    kinds: Counter[Kind] = Counter()
    samples: Counter[tuple[int, tuple[tuple[int, int], ...]]] = Counter()
    begun = {}
    rows = decoder.db.execute("SELECT id, tags, outcome, vals FROM score ORDER BY id")
    for row, group in groupby(rows, key=lambda columns: columns[0] >> EPOCH_BITS):
        scores_of_sample = [columns[1:] for columns in group]
        kinds.update(scores_of_sample)
        scores = tuple((code, values) for _, code, values in scores_of_sample)
        if len(scores) == epochs:
            samples[scores_of_sample[0][0], scores] += 1
        else:
            begun[row] = scores

    def decoded(scores: tuple[tuple[int, int], ...]) -> Scores:
        return [(decoder.outcome(code), decoder.values(values)) for code, values in scores]

    means = Tally()
    for (tags, scores), count in samples.items():
        means.add_sample(decoder.tags(tags), decoded(scores), count)
    return kinds, EpochMeans(epochs, means, {row: decoded(some) for row, some in begun.items()})


# Samples come first in the join, so that each reads one contiguous range of the calls.
_CALLS = """
SELECT c.id, c.hash, c.sent, c.shape, c.body,
    r.outcome, r.input, r.output, r.cost, r.possible, r.body
FROM json_each(:rows) s
CROSS JOIN call c ON c.id BETWEEN s.value << :slot_bits AND (s.value + 1 << :slot_bits) - 1
LEFT JOIN reply r ON r.id = c.id
ORDER BY c.id
"""


def calls_of(
    decoder: RowDecoder, path: Path, samples: Mapping[int, Sample]
) -> dict[int, list[CallRow]]:
    """All calls of these samples, by row, in slot order."""
    found: dict[int, list[CallRow]] = {}
    if not samples:
        return found

    @cache
    def quotes(row: int) -> list[str]:
        return codec.quotable(samples[row])

    try:
        columns = decoder.db.execute(_CALLS, {"rows": str(list(samples)), "slot_bits": SLOT_BITS})
        for ident, digest, sent, shape, body, outcome, *rest in columns:
            row = ident >> SLOT_BITS
            key, reask = decoder.slot(ident & ((1 << SLOT_BITS) - 1))
            if not isinstance(digest, bytes) or not isinstance(sent, int):
                raise damaged(f"call {ident}", TypeError("its hash or time is none"))
            prompt = decoder.prompt(shape, body, partial(quotes, row))
            reply = None if outcome is None else decoder.reply(outcome, *rest)
            call = CallRow(ident, row, key, reask, digest, sent, prompt, reply)
            found.setdefault(row, []).append(call)
    except sqlite3.Error as error:
        raise understand(error, path) from error
    return found


class Totals(NamedTuple):
    """Sums over all replies that were asked for in this run.

    ``cost`` is their cost in US dollars, ``possible`` what failed attempts may have cost in
    addition.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    possible: Decimal = Decimal(0)


def totals(decoder: RowDecoder, path: Path) -> Totals:
    """Sums over all replies except reused ones."""
    try:
        if known := decoder.sums():
            sums = known.input, known.output, known.cost, known.possible
        else:
            sums = count_own_replies(decoder.db)
    except sqlite3.Error as error:
        raise understand(error, path) from error
    return Totals(*sums[:2], dollars(sums[2]), dollars(sums[3]))


def spend_by_model(decoder: RowDecoder, path: Path) -> dict[tuple[str, str], Decimal]:
    """US dollars for the answers to the calls of each role and model; see :func:`totals`."""
    ours = " WHERE id NOT IN (SELECT call FROM reused)" if has_reused(decoder.db) else ""
    by_slot = f"SELECT id & ? AS slot, sum(cost) AS cost FROM reply{ours} GROUP BY 1"  # noqa: S608
    sql = (
        f"SELECT role, model, sum(cost) FROM ({by_slot}) JOIN slot ON slot.id = slot"  # noqa: S608
        " GROUP BY role, model"
    )
    try:
        rows = decoder.db.execute(sql, ((1 << SLOT_BITS) - 1,)).fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    return {(role, model): dollars(cost or 0) for role, model, cost in rows}


def reused_replies(decoder: RowDecoder, path: Path) -> dict[str, int]:
    """Number of replies reused from earlier runs, by run id."""
    try:
        if not has_reused(decoder.db):
            return {}
        rows = decoder.db.execute("SELECT run, count(*) FROM reused GROUP BY run").fetchall()
    except sqlite3.Error as error:
        raise understand(error, path) from error
    return {decoder.origin(run): count for run, count in rows}


def count_samples(decoder: RowDecoder) -> int:
    """Number of samples."""
    if known := decoder.sums():
        return known.samples
    return int(decoder.db.execute("SELECT count(*) FROM sample").fetchone()[0])

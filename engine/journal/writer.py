"""The writing side of the journal: what the engine stores, under which numbers and names.

Methods that store something return, where a caller may need to wait, a future that is done once
the record is committed, see :mod:`evalbench.engine.journal.file`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, ModelRef, Outcome, Reply
from evalbench.engine.calls.replies import UNSTORABLE, plain
from evalbench.engine.errors import JournalError
from evalbench.engine.journal import codec
from evalbench.engine.journal.file import JournalFile
from evalbench.engine.journal.paging import cut_off
from evalbench.engine.journal.reader import RowDecoder, means_without, scores_with
from evalbench.engine.journal.records import OUTCOME_CODE, BatchRow, CallKey, picodollars
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS

_MERGE_MS = 10_000
_SHORT = 64
_MOST_NAMES = 4000
_MOST_BLOBS = 4000
_MOST_NUMBER = 2**63 - 1
"""SQLite's largest."""


class Journal(JournalFile):
    """The journal of an engine. Create it in a running event loop; close it to bring it to rest."""

    def _open(self) -> None:
        super()._open()
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
        self.created: float = self._decoder.fact("created") or time.time()
        self._blobs: set[bytes] = set()
        self._last_event: tuple[str, bytes, int, int] | None = None

    def now_ms(self) -> int:
        """Milliseconds since the run's creation, monotonic unlike the system clock."""
        now = int((time.time() - self.created) * 1000)
        if now > self._now:
            self._now = now
        return self._now

    # -- storing ------------------------------------------------------------

    def set(self, /, **values: Any) -> None:
        """Store values of the ``run`` table."""
        for key, value in values.items():
            self._put("run", key, orjson.dumps(value))
        self.created = values.get("created", self.created)

    def add_samples(self, samples: Iterable[tuple[int, Sample]]) -> asyncio.Future[None]:
        """Store samples by row number."""
        for row, sample in samples:
            digest, _, occurrence = sample.id.partition(".")
            body = self._pack("sample", codec.sample_body(sample))
            tags = self._tags(sample.tags)
            self._put("sample", row, bytes.fromhex(digest), int(occurrence), tags, body)
        return self.committed()

    def intend(
        self, row: int, key: CallKey, reask: int, call: Call, digest: bytes, quotes: Sequence[str]
    ) -> asyncio.Future[None]:
        """Store a call before it is sent. ``quotes`` are its sample's ``codec.quotable`` texts."""
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
            self._pack("call", codec.quote(texts, quotes)),
        )
        return self.committed()

    def call_id(self, row: int, key: CallKey, reask: int) -> int:
        """The number of a call in this journal."""
        return row << SLOT_BITS | self._slot(key, reask)

    def put_batch(self, batch: BatchRow) -> asyncio.Future[None]:
        """Store a batch's current state."""
        self._put("batch", batch.id, batch.name, batch.state, orjson.dumps(batch.body))
        return self.committed()

    def put_in_batch(self, call: int, batch: int, item: int) -> None:
        """Store that a call is in a line of a batch, and no longer in any other."""
        self._put("batched", call, batch, item)

    def forget_calls(self, calls: Iterable[int]) -> None:
        """Delete calls that were never sent, and their places in a batch."""
        keys: list[tuple[Any, ...]] = [(call,) for call in calls]
        # Together: a call that is only in a batch would be waited for and never asked.
        self._delete(
            ("DELETE FROM call WHERE id = ?", keys),
            ("DELETE FROM batched WHERE call = ?", keys),
            ("DELETE FROM attempts WHERE call = ?", keys),
        )

    def store_reply(self, row: int, key: CallKey, reask: int, reply: Reply) -> asyncio.Future[None]:
        """Store the reply to an intended call.

        Raises:
            TypeError, ValueError, OverflowError: the reply contains something that the journal
                cannot store, see ``replies.plain``.
        """
        self._put_reply(row, key, reask, reply)
        return self.committed()

    def store_any_reply(self, row: int, key: CallKey, reask: int, reply: Reply) -> Reply:
        """Store an external reply, which may contain anything, without waiting for its commit.

        Returns:
            The reply as stored, see ``replies.plain``.
        """
        try:
            self._put_reply(row, key, reask, reply)
        except UNSTORABLE:
            reply = plain(reply)
            self._put_reply(row, key, reask, reply)
        return reply

    def _put_reply(self, row: int, key: CallKey, reask: int, reply: Reply) -> None:
        """Store a reply.

        Anything that cannot be stored is refused here, where the call is known: a row refused by
        SQLite would fail the whole transaction.

        Raises:
            TypeError, ValueError, OverflowError: the reply contains something that the journal
                cannot store, see ``replies.plain``.
        """
        ident = row << SLOT_BITS | self._slot(key, reask)
        cost = None if reply.cost is None else picodollars(reply.cost)
        possible = picodollars(reply.possible_cost)
        if (cost or 0) > _MOST_NUMBER or possible > _MOST_NUMBER:
            raise OverflowError("a cost that no row can hold")
        body = codec.reply_body(reply)
        if reply.reused:
            self._put("reused", ident, self._name(f'"{reply.reused.run}"'), reply.reused.call)
        self._put(
            "reply",
            ident,
            self.now_ms(),
            OUTCOME_CODE[reply.outcome],
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            cost,
            possible,
            self._pack("reply", body),
        )

    def put_attempts(self, call: int, billed: int, *, in_flight: bool) -> asyncio.Future[None]:
        """Record the attempts at an intended call after its first one failed.

        Args:
            call: the call's number.
            billed: failed attempts that may have been billed.
            in_flight: whether another one is about to be sent.
        """
        self._put("attempts", call, billed, int(in_flight))
        return self.committed()

    def close_cut_calls(self, worst_case: Callable[[Call], Decimal]) -> int:
        """Give every call that an earlier engine left unanswered a reply of outcome ``error``.

        A call in flight may have been answered, and billed, after its engine was gone, so it
        counts at its worst case; a call that was only waiting to be retried does not. All are
        asked again. Calls in a batch are not affected: their replies are still to come.

        Args:
            worst_case: called once for each attempt that may have been billed.

        Returns:
            How many were in flight.
        """
        cut = self.query(partial(cut_off, path=self.path))
        for row, billed, flying in cut:
            call = Call(ModelRef.parse(row.key.model), row.prompt)
            worst = sum((worst_case(call) for _ in range(billed + flying)), Decimal(0))
            reply = Reply(
                outcome=Outcome.ERROR,
                error="CutOff: the engine ended while this call was in flight"
                if flying
                else "NotSent: the engine ended while this call waited for another try",
                possibly_billed=bool(worst),
                possible_cost=worst,
            )
            self.store_reply(row.row, row.key, row.reask, reply)
        return sum(flying for _, _, flying in cut)

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
        packed = orjson.dumps(detail)
        if len(packed) <= _SHORT and (
            packed.decode() in self._names or len(self._names) < _MOST_NAMES
        ):
            stored: int | bytes = self._name(packed.decode())
        else:
            stored = self._pack("detail", packed)
        self._put(
            "score",
            row << EPOCH_BITS | epoch,
            self.now_ms(),
            self._tags(tags),
            OUTCOME_CODE[outcome],
            self._name(orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode()),
            stored,
        )

    def event(self, kind: str, /, **body: Any) -> None:
        """Store an event. Equal consecutive ones within 10 s are merged, with a count."""
        packed, now = orjson.dumps(body), self.now_ms()
        last = self._last_event
        if last and last[:2] == (kind, packed) and now - last[2] < _MERGE_MS:
            at, count = last[2], last[3] + 1
        else:
            self._events += 1
            at, count = now, 1
        self._last_event = kind, packed, at, count
        self._put("event", self._events, at, kind, count, packed)

    def forget_scores(self, outcomes: Iterable[Outcome]) -> None:
        """Delete scores with these outcomes: their samples are unfinished again."""
        codes = [OUTCOME_CODE[what] for what in outcomes]
        known = self.query(RowDecoder.sums)
        if known is not None and not known.count(codes):
            return
        ids = self.query(lambda decoder: scores_with(decoder, codes))
        means = self._sums.epoch_means
        left = means and self.query(lambda decoder: means_without(decoder, means, ids))
        self._delete(("DELETE FROM score WHERE id = ?", [(ident,) for ident in ids]))
        self._sums.epoch_means = left

    def forget_samples(self, rows: Iterable[int]) -> None:
        """Remove samples and their scores; their calls stay as a record of what was paid."""
        forgotten = list(rows)
        self._delete(
            ("DELETE FROM sample WHERE row = ?", [(row,) for row in forgotten]),
            (
                "DELETE FROM score WHERE id BETWEEN ? AND ?",
                [(row << EPOCH_BITS, (row + 1 << EPOCH_BITS) - 1) for row in forgotten],
            ),
        )

    def forget_epochs(self, first: int) -> None:
        """Delete the scores of epoch ``first`` and later; their calls stay."""
        self._delete(("DELETE FROM score WHERE id & ? >= ?", [((1 << EPOCH_BITS) - 1, first)]))

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

"""Drives the samples of one run. Resume is the same code with a fuller journal."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from evalbench.engine.ask import CallFailed, Contestant, SampleAsk, newest
from evalbench.engine.benchmark import Benchmark, Sample, Score
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.dispatch.base import Halted
from evalbench.engine.errors import EvalbenchError, RunFatal
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.reader import Shelf, calls_between, tally_of
from evalbench.engine.journal.schema import EPOCH_BITS
from evalbench.engine.journal.writer import sample_body
from evalbench.engine.scoring.tally import Metric, Tally

_PAGE = 256
_RATE_WINDOW_S = 20.0
SAME_FAILURES = 20
"""That many failures of one kind before anything succeeded end the run: nothing will."""

STOP_GRACE_S = 10.0
"""How long a stop waits for calls on the wire: they are paid for, but a stop must end."""


class State(StrEnum):
    """Where a run stands. The last five are at rest."""

    CREATED = "created"
    RUNNING = "running"
    PAUSING = "pausing"
    STOPPING = "stopping"
    PAUSED = "paused"
    STOPPED = "stopped"
    COMPLETE = "complete"
    FAILED = "failed"
    BUDGET = "budget"


class Driver:
    """One run's samples, from the first unfinished one to the last.

    Attributes:
        tally: all scores so far, live.
        halting: set to PAUSING or STOPPING to end after the calls in flight.
        failure: the error that ended the run, if one did.
    """

    def __init__(
        self,
        journal: Journal,
        benchmark: Benchmark,
        cast: Mapping[str, Contestant],
        *,
        epochs: int,
        ask_again: frozenset[Outcome] = frozenset({Outcome.ERROR}),
    ) -> None:
        self._journal = journal
        self._benchmark = benchmark
        self._cast = cast
        self._epochs = epochs
        self._ask_again = ask_again
        self.halting: State | None = None
        self.failure: EvalbenchError | None = None
        self.tally = Tally()
        self.total = 0
        self.sent = 0
        self.from_journal = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.first_sent: float | None = None
        self.last_score: float | None = None
        self.errors: dict[str, int] = {}
        self.notes: dict[str, dict[str, str]] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._answered = False

    # -- progress, for status and screens -------------------------------------

    @property
    def done(self) -> int:
        """Samples × epochs that have a score or failed."""
        return sum(self.tally.rows.values())

    @property
    def failed(self) -> int:
        """Samples × epochs that failed."""
        return self.tally.outcomes()[Outcome.ERROR.value]

    @property
    def seconds(self) -> float:
        """From the first call sent to the last score, in this engine's life."""
        if self.first_sent is None:
            return 0.0
        return max(0.0, (self.last_score or time.monotonic()) - self.first_sent)

    def rate(self) -> float:
        """Samples finished per second, over the last 20 s."""
        now, done = time.monotonic(), self.done
        self._recent.append((now, done))
        while len(self._recent) > 2 and now - self._recent[0][0] > _RATE_WINDOW_S:
            self._recent.popleft()
        then, before = self._recent[0]
        return (done - before) / (now - then) if now > then else 0.0

    def metrics(self) -> list[Metric]:
        """The benchmark's metrics over what is scored so far."""
        return self._benchmark.metrics(self.tally)

    # -- driving ----------------------------------------------------------------

    async def open(self) -> None:
        """Read what the journal already has: tally, size, tokens and calls that were cut off.

        Scores that rest on replies to be asked again are forgotten; their
        replies stay.
        """
        path = self._journal.path

        def read(shelf: Shelf) -> tuple[Tally, int, tuple[int, int], int]:
            size = shelf.db.execute("SELECT count(*) FROM sample").fetchone()[0]
            tokens = shelf.db.execute(
                "SELECT coalesce(sum(input), 0), coalesce(sum(output), 0) FROM reply"
            ).fetchone()
            calls, replies = shelf.db.execute(
                "SELECT (SELECT count(*) FROM call), (SELECT count(*) FROM reply)"
            ).fetchone()
            return tally_of(shelf, path), size, tokens, calls - replies

        await self._journal.forget_scores(self._ask_again)
        self.tally, size, tokens, cut = await self._journal.query(read)
        self.total = size * self._epochs
        self.input_tokens, self.output_tokens = tokens
        self._answered = self.done > 0
        if cut:
            self._journal.event("cut-off", calls=cut, note="in flight when the engine ended")

    def halt(self, how: State) -> None:
        """Send no further call. PAUSING waits for those in flight, STOPPING only a little."""
        self.halting = how
        for part in self._cast.values():
            part.dispatcher.halt()

    def _give_up(self, error: EvalbenchError) -> None:
        self.failure = self.failure or error
        for part in self._cast.values():
            part.dispatcher.halt()

    async def drive(self) -> State:
        """Work until every sample is finished, the run is halted, or it cannot go on.

        Returns:
            COMPLETE, PAUSED, STOPPED or FAILED; with FAILED, ``failure`` says why.
        """
        jobs: asyncio.Queue[tuple[int, int, Sample, list[CallRow]] | None] = asyncio.Queue(_PAGE)
        feeder = asyncio.create_task(self._feed(jobs))
        active: set[asyncio.Task[None]] = set()
        try:
            while self.halting is None and self.failure is None:
                window = max(part.dispatcher.window for part in self._cast.values())
                while len(active) >= window:
                    await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
                job = await jobs.get()
                if job is None:
                    break
                task = asyncio.create_task(self._solve(*job))
                active.add(task)
                task.add_done_callback(active.discard)
            if active:
                grace = STOP_GRACE_S if self.failure or self.halting is State.STOPPING else None
                await asyncio.wait(active, timeout=grace)
        finally:
            feeder.cancel()
            for task in active:
                task.cancel()
            await asyncio.gather(feeder, *active, return_exceptions=True)
        if feeder.done() and not feeder.cancelled() and (error := feeder.exception()):
            raise error
        if self._journal.broken:
            raise self._journal.broken
        if self.failure:
            return State.FAILED
        if self.halting and self.done - self.failed < self.total:
            return State.PAUSED if self.halting is State.PAUSING else State.STOPPED
        return State.COMPLETE

    async def _feed(
        self, jobs: asyncio.Queue[tuple[int, int, Sample, list[CallRow]] | None]
    ) -> None:
        """Put every (row, epoch) without a score into ``jobs``, page by page in row order."""
        path = self._journal.path
        most = max(_PAGE, self._epochs + 1)
        last = 0
        while True:

            def read(
                shelf: Shelf, first: int = last
            ) -> tuple[list[tuple[int, int, Sample]], Mapping[int, list[CallRow]], int]:
                rows = shelf.db.execute(
                    "SELECT s.row, e.value, s.hash, s.occurrence, s.tags, s.body FROM sample s"
                    " JOIN json_each(?) e LEFT JOIN score k ON k.id = (s.row << ?) | e.value"
                    " WHERE s.row > ? AND k.id IS NULL ORDER BY s.row, e.value LIMIT ?",
                    (str(list(range(self._epochs))), EPOCH_BITS, first, most),
                ).fetchall()
                if len(rows) == most and rows[0][0] != rows[-1][0]:
                    # The last sample may have more epochs than fit: leave it to the next page.
                    end = rows[-1][0]
                    rows = [row for row in rows if row[0] != end]
                found = [(r[0], r[1], shelf.sample(r[0], *r[2:]).sample) for r in rows]
                calls = calls_between(shelf, path, rows[0][0], rows[-1][0]) if rows else {}
                return found, calls, rows[-1][0] if rows else first

            found, calls, last = await self._journal.query(read)
            if not found:
                await jobs.put(None)
                return
            for row, epoch, sample in found:
                await jobs.put((row, epoch, sample, calls.get(row, [])))

    async def _solve(self, row: int, epoch: int, sample: Sample, calls: list[CallRow]) -> None:
        known = newest([call for call in calls if call.key.epoch == epoch])
        ask = SampleAsk(
            journal=self._journal,
            cast=self._cast,
            row=row,
            epoch=epoch,
            beside=sample_body(sample),
            known=known,
            halted=self._halted,
            ask_again=self._ask_again,
            count=self._count,
        )
        if self.first_sent is None:
            self.first_sent = time.monotonic()
        try:
            score = await self._benchmark.solve(sample, ask)
        except Halted:
            return
        except CallFailed as error:
            self._fail(row, epoch, sample, error.reply.error)
            return
        except EvalbenchError as error:
            self._give_up(error)
            return
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._fail(
                row, epoch, sample, f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
            )
            return
        self._answered = True
        self._record(row, epoch, sample, score)

    def _halted(self) -> bool:
        return self.halting is not None or self.failure is not None

    def _count(self, reply: Reply, from_journal: bool) -> None:
        if from_journal:
            self.from_journal += 1
        else:
            self.sent += 1
            self.input_tokens += reply.usage.input_tokens or 0
            self.output_tokens += reply.usage.output_tokens or 0
        for note in reply.params:
            if note.fate != "sent":
                self.notes[note.name] = {"fate": note.fate, "reason": note.reason}

    def _record(self, row: int, epoch: int, sample: Sample, score: Score) -> None:
        self._put(
            row,
            epoch,
            sample,
            score.outcome,
            score.values,
            {k: v for k, v in (("parsed", score.parsed), ("note", score.note)) if v},
        )

    def _fail(self, row: int, epoch: int, sample: Sample, error: str) -> None:
        kind = error.partition(":")[0]
        self.errors[kind] = self.errors.get(kind, 0) + 1
        self._put(row, epoch, sample, Outcome.ERROR, {}, {"error": error})
        self._journal.event("sample-failed", error=kind)
        if not self._answered and self.errors[kind] >= SAME_FAILURES:
            self._give_up(
                RunFatal(
                    f"the first {SAME_FAILURES} samples all failed in the same way",
                    why=error,
                    cure="fix the cause, then resume; failed samples are asked again",
                )
            )

    def _put(
        self,
        row: int,
        epoch: int,
        sample: Sample,
        outcome: Outcome,
        values: Mapping[str, float],
        detail: Mapping[str, Any],
    ) -> None:
        if self._journal.broken:
            self._give_up(self._journal.broken)
            return
        self._journal.store_score(row, epoch, sample.tags, outcome, values, detail)
        self.tally.add(sample.tags, outcome, values)
        self.last_score = time.monotonic()

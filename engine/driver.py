"""Drives the samples of one run. Resume is the same code with a fuller journal."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
import typing
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from evalbench.engine.ask import CallFailed, Contestant, SampleAsk, newest
from evalbench.engine.benchmark import Benchmark, Sample, Score
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.dispatch.base import BudgetSpent, Halted, Parked, Parking
from evalbench.engine.errors import EvalbenchError, JournalError, RunFatal
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.paging import Held, unfinished
from evalbench.engine.journal.reader import (
    Shelf,
    Totals,
    count_samples,
    reused_replies,
    scores_by_sample,
    tally_of,
    totals,
)
from evalbench.engine.reuse import EarlierReplies
from evalbench.engine.scoring.tally import Metric, Tally
from evalbench.engine.status import State

_PAGE = 64
_LOOK_S = 0.1
_LOAD_LOOK_S = 0.005
_PARKED_LOOK_S = 1.0
_RATE_WINDOW_S = 20.0
_LATEST = 8
_MOST_AT_HAND = 256
"""Samples kept in memory while they wait for their turn after replies to them arrived."""
SAME_FAILURES = 20
"""That many failures of one kind before anything succeeded end the run: nothing will."""

STOP_GRACE_S = 10.0
"""How long a stop waits for calls on the wire: they are paid for, but a stop must end."""


_FATES = ("sent", "dropped", "refused")
"""What can become of a requested parameter; the last that happened to any call is shown."""

_Job = tuple[int, int, Sample, list[CallRow], bool]
"""Row, epoch, sample, its calls, and whether its replies came while it was parked."""


_RESTS = {
    State.PAUSING: State.PAUSED,
    State.STOPPING: State.STOPPED,
    State.BUDGET: State.BUDGET,
}


class Driver:
    """One run's samples, from the first unfinished one to the last.

    Attributes:
        tally: all scores so far, live.
        before: what all replies of earlier engines add up to.
        roles: calls of each role by how they were answered: ``sent``, ``from_journal`` or
            ``reused`` from an earlier run.
        reused: replies taken from earlier runs, over all engines.
        latest: (row, epoch) of the scores stored last, oldest first.
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
        rows: Collection[int] | None = None,
        leave: bool = False,
        earlier: EarlierReplies | None = None,
    ) -> None:
        """Prepare driving.

        Args:
            journal: of the run.
            benchmark: what is asked, and how it is scored.
            cast: who plays each role.
            epochs: how often each sample is asked.
            ask_again: outcomes of stored replies that are worth another call.
            rows: work on these samples only, and pause when they are finished.
            leave: do not wait for batches: go when all that can be sent is out.
            earlier: replies of earlier runs that may be taken; None: none may.
        """
        self._journal = journal
        self._benchmark = benchmark
        self._cast = cast
        self._epochs = epochs
        self._ask_again = ask_again
        self._rows = rows
        self._leave = leave
        self._earlier = earlier
        self.halting: State | None = None
        self.failure: EvalbenchError | None = None
        self.tally = Tally()
        self.before = Totals()
        self.total = 0
        self.sent = 0
        self.from_journal = 0
        self.reused = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.first_sent: float | None = None
        self.last_score: float | None = None
        self.errors: dict[str, int] = {}
        self.notes: dict[str, dict[str, str]] = {}
        self.roles = {role: {"sent": 0, "from_journal": 0, "reused": 0} for role in cast}
        self.latest: deque[tuple[int, int]] = deque(maxlen=_LATEST)
        self._recent: deque[tuple[float, int]] = deque()
        self._answered = False
        self._epochs_of: dict[int, list[tuple[Outcome, Mapping[str, float]]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._jobs: deque[_Job] = deque()
        self._last_row = 0
        self._dry = False
        self._exhausted = False
        self._loading: asyncio.Future[None] | None = None
        self._parking: Sequence[Parking] = [
            typing.cast("Parking", part.dispatcher)
            for part in self._cast.values()
            if hasattr(part.dispatcher, "park")
        ]
        self._parked: set[tuple[int, int]] = set()
        self._woken: set[tuple[int, int]] = set()
        self._at_hand: dict[tuple[int, int], tuple[Sample, dict[int, CallRow]]] = {}
        self._final: set[int] = set()
        self._news = asyncio.Event()

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
        """From the first call sent to the last score, in this engine's life.

        Calls that wait for a model to be loaded are not sent yet.
        """
        ready = [part.dispatcher.ready_at for part in self._cast.values()]
        if self.first_sent is None or None in ready:
            return 0.0
        begun = max(self.first_sent, *(at for at in ready if at is not None))
        return max(0.0, (self.last_score or time.monotonic()) - begun)

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

    def open(self, expected: int | None = None) -> None:
        """Read what the journal already has: tally, size and tokens.

        Scores that rest on replies to be asked again are forgotten; their
        replies stay.

        Args:
            expected: number of samples, where it is known; they may still be loading.
        """
        path = self._journal.path

        def read(shelf: Shelf) -> tuple[Tally, int, Totals]:
            size = count_samples(shelf) if expected is None else expected
            self.reused = sum(reused_replies(shelf, path).values())
            return tally_of(shelf, path), size, totals(shelf, path)

        self._journal.forget_scores(self._ask_again)
        self.tally, size, self.before = self._journal.query(read)
        self.total = size * self._epochs
        self.input_tokens, self.output_tokens = self.before[:2]
        self._answered = self.done > 0
        # Looking for unfinished samples where there are none takes a walk over all of them.
        self._exhausted = expected is None and self.done >= self.total
        if self._epochs > 1:
            self.tally.epochs = self._epochs
            self.tally.means = Tally()
            for row, tags, scores in self._journal.query(partial(scores_by_sample, path=path)):
                for score in scores:
                    self._count_epoch(row, tags, score)

    def halt(self, how: State) -> None:
        """Send no further call. PAUSING waits for those in flight, STOPPING only a little."""
        self.halting = how
        self._news.set()
        for part in self._cast.values():
            part.dispatcher.halt()

    async def drive(self, loading: asyncio.Future[None] | None = None) -> State:
        """Work until every sample is finished, the run is halted, or it cannot go on.

        Args:
            loading: done once the journal has all samples, when they are still
                being added to its end.

        Returns:
            COMPLETE, PAUSED, STOPPED, BUDGET or FAILED; with FAILED, ``failure`` says why.

        Raises:
            EvalbenchError: loading failed, or the journal cannot be written any more.
        """
        self._loading = loading
        self._exhausted = loading is None and self.done == self.total
        for dispatcher in self._parking:
            dispatcher.begin(self)
        try:
            await self._until_done()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        if self._journal.broken:
            raise self._journal.broken
        if loading and loading.done() and not loading.cancelled():
            loading.result()
        return self._rest()

    async def _until_done(self) -> None:
        ends: float | None = None
        while True:
            self._hire()
            if not self._workers and (self._halted() or self._nothing_to_do()):
                return
            if self.failure or self.halting is State.STOPPING:
                ends = ends or time.monotonic() + STOP_GRACE_S
                if time.monotonic() >= ends:
                    return
            if self._workers:
                await asyncio.wait(self._workers, timeout=_LOOK_S)
            else:
                await self._until_something_comes()
            self._dry = False

    async def _until_something_comes(self) -> None:
        if not self._parked:
            await asyncio.sleep(_LOAD_LOOK_S)
            return
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), _PARKED_LOOK_S)

    def _rest(self) -> State:
        """How the run stands when nothing more will be done now."""
        if self.failure:
            return State.FAILED
        if self.halting and self.done < self.total:
            return _RESTS[self.halting]
        if self._parked and self._outstanding():
            return State.WAITING
        if self._rows is not None and self.done < self.total:
            return State.PAUSED
        return State.COMPLETE

    def _nothing_to_do(self) -> bool:
        """Whether no sample can go on, now or (unless nobody wants to wait) later."""
        if not self._exhausted:
            return False
        if not self._woken & self._parked:
            for dispatcher in self._parking:
                # Whatever else is asked waits for what was asked already.
                dispatcher.close_collection()
        if self._woken & self._parked:
            return False
        if self._leave:
            return all(dispatcher.at_rest for dispatcher in self._parking)
        return not self._outstanding()

    def _outstanding(self) -> int:
        return sum(dispatcher.outstanding for dispatcher in self._parking)

    # -- what batches bring, see dispatch.base.Host --------------------------------

    def at_hand(self, sample: Held) -> None:
        """See :class:`evalbench.engine.dispatch.base.Host`."""
        for epoch in {call.key.epoch for call in sample.calls}:
            place = sample.row, epoch
            room = place in self._at_hand or len(self._at_hand) < _MOST_AT_HAND
            # One that is at work may store calls that were not read.
            if room and place in self._parked:
                calls = {call.id: call for call in sample.calls if call.key.epoch == epoch}
                self._at_hand[place] = sample.sample, calls

    def arrived(self, call: CallRow, role: str, reply: Reply) -> None:
        """See :class:`evalbench.engine.dispatch.base.Host`."""
        if reply.outcome is Outcome.ERROR:
            self._final.add(call.id)
        self._count(role, reply, False)
        place = call.row, call.key.epoch
        if place in self._at_hand:
            self._at_hand[place][1][call.id] = call.answered(reply)
        self._wake(place)

    def go_on(self, row: int, epoch: int) -> None:
        """See :class:`evalbench.engine.dispatch.base.Host`."""
        self._at_hand.pop((row, epoch), None)
        self._wake((row, epoch))

    def _wake(self, place: tuple[int, int]) -> None:
        self._woken.add(place)
        self._news.set()

    def give_up(self, error: EvalbenchError) -> None:
        """See :class:`evalbench.engine.dispatch.base.Host`."""
        self.failure = self.failure or error
        self._news.set()
        for part in self._cast.values():
            part.dispatcher.halt()

    def _hire(self) -> None:
        """Start as many workers as the dispatchers want samples in work, and there are samples."""
        missing = self._window() - len(self._workers)
        if missing <= 0 or self._halted():
            return
        self._read_jobs()
        for _ in range(min(missing, len(self._jobs))):
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def _window(self) -> int:
        return max(part.dispatcher.window for part in self._cast.values())

    async def _work(self) -> None:
        """Solve one sample after the other for as long as this worker is wanted."""
        while not self._halted() and len(self._workers) <= self._window():
            self._read_jobs()
            if not self._jobs:
                return
            job = self._jobs.popleft()
            self._hire()
            await self._solve(*job)

    def _read_jobs(self) -> None:
        """Have the next samples and epochs without a score at hand, if there are any just now."""
        if self._jobs or self._read_woken() or self._dry or self._exhausted:
            return
        all_there = self._loading is None or self._loading.done()
        page = self._journal.query(
            partial(
                unfinished,
                path=self._journal.path,
                after=self._last_row,
                epochs=self._epochs,
                most=_PAGE,
                rows=self._rows,
            )
        )
        self._dry = not page
        self._exhausted = self._dry and all_there
        for item in page:
            self._last_row = item.row
            for epoch in item.epochs:
                calls = [call for call in item.calls if call.key.epoch == epoch]
                self._jobs.append((item.row, epoch, item.sample, calls, False))

    def _read_woken(self) -> bool:
        """Have samples at hand whose replies came in; False when there are none."""
        wanted = sorted(self._woken & self._parked)[:_PAGE]
        if not wanted:
            return False
        self._woken.difference_update(wanted)
        self._parked.difference_update(wanted)
        for row, epoch in [place for place in wanted if place in self._at_hand]:
            sample, asked = self._at_hand.pop((row, epoch))
            self._jobs.append((row, epoch, sample, list(asked.values()), True))
            wanted.remove((row, epoch))
        if not wanted:
            return True
        page = self._journal.query(
            partial(
                unfinished,
                path=self._journal.path,
                after=0,
                epochs=self._epochs,
                most=_PAGE,
                rows={row for row, _ in wanted},
            )
        )
        for item in page:
            for epoch in item.epochs:
                if (item.row, epoch) in wanted:
                    calls = [call for call in item.calls if call.key.epoch == epoch]
                    self._jobs.append((item.row, epoch, item.sample, calls, True))
        return True

    async def _solve(
        self, row: int, epoch: int, sample: Sample, calls: list[CallRow], woken: bool
    ) -> None:
        ask = SampleAsk(
            journal=self._journal,
            cast=self._cast,
            row=row,
            epoch=epoch,
            quotes=quotable(sample),
            known=newest(calls),
            halted=self._halted,
            ask_again=self._ask_again,
            final=self._final,
            count=self._count_new if woken else self._count,
            earlier=self._earlier,
        )
        if self.first_sent is None:
            self.first_sent = time.monotonic()
        try:
            score = await self._benchmark.solve(sample, ask)
            self._record(row, epoch, sample, score)
        except BudgetSpent:
            self.halt(State.BUDGET)
        except Halted:
            return
        except Parked:
            self._parked.add((row, epoch))
        except CallFailed as error:
            self._fail(row, epoch, sample, error.reply.error)
        except EvalbenchError as error:
            self.give_up(error)
        except (Exception, SystemExit) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._fail(
                row, epoch, sample, f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
            )

    def _halted(self) -> bool:
        return self.halting is not None or self.failure is not None

    def _count(self, role: str, reply: Reply, from_journal: bool) -> None:
        how = "from_journal" if from_journal else "reused" if reply.reused else "sent"
        self.roles[role][how] += 1
        if from_journal:
            self.from_journal += 1
        elif reply.reused:
            self.reused += 1
        else:
            self.sent += 1
            self.input_tokens += reply.usage.input_tokens or 0
            self.output_tokens += reply.usage.output_tokens or 0
        for note in reply.params:
            held = self.notes.get(note.name)
            if held is None or _FATES.index(note.fate) >= _FATES.index(held["fate"]):
                self.notes[note.name] = {"fate": note.fate, "reason": note.reason}

    def _count_new(self, role: str, reply: Reply, from_journal: bool) -> None:
        """Of a sample that was parked: what it finds in the journal was counted when it arrived."""
        if not from_journal:
            self._count(role, reply, False)

    def _record(self, row: int, epoch: int, sample: Sample, score: Score) -> None:
        told = (("parsed", score.parsed), ("note", score.note))
        detail = {name: value for name, value in told if value}
        self._put(row, epoch, sample, score.outcome, score.values, detail)
        self._answered = True

    def _fail(self, row: int, epoch: int, sample: Sample, error: str) -> None:
        kind = error.partition(":")[0]
        self.errors[kind] = self.errors.get(kind, 0) + 1
        try:
            self._put(row, epoch, sample, Outcome.ERROR, {}, {"error": error})
            self._journal.event("sample-failed", error=kind)
        except JournalError as broken:
            self.give_up(broken)
            return
        if not self._answered and self.errors[kind] >= SAME_FAILURES:
            self.give_up(
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
        self._journal.store_score(row, epoch, sample.tags, outcome, values, detail)
        self.tally.add(sample.tags, outcome, values)
        if self._epochs > 1:
            self._count_epoch(row, sample.tags, (outcome, values))
        self.last_score = time.monotonic()
        self.latest.append((row, epoch))

    def _count_epoch(
        self, row: int, tags: Mapping[str, str], score: tuple[Outcome, Mapping[str, float]]
    ) -> None:
        """Collect the epochs of a sample; once it has them all, count it in the tally's means."""
        scores = self._epochs_of.setdefault(row, [])
        scores.append(score)
        if len(scores) == self._epochs and self.tally.means is not None:
            self.tally.means.add_sample(tags, self._epochs_of.pop(row))

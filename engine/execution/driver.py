"""Drives the samples of one run. Resume is the same code with a fuller journal."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalbench.engine.benchmark import (
    Benchmark,
    CallFailed,
    Score,
    ScoringTimeout,
    error_kind,
    metrics_of,
)
from evalbench.engine.calls import Outcome, Reply
from evalbench.engine.calls.replies import plain_text
from evalbench.engine.compat import override
from evalbench.engine.dispatch.base import BudgetSpent, Halted, Parked, ParkingDispatcher, ReplySink
from evalbench.engine.dispatch.unfetched import not_fetched
from evalbench.engine.errors import (
    EvalbenchError,
    JournalError,
    RunFatal,
    counted,
    system_limit,
)
from evalbench.engine.execution.ask import BoundModel, RunAsks, SampleAsk, newest
from evalbench.engine.execution.backlog import Backlog, Job
from evalbench.engine.execution.progress import RunProgress
from evalbench.engine.execution.reuse import EarlierReplies
from evalbench.engine.execution.scoring_watchdog import Interrupted, ScoringWatchdog, Tell
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.paging import SampleCalls
from evalbench.engine.journal.reader import first_scores
from evalbench.engine.runs.status import State
from evalbench.engine.scoring.tally import Metric

_LOOK_S = 0.1
_LOAD_LOOK_S = 0.005
_PARKED_LOOK_S = 1.0
SAME_FAILURES = 20
"""Failures of one kind, before any success, that end the run."""

STOP_GRACE_S = 10.0
"""Seconds a stop waits for calls in flight: they are paid for, but a stop must end."""

_RESTS = {
    State.PAUSING: State.PAUSED,
    State.STOPPING: State.STOPPED,
    State.BUDGET: State.BUDGET,
}


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """How to drive a run.

    Attributes:
        epochs: how often each sample is asked.
        ask_again: outcomes of stored replies that are asked again.
        rows: work on these samples only, then pause.
        leave: do not wait for batches: exit once everything that can be sent has been sent.
    """

    epochs: int = 1
    ask_again: frozenset[Outcome] = frozenset({Outcome.ERROR})
    rows: Collection[int] | None = None
    leave: bool = False


_ONCE = DriverOptions()


class Driver(ReplySink):
    """Runs the samples of one run, from the first unfinished one to the last.

    Attributes:
        progress: the run's progress.
        halting: set to PAUSING or STOPPING to end after the calls in flight.
        failure: the error that ended the run, if any.
    """

    def __init__(
        self,
        journal: Journal,
        benchmark: Benchmark,
        models: Mapping[str, BoundModel],
        options: DriverOptions = _ONCE,
        *,
        earlier: EarlierReplies | None = None,
        watch: ScoringWatchdog | None = None,
        tell_long: Tell | None = None,
    ) -> None:
        """Set up the driver.

        Args:
            journal: the run's journal.
            benchmark: what is asked, and how it is scored.
            models: the model of each role.
            options: how to drive the run.
            earlier: replies of earlier runs that may be reused; None for none.
            watch: interrupts scoring that takes too long; active once entered.
            tell_long: called when scoring takes long.
        """
        self._journal = journal
        self._benchmark = benchmark
        self._models = models
        self._options = options
        self._watch = watch or ScoringWatchdog()
        self._tell_long = tell_long
        self._hurried = False
        self.halting: State | None = None
        self.failure: EvalbenchError | None = None
        self.progress = RunProgress(models, options.epochs)
        self._backlog = Backlog(journal, options.epochs, options.rows)
        self._workers: set[asyncio.Task[None]] = set()
        self._starting = 0
        self._hiring: asyncio.Handle | None = None
        self._dispatchers = [part.dispatcher for part in models.values()]
        self._parking: Sequence[ParkingDispatcher] = [
            part.dispatcher
            for part in self._models.values()
            if isinstance(part.dispatcher, ParkingDispatcher)
        ]
        self._asks = RunAsks(journal, models, self._halted, options.ask_again, earlier)
        self._news = asyncio.Event()

    def open(self, expected: int | None = None) -> None:
        """Read what the journal already holds: tally, size and tokens.

        Scores based on replies that will be asked again are deleted; the replies are kept.

        Args:
            expected: number of samples, if known; they may still be loading.
        """
        self._journal.forget_scores(self._options.ask_again)
        self.progress.read(self._journal, expected)

    def metrics(self) -> list[Metric]:
        """The benchmark's metrics over the samples scored so far."""
        return self._benchmark.metrics(self.progress.tally)

    def final_metrics(self) -> list[Metric]:
        """Its metrics over all samples; may take long, and can run in a thread.

        Raises:
            DataError: some cannot be computed.
        """
        scored = first_scores(self._journal.path)
        return metrics_of(self._benchmark, self.progress.tally, scored)

    def halt(self, how: State) -> None:
        """Send no more calls. PAUSING waits for those in flight, STOPPING only briefly."""
        self.halting = how
        self._news.set()
        for part in self._models.values():
            part.dispatcher.halt()

    def hurry(self) -> None:
        """Stop now, without waiting for calls in flight."""
        self._hurried = True
        self._news.set()

    async def drive(self, loading: asyncio.Future[None] | None = None) -> State:
        """Work until every sample is finished, the run is halted, or it cannot continue.

        Args:
            loading: done once the journal has all samples, if they are still being added.

        Returns:
            COMPLETE, PAUSED, STOPPED, BUDGET or FAILED; with FAILED, ``failure`` says why.

        Raises:
            EvalbenchError: loading failed, or the journal can no longer be written.
        """
        finished = loading is None and self.progress.done == self.progress.total
        self._backlog.begin(loading, finished=finished)
        for dispatcher in self._parking:
            dispatcher.begin(self)
        try:
            await self._until_done()
        finally:
            if self._hiring:
                self._hiring.cancel()
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
                if self._hurried or time.monotonic() >= ends:
                    return
            if self._workers:
                await asyncio.wait(self._workers, timeout=_LOOK_S)
            else:
                await self._until_something_comes()
            self._backlog.look_again()

    async def _until_something_comes(self) -> None:
        if not self._backlog.parked:
            await asyncio.sleep(_LOAD_LOOK_S)
            return
        self._news.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PARKED_LOOK_S):
                await self._news.wait()

    def _rest(self) -> State:
        """The state of the run when nothing more can be done now."""
        if self.failure:
            return State.FAILED
        if self.halting and not self._finished:
            return _RESTS[self.halting]
        if self._backlog.parked and self._outstanding():
            return State.WAITING
        if self._backlog.parked and (problem := self._not_fetched()):
            self.failure = problem
            return State.FAILED
        if lost := self._backlog.parked:
            self.failure = EvalbenchError(
                f"the replies to {counted(lost, 'sample')} are missing",
                why="no batch holds them",
                hint="resume the run: they are asked again",
            )
            return State.FAILED
        if self._options.rows is not None and not self._finished:
            return State.PAUSED
        return State.COMPLETE

    @property
    def _finished(self) -> bool:
        return self.progress.done >= self.progress.total

    def _nothing_to_do(self) -> bool:
        """Whether no sample can continue, now or (if we wait for batches) later."""
        if not self._backlog.exhausted:
            return False
        if not self._backlog.woken:
            for dispatcher in self._parking:
                # Other work waits for calls that are already in flight.
                dispatcher.close_collection()
        if self._backlog.woken:
            return False
        if self._options.leave:
            return all(dispatcher.at_rest for dispatcher in self._parking)
        return not self._outstanding()

    def _outstanding(self) -> int:
        return sum(dispatcher.outstanding for dispatcher in self._parking)

    def _not_fetched(self) -> EvalbenchError | None:
        """What keeps samples parked for good: results that cannot be fetched."""
        found = [problem for part in self._parking if (problem := part.unfetched())]
        return not_fetched(found, self._journal.path.parent.name) if found else None

    # -- callbacks from batches, see dispatch.base.ReplySink -----------------------

    @override
    def preload(self, samples: Iterable[SampleCalls]) -> None:
        self._backlog.keep(samples)

    @override
    def arrived(self, call: CallRow, role: str, reply: Reply) -> None:
        if reply.outcome is Outcome.ERROR:
            self._asks.final.add(call.id)
        self.progress.count_reply(role, reply)
        self._backlog.wake(call, reply)
        self._news.set()

    @override
    def page_arrived(self) -> None:
        self._hire()

    @override
    def resume_sample(self, row: int, epoch: int) -> None:
        self._backlog.wake_unanswered(row, epoch)
        self._news.set()

    @override
    def give_up(self, error: EvalbenchError) -> None:
        self.failure = self.failure or error
        self._news.set()
        for part in self._models.values():
            part.dispatcher.halt()

    # -- solving ------------------------------------------------------------------

    def _hire(self) -> None:
        """Start as many workers as the dispatchers want concurrent samples, up to what is left."""
        if self._hiring:
            self._hiring.cancel()
            self._hiring = None
        workers, wanted = len(self._workers), self._backlog.read() - self._starting
        if self._backlog.next_is_woken:
            # One worker is enough for samples that have all their replies. Others are joined by as
            # many again in every turn of the loop.
            wanted = min(wanted, max(1, workers - self._starting) - self._starting)
        if wanted <= 0 or self._halted():
            return
        for _ in range(min(wanted, self._window() - workers)):
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            self._starting += 1
            worker.add_done_callback(self._workers.discard)

    def _too_many(self) -> bool:
        """Whether there are more workers than the dispatchers want now; a single one never is."""
        workers = len(self._workers)
        return workers > 1 and workers > self._window()

    def _window(self) -> int:
        if len(self._dispatchers) == 1:
            return self._dispatchers[0].window
        return max(dispatcher.window for dispatcher in self._dispatchers)

    async def _work(self) -> None:
        """Solve samples one after another for as long as this worker is needed."""
        self._starting -= 1
        while not self._halted() and not self._too_many():
            job = self._backlog.next()
            if job is None:
                return
            if self._hiring is None:
                # Those hired now could not begin before the next turn of the loop either.
                self._hiring = asyncio.get_running_loop().call_soon(self._hire_in_passing)
            await self._solve(job)

    def _hire_in_passing(self) -> None:
        try:
            self._hire()
        except EvalbenchError as error:
            self.give_up(error)

    async def _solve(self, job: Job) -> None:
        progress = self.progress
        ask = SampleAsk(
            self._asks,
            job.row,
            job.epoch,
            sample=job.sample,
            known=newest(job.calls),
            count=progress.count_reply,
            # Those of a sample that was parked were counted when they arrived.
            count_stored=None if job.woken else progress.count_stored_reply,
        )
        if progress.first_sent is None:
            progress.first_sent = time.monotonic()
        try:
            solving, seconds = (
                self._benchmark.solve(job.sample, ask),
                self._benchmark.scoring_seconds,
            )
            score = await self._watch.solve(job.row, solving, seconds, self._tell_long)
            self._record(job, score)
        except BudgetSpent:
            self.halt(State.BUDGET)
        except (Halted, Interrupted):
            return
        except Parked:
            self._backlog.park(job.row, job.epoch)
        except CallFailed as error:
            self._fail(job, error.reply.error)
        except EvalbenchError as error:
            self.give_up(error)
        except ScoringTimeout as error:
            self._fail(job, f"{ScoringTimeout.__name__}: {error}")
        except (Exception, SystemExit) as error:
            if limit := system_limit(error):
                self.give_up(limit)
                return
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._fail(job, f"{type(error).__name__}: {error} ({where.name}:{where.lineno})")

    def _halted(self) -> bool:
        return self.halting is not None or self.failure is not None

    def _record(self, job: Job, score: Score) -> None:
        if score.outcome is Outcome.ERROR:  # some of its judge calls failed
            self._fail(job, score.note, score)
        else:
            self._put(job, score.outcome, score.values, score.stored_detail())
            self.progress.solved = True

    def _fail(self, job: Job, error: str, score: Score | None = None) -> None:
        error = plain_text(error)
        kind = error_kind(error)
        alike = self.progress.errors.get(kind, 0) + 1
        self.progress.errors[kind] = alike
        try:
            detail = {"parsed": score.parsed} if score and score.parsed else {}
            values = score.values if score else {}
            self._put(job, Outcome.ERROR, values, {**detail, "error": error})
            self._journal.event("sample-failed", error=kind)
        except JournalError as broken:
            self.give_up(broken)
            return
        if not self.progress.solved and alike >= SAME_FAILURES:
            self.give_up(
                RunFatal(
                    f"the first {SAME_FAILURES} samples all failed in the same way",
                    why=error,
                    hint="fix the cause, then resume; failed samples are asked again",
                )
            )

    def _put(
        self,
        job: Job,
        outcome: Outcome,
        values: Mapping[str, float],
        detail: Mapping[str, Any],
    ) -> None:
        tags = job.sample.tags
        self._journal.store_score(job.row, job.epoch, tags, outcome, values, detail)
        self.progress.count_score(job.row, job.epoch, tags, outcome, values)

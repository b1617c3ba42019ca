"""Fetches the results of a batch. They are paid for: one failure is no reason to lose them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from pathlib import Path

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.results import Results, Survey
from evalbench.engine.dispatch.batch.state import Batch, Stage
from evalbench.engine.dispatch.batch.waits import Abandoned, Waits
from evalbench.engine.dispatch.circuit_breaker import (
    LONGEST_PROBE_WAIT_S,
    LONGEST_S,
    is_provider_down,
)
from evalbench.engine.errors import ProviderError, RunFatal, ServerFault, TransientError
from evalbench.engine.paths import open_private

RETRY_S = 600.0
"""How long a failing download is retried before giving up."""
ONCE_MORE_S = 60.0
"""The same for results that an earlier engine gave up on."""
IN_PASSING_S = 5.0
"""How long an engine that does not wait retries; then a later one continues."""
_FIRST_PAUSE_S = 0.5


class Download:
    """Fetches the results of one batch until they are complete."""

    def __init__(self, batch: Batch, context: BatchContext, waits: Waits) -> None:
        self._batch = batch
        self._context = context
        self._waits = waits
        self._given_up_before = batch.stage is Stage.UNFETCHED
        self._pause = _FIRST_PAUSE_S
        self._waited = 0.0

    @property
    def file(self) -> Path:
        """Where results are written until they are known to be complete."""
        return self._context.folder / f"{self._batch.results_file}.part"

    async def whole(self, job: BatchJob) -> BatchJob:
        """Fetch the complete results of a job; returns the job's latest state.

        Raises:
            RunFatal: no download can succeed until the user acts.
            ProviderError: it kept failing and is given up on, or it lacks calls that the provider
                counts as processed, twice the same.
            Abandoned: it failed, and this engine does not wait.
        """
        short = None
        while True:
            try:
                survey = await self.once(job)
                least = expected(self._batch, job)
                if problem := problem_of(survey, least):
                    raise ServerFault(f"the results of batch {job.id} are not whole", why=problem)
                if survey.lines >= (self._batch.requests if job.succeeded is None else least):
                    return job
                if survey.lines == short:
                    break
                # Cut off at the end of a line, or complete: a second download shows which.
                short = survey.lines
                await self._waits.pause(_FIRST_PAUSE_S)
            except ProviderError as error:
                if needs_user(error):
                    raise
                await self._after(error)
                job = await self._told_anew(job)
        if job.succeeded is None:
            return job
        # By the provider's own counts the missing ones were processed, so they are paid for.
        why = f"{short} of the {least} calls that the provider counts have a result"
        raise ServerFault(f"the results of batch {job.id} are not whole", why=why)

    async def once(self, job: BatchJob) -> Survey:
        """Fetch the results of a job, whatever they are.

        Raises:
            ProviderError: there are none.
        """
        open_private(self.file).close()
        await self._context.api.fetch(job, self.file)
        return await Results(self._context.api, self._batch, self.file).survey()

    async def keep(self) -> None:
        """Put the results where they stay. Cut off in a power cut, calls would be asked again."""
        await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        with self.file.open("rb") as results:
            os.fsync(results.fileno())
        self.file.replace(self._context.folder / self._batch.results_file)

    async def _after(self, error: ProviderError) -> None:
        """Wait before the next attempt, longer each time; raises ``error`` if there is none."""
        batch, context = self._batch, self._context
        if not batch.failing_since:
            batch.failing_since = context.clock()
            await context.put(batch, batch.stage)
        down = isinstance(error, TransientError) and is_provider_down(error)
        pause = max(self._pause * random.uniform(0.5, 1.0), error.retry_after or 0.0)  # noqa: S311
        self._pause = min(LONGEST_PROBE_WAIT_S, 2 * self._pause)
        if context.leave:
            if self._waited + pause > IN_PASSING_S:
                over = context.clock() - batch.failing_since > RETRY_S
                raise error if over or self._given_up_before else Abandoned
        else:
            most = ONCE_MORE_S if self._given_up_before else RETRY_S
            if self._waited + pause > (LONGEST_S if down else most):
                raise error
        self._waited += pause
        await self._waits.report(error, pause)

    async def _told_anew(self, job: BatchJob) -> BatchJob:
        """The job's current state: the location of its results may be published late."""
        with contextlib.suppress(ProviderError):
            now = await self._context.api.poll(job.id, self._batch.model)
            if now.state.over and now.state is not JobState.FAILED:
                return now
        return job


def needs_user(error: ProviderError) -> bool:
    """Whether no download can succeed before the user acts.

    A response that is not the API's does not mean that here: the API created the batch, so
    the address is right.
    """
    return isinstance(error, RunFatal) and not (type(error) is RunFatal and error.status)


def expected(batch: Batch, job: BatchJob) -> int:
    """The minimum number of result lines of a job, by the provider's counts."""
    if job.succeeded is not None:
        return min(batch.requests, job.succeeded + (job.failed or 0))
    return batch.requests if job.state is JobState.ENDED else 0


def problem_of(survey: Survey, least: int) -> str:
    """What is wrong with results that another download may fix; empty if nothing."""
    if not survey.lines:
        return "they are empty" if least else ""
    if survey.cut:
        return "they end in the middle of a line"
    if survey.owner is not None and not survey.ours:
        return "they answer calls of another batch"
    return ""

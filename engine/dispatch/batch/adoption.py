"""Finds the job of a batch at the provider after the response to its creation was lost.

Some providers keep no names. The item names in a job's results show whose it is: ours,
another batch's, or a stranger's.
"""

from __future__ import annotations

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batch.context import BatchContext
from evalbench.engine.dispatch.batch.download import Download
from evalbench.engine.dispatch.batch.state import Batch
from evalbench.engine.dispatch.batch.waits import Waits
from evalbench.engine.errors import ProviderError, RunFatal, ServerFault

_NOBODY = "-"
"""Owner of a job that processed nothing."""


class Adoption:
    """Looks for one batch among the jobs that may be it."""

    def __init__(self, batch: Batch, context: BatchContext, waits: Waits) -> None:
        self._batch = batch
        self._context = context
        self._waits = waits
        self._failing: dict[str, ProviderError] = {}

    async def look(self) -> BatchJob | None:
        """Check each job once; returns ours, once known.

        Jobs known to belong to another batch are removed from ``doubtful``.

        Raises:
            RunFatal: no check can succeed until the user acts.
        """
        batch = self._batch
        owned = self._context.owned()
        for job in list(batch.doubtful):
            try:
                mine = None if job in owned else await self._mine(job)
            except RunFatal:
                raise
            except ProviderError as error:
                self._failing[job] = error
                continue
            self._failing.pop(job, None)
            if mine is not None and self._context.owners.get(job) == batch.name:
                return mine
            if job in owned or job in self._context.owners:
                batch.doubtful.remove(job)
        return None

    def failure(self) -> ProviderError | None:
        """Why none of the remaining jobs could be checked; None if one could."""
        errors = [self._failing.get(job) for job in self._batch.doubtful]
        return None if None in errors else errors[0]

    async def _mine(self, name: str) -> BatchJob | None:
        """The job with this id if it has ended; its owner is known from then on.

        Raises:
            ProviderError: the job or its results cannot be fetched.
        """
        context, batch = self._context, self._batch
        if context.owners.get(name) not in (None, batch.name):
            return None
        job = await context.api.poll(name, batch.model)
        if not job.state.over:
            return None
        if job.state is JobState.FAILED:
            context.owners[name] = _NOBODY
        elif name not in context.owners:
            survey = await Download(batch, context, self._waits).once(job)
            owner = batch.name if survey.ours else survey.owner
            if owner is None:
                raise ServerFault(f"the results of batch {name} cannot be read")
            context.owners[name] = owner
        return job

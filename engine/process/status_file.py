"""A run's status file, kept up to date by the engine that drives the run."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from dataclasses import replace
from typing import Any

from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.cost.budget import Budget
from evalbench.engine.errors import JournalError
from evalbench.engine.execution.binding import RoleBinding
from evalbench.engine.execution.driver import Driver
from evalbench.engine.hardware.gpu import Gpus
from evalbench.engine.journal import Journal
from evalbench.engine.paths import identity
from evalbench.engine.record_schemas import Gauges
from evalbench.engine.runs.folder import RunFolder, process_start
from evalbench.engine.runs.status import State, Status, metrics_json
from evalbench.engine.scoring.tally import Metric

log = logging.getLogger("evalbench")


class StatusFile:
    """The status of a run while it is driven, as others see it.

    Attributes:
        status: the content of the file, now or after the next write; see :meth:`change`.
        metrics_fault: why the benchmark cannot compute its metrics, if it cannot.
    """

    def __init__(
        self,
        folder: RunFolder,
        status: Status,
        binding: RoleBinding,
        budget: Budget,
        journal: Journal,
        *,
        priced: bool,
    ) -> None:
        """Prepare for writing.

        Args:
            folder: the run's folder.
            status: as left by earlier engines, including ``seconds``.
            binding: the dispatchers of the run's calls.
            budget, journal: those of the run.
            priced: whether all its models have known prices, so that spend is known.
        """
        self.status = status
        self.metrics_fault: Exception | None = None
        self._folder = folder
        self._place = identity(folder.path.stat())
        self._binding = binding
        self._budget = budget
        self._journal = journal
        self._priced = priced
        self._seconds_before = status.seconds
        self._driver: Driver | None = None
        self._final: list[Metric] | None = None
        self._gpus = Gpus()
        self._gpu_readings: list[dict[str, Any]] = []

    def follow(self, driver: Driver) -> None:
        """Show this driver's progress from now on."""
        self._driver = driver

    def change(self, **changes: Any) -> None:
        """Change fields of the status, to be written next."""
        self.status = replace(self.status, **changes)

    def set_state(self, state: State) -> None:
        """Record that this process drives the run, and its state."""
        self.change(
            state=state,
            pid=os.getpid(),
            pid_started=process_start(os.getpid()),
            host=socket.gethostname(),
            exit_code=None,
            problem="",
            hook_running=False,
            hook_problem="",
        )
        self.write()

    async def look(self) -> None:
        """Read the GPUs if a model is loaded here, then write."""
        if any(one.here for one in self._binding.locals):
            # The GPU driver may be slow to answer, especially the first time.
            self._gpu_readings = await asyncio.to_thread(self._gpus.read)
        self.write()

    def write(self) -> None:
        """Write the current state.

        What it says about the journal has already been committed: otherwise a kill right now would
        leave a journal that seems to have lost something.
        """
        with contextlib.suppress(JournalError):
            self._journal.flush()
        self.change(replies=self._journal.replies)
        if self._driver:
            self._show_progress(self._driver)
        if self._binding.dispatchers:
            self._show_dispatchers()
        self.store()

    def store(self) -> None:
        """Write the status as it is. A full disk is no reason to end a run.

        It is not written into another folder that has replaced the run's.
        """
        try:
            if identity(self._folder.path.stat()) != self._place:
                log.warning("status of %s not written: another folder is there", self._folder.id)
                return
            self.status = self._folder.write_status(self.status)
        except OSError as error:
            log.warning("status of %s not written: %s", self._folder.id, error)

    def tell_scoring(self, row: int, seconds: int) -> None:
        """Show which sample's scoring does not end. Called during it, so nothing else is known.

        The next time the dispatchers are checked, it is cleared.
        """
        scoring: Gauges = {"scoring": {"row": row, "seconds": seconds}}
        self.change(gauges={**self.status.gauges, **scoring})
        self.store()

    def metrics(self) -> list[Metric]:
        """The metrics so far; empty if the benchmark cannot compute them."""
        if self._driver is None:
            return []
        if self._final is not None:
            return self._final
        try:
            return self._driver.metrics()
        except Exception as error:
            if self.metrics_fault is None:
                log.exception("the metrics of %s cannot be made", self._folder.id)
            self.metrics_fault = error
            return []

    async def finish(self) -> None:
        """Compute the metrics of the complete run, and show those from now on.

        Raises:
            EvalbenchError: some cannot be computed; the others are shown.
        """
        if self._driver and not self.metrics_fault:
            self._final = await asyncio.to_thread(self._driver.final_metrics)
            self.write()

    def _show_progress(self, driver: Driver) -> None:
        progress, money = driver.progress, {}
        if self._priced:
            money["spend_usd"] = float(self._budget.spent)
            money["possible_usd"] = float(self._budget.possible)
        ceiling = self._budget.ceiling
        if ceiling is None and self._budget.pool:
            ceiling = self._budget.pool.ceiling
        self.change(
            total=progress.total,
            done=progress.done,
            failed=progress.failed,
            sent=progress.sent,
            from_journal=progress.from_journal,
            reused=progress.reused,
            input_tokens=progress.input_tokens,
            output_tokens=progress.output_tokens,
            rate=round(progress.rate(), 3),
            seconds=round(self._seconds_before + progress.seconds, 3),
            outcomes=progress.tally.outcomes(),
            errors=progress.errors,
            params=progress.notes,
            roles={
                role: {**counts, "in_flight": self._in_flight(role)}
                for role, counts in progress.roles.items()
            },
            latest=list(progress.latest) or self.status.latest,
            metrics=metrics_json([m for m in self.metrics() if not m.group]),
            budget_usd=None if ceiling is None else float(ceiling),
            **money,
        )

    def _in_flight(self, role: str) -> int:
        """Calls of one role in flight; if roles share a worker, they count for the first."""
        dispatcher = self._binding.dispatchers.get(role)
        return dispatcher.gauges().get("in_flight", 0) if dispatcher else 0

    def _show_dispatchers(self) -> None:
        gauges = self._binding.dispatchers[CANDIDATE].gauges()
        cards = [card for one in self._binding.locals for card in one.cards()]
        if gpus := [*self._gpu_readings, *cards]:
            gauges["gpus"] = gpus
        if self._budget.short:
            gauges["short_of_budget"] = True
        batches = [batch for one in self._binding.batching for batch in one.shown()]
        self.change(gauges=gauges, batches=batches or self.status.batches)

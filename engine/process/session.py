"""One run inside an engine process: opened, checked, driven, and closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import sys
import time
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from evalbench.engine.calls import WorkerProvider
from evalbench.engine.calls.options import seconds_of
from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.cost.budget import Budget, Pool
from evalbench.engine.dispatch.batch import BatchSettings
from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    EvalbenchError,
    JournalError,
    NoCredit,
    RunBusy,
    UsageError,
    error_to_json,
    system_limit,
)
from evalbench.engine.execution.binding import RoleBinding
from evalbench.engine.execution.changes import refuse
from evalbench.engine.execution.driver import Driver, DriverOptions
from evalbench.engine.execution.request import EngineOptions, RunRequest
from evalbench.engine.execution.resuming import open_journal
from evalbench.engine.execution.reuse import EarlierReplies, taken
from evalbench.engine.execution.sample_loading import load_samples
from evalbench.engine.execution.scoring_watchdog import ScoringWatchdog
from evalbench.engine.journal.reader import reused_replies, totals
from evalbench.engine.keys import scrub, strip_environment
from evalbench.engine.process.end_hook import run_hook
from evalbench.engine.process.status_file import StatusFile
from evalbench.engine.runs.folder import Lock, RunFolder
from evalbench.engine.runs.grid import FILE as GRID_FILE
from evalbench.engine.runs.grid import set_budget
from evalbench.engine.runs.status import State, Status, exit_code, metrics_json
from evalbench.engine.telemetry.supervisor import TraceSupervisor

log = logging.getLogger("evalbench")

_STATUS_EVERY_S = 1.0
_COMMANDS_EVERY_S = 0.2


class RunSession:
    """One run inside this engine, from locking it to leaving it at rest."""

    def __init__(self, request: RunRequest, options: EngineOptions, watch: ScoringWatchdog) -> None:
        """Lock a run.

        Args:
            request: the run, and everything passed with it.
            options: the engine's options.
            watch: the watchdog of the whole process.

        Raises:
            RunBusy: another engine is driving it, or the run that this one is a copy of.
        """
        self.folder = folder = RunFolder(request.folder)
        self._secrets = dict(request.secrets)
        self._brought = request
        self._options = options
        self.spec = folder.spec()
        self._roles = self.spec.roles()
        self._lock = Lock(folder)
        try:
            folder.refuse_live_copy()
        except RunBusy:
            self._lock.release()
            raise
        self._driver: Driver | None = None
        self._earlier: EarlierReplies | None = None
        self._halt: State | None = None
        self._letting_go: asyncio.Task[None] | None = None
        self._displaced: JournalError | None = None
        self._storing: set[asyncio.Task[None]] = set()
        self._storing_one = asyncio.Lock()
        self._watch = watch
        self._budget = Budget()
        self._traces = TraceSupervisor(folder, self.spec, self._secrets)

    @property
    def _status(self) -> Status:
        return self._shown.status

    @property
    def local(self) -> bool:
        """Whether the model runs on this machine."""
        return any(
            part.key_need is None and isinstance(part.provider(), WorkerProvider)
            for part in self._roles.values()
        )

    async def open(self) -> None:
        """Open or create the journal and check that a resumed run has not changed.

        Raises:
            EvalbenchError: see :func:`evalbench.engine.execution.resuming.open_journal`.
        """
        options = self._options
        self._opened = opened = await open_journal(
            self.folder, self.spec, self.folder.status(), self._brought, options
        )
        self.journal = opened.journal
        self._binding = RoleBinding(
            self.spec,
            self._secrets,
            opened,
            self._budget,
            folder=self.folder,
            on_changes=self._take_changes,
            batch_settings=BatchSettings(
                poll_s=self.spec.settings.batch_poll,
                fallback_s=seconds_of("batch_fallback", self.spec.settings.batch_fallback),
                wait_for_server_s=seconds_of("wait_for_server", self.spec.settings.wait_for_server),
                leave=options.leave,
                cancel=frozenset(options.cancel),
                resend_unfetched=options.resend_unfetched,
            ),
        )
        self._count_spent()
        priced = all(opened.prices.get(role) for role in self._roles)
        self._shown = StatusFile(
            self.folder,
            opened.status,
            self._binding,
            self._budget,
            opened.journal,
            priced=priced,
        )

    def claim(self) -> None:
        """Record in the status file that this engine has the run, before its turn comes."""
        # Any command there was meant for an engine that is gone.
        self.folder.take_commands()
        self._shown.set_state(State.CREATED)

    def _take_changes(self, changes: list[str]) -> None:
        """A local model was loaded differently than before: continue only if that was accepted.

        Raises:
            RunChanged: it was not.
        """
        if not self._options.accept_changes:
            raise refuse(changes, 0, self._status.done)
        self._shown.change(mixed=True)
        self.journal.set(mixed=True)
        self.journal.event("changes-accepted", changes=changes, asked_again=0)

    async def run(self) -> int:
        """Drive the run until it is at rest. Returns its exit code."""
        begun = time.time()
        self._shown.set_state(State.RUNNING)
        beat = asyncio.create_task(self._heartbeat())
        state, problem = State.FAILED, None
        try:
            state, problem = await self._drive()
            if isinstance(problem, BadKey | NoCredit | AccessDenied):
                keys = self._brought.keys
                sources = ", ".join(dict.fromkeys(str(keys[role]) for role in self._roles))
                problem.why = f"{problem.why} ({sources})" if problem.why else sources
        except EvalbenchError as error:
            problem = error
        except Exception as error:
            # A bug in a plug-in or in our code must not bring down the other runs.
            log.exception("run %s crashed", self.folder.id)
            problem = system_limit(error) or self._crash(error)
        finally:
            beat.cancel()
        log.info("run %s %s after %.1f s", self.folder.id, state, time.time() - begun)
        return await self._rest(state, problem)

    async def _drive(self) -> tuple[State, EvalbenchError | None]:
        """Load what is missing, then drive until nothing is left to do."""
        loading: asyncio.Task[None] | None = None
        self._budget.begin()
        try:
            opened, expected = self._opened, self._expected_samples()
            if not opened.loaded:
                samples, total = self._brought.samples, self._status.total
                assert samples is not None
                loading = asyncio.create_task(
                    load_samples(self.journal, samples, self.spec, opened.benchmark, total)
                )
                if expected is None:
                    await loading
            self._earlier = await self._earlier_replies()
            self._driver = driver = Driver(
                self.journal,
                opened.benchmark,
                self._binding.bound_models(),
                DriverOptions(
                    epochs=self.spec.settings.epochs,
                    ask_again=self._options.ask_again,
                    rows=self._pilot_rows(),
                    leave=self._options.leave,
                ),
                earlier=self._earlier,
                watch=self._watch,
                tell_long=self._shown.tell_scoring,
            )
            self._shown.follow(driver)
            driver.open(opened.size if opened.loaded else expected)
            driver.progress.notes = dict(self._status.params)
            self.journal.event("started", pid=os.getpid(), host=socket.gethostname())
            self.journal.flush()
            await self._traces.start()
            if self._halt:
                driver.halt(self._halt)
            if self._displaced:
                driver.give_up(self._displaced)
            return await driver.drive(loading), driver.failure
        finally:
            if loading:
                loading.cancel()
                await asyncio.wait({loading})
            self._budget.end()
            await self._binding.close()
            if self._earlier:
                self._earlier.close()

    async def _earlier_replies(self) -> EarlierReplies | None:
        """Replies of earlier runs, if they may be reused."""
        if not self.spec.settings.reuse:
            return None
        across = self.spec.settings.reuse_across_modes
        earlier = EarlierReplies(self._roles, self.journal, across_modes=across)
        known = self.journal.query(taken)
        await asyncio.to_thread(earlier.collect, self.folder.path.parent, self.folder.id, known)
        self.journal.event("reuse-found", replies=earlier.found)
        return earlier

    def _count_spent(self) -> None:
        """Continue from what earlier engines spent.

        Calls that they left in flight count at their worst case.
        """
        meters = self._binding.meters
        if cut := self.journal.close_cut_calls(meters.uncertain):
            self.journal.event("cut-off", calls=cut, note="in flight when the engine ended")
        before = self.journal.query(partial(totals, path=self.journal.path))
        self._budget.spent = before.cost
        self._budget.possible = before.possible + meters.added + self._opened.lost_usd
        self._budget.ceiling = self.spec.settings.budget

    def share(self, pool: Pool) -> None:
        """Use money that is shared with other runs, before any run starts."""
        self._budget.pool = pool
        pool.join(self._budget)

    def _expected_samples(self) -> int | None:
        """How many samples a fresh run will have, so that it can start while they load.

        None if the journal already has samples: those must be matched with the data first.
        """
        any_there = self.journal.query(lambda s: s.db.execute("SELECT 1 FROM sample").fetchone())
        if any_there or not self._status.total:
            return None
        return int(self._status.total // self.spec.settings.epochs)

    def _pilot_rows(self) -> frozenset[int] | None:
        """The samples of a pilot, by their rows in a fresh journal; None for all."""
        size = self._status.total // self.spec.settings.epochs
        if self._options.pilot is None or self._options.pilot >= size:
            return None
        draw = random.Random(self.spec.settings.seed)  # noqa: S311
        self.journal.event("pilot-started", samples=self._options.pilot)
        return frozenset(draw.sample(range(1, size + 1), self._options.pilot))

    def halt(self, how: State) -> None:
        """Pause or stop this run; one that is at rest stops sending traces."""
        if self._letting_go:
            self._traces.give_up()
            return
        if self._halt in (how, State.STOPPING):
            return
        self._halt = how
        if self._driver:
            self._driver.halt(how)
            self._shown.set_state(how)

    def hurry(self) -> None:
        """Stop this run; if it is already stopping, do not wait for calls in flight."""
        if self._halt is State.STOPPING and self._driver:
            self._driver.hurry()
        self.halt(State.STOPPING)

    def obey(self, command: dict[str, Any]) -> None:
        """Execute one request from a command file; it is acknowledged as an event."""
        match command:
            case {"do": "stop"}:
                self.halt(State.STOPPING)
            case {"do": "pause"}:
                self.halt(State.PAUSING)
            case {"do": "concurrency", "value": int() | None as calls} if self._can_send(calls):
                self._binding.dispatchers[CANDIDATE].set_concurrency(calls)
                self._remember("concurrency", calls)
            case {"do": "look"}:
                for dispatcher in self._binding.batching:
                    dispatcher.look_now()
            case {"do": "cancel-batch", "value": str() as name} if self._cancelled(name):
                pass
            case {"do": "budget", "value": float() | int() | None as limit} if self._may_budget():
                self._set_budget(None if limit is None else Decimal(str(limit)))
            case _:
                self.journal.event("command-refused", command=command)
                return
        self.journal.event("command", **command)

    def _may_budget(self) -> bool:
        """Not if it is that of a grid of which other engines drive runs."""
        return self._budget.pool is not None or not (self.folder.path / GRID_FILE).exists()

    def _set_budget(self, limit: Decimal | None) -> None:
        """Change the budget: that of all runs of the grid, if it belongs to one."""
        if pool := self._budget.pool:
            pool.ceiling = limit
            task = asyncio.create_task(self._store_shared_budget(limit))
            self._storing.add(task)
            task.add_done_callback(self._storing.discard)
        else:
            self._budget.ceiling = limit
            self._remember("budget", limit)

    async def _store_shared_budget(self, limit: Decimal | None) -> None:
        """Store it in all folders of the grid. Other runs may be many, so not in this thread."""
        async with self._storing_one:
            try:
                await asyncio.to_thread(set_budget, self.folder, limit)
            except (OSError, UsageError) as error:
                log.warning("the budget of %s not stored: %s", self.folder.id, error)

    def _cancelled(self, batch: str) -> bool:
        return any(dispatcher.cancel(batch) for dispatcher in self._binding.batching)

    def _remember(self, name: str, value: Any) -> None:
        """Store a setting that was changed live, for a later resume."""
        self.spec = self.spec.changed(**{name: value})
        try:
            self.folder.write_spec(self.spec)
        except OSError as error:
            log.warning("the spec of %s not written: %s", self.folder.id, error)

    def _can_send(self, calls: int | None) -> bool:
        """Whether this many calls can be in flight now."""
        return CANDIDATE in self._binding.dispatchers and (calls is None or calls > 0)

    async def _heartbeat(self) -> None:
        """Write status at 1 Hz and read commands at 5 Hz, as long as the folder exists."""
        due = 0.0
        while True:
            if time.monotonic() >= due:
                self._check_place()
                await self._shown.look()
                due = time.monotonic() + _STATUS_EVERY_S
            for command in self.folder.take_commands():
                with contextlib.suppress(JournalError):
                    self.obey(command)
            await asyncio.sleep(_COMMANDS_EVERY_S)

    def _check_place(self) -> None:
        """End the run if its results could no longer be found."""
        if self._displaced:
            return
        try:
            self.journal.check_place()
        except JournalError as error:
            self._displaced = error
            log.error("run %s stops: %s", self.folder.id, error)
            if self._driver:
                self._driver.give_up(error)

    async def _rest(self, state: State, problem: EvalbenchError | None) -> int:
        shown = self._shown
        if self._storing:
            await asyncio.wait(self._storing)
        shown.write()
        if shown.metrics_fault and not problem:
            state, problem = State.FAILED, self._crash(shown.metrics_fault)
        if state is State.COMPLETE:
            try:
                await shown.finish()
            except EvalbenchError as error:
                log.warning("run %s: %s", self.folder.id, error)
                self.journal.event("metrics", **error_to_json(error))
            await self._write_results()
        shown.change(state=state, problem=str(problem) if problem else "", gauges={})
        shown.change(hook_running=bool(self._options.on_end))
        code = exit_code(shown.status, problem)
        shown.change(exit_code=code)
        with contextlib.suppress(JournalError):
            if problem:
                self.journal.event("problem", **error_to_json(problem))
            self.journal.event("ended", state=state, exit_code=code)
            self.journal.set(
                state=state,
                exit_code=code,
                seconds=shown.status.seconds,
                metrics=metrics_json(shown.metrics()),
                outcomes=shown.status.outcomes,
                params=shown.status.params,
                reused=self.journal.query(partial(reused_replies, path=self.journal.path)),
            )
            self.journal.flush()
        if self._traces.any:
            # The run is over, whatever happens to its traces.
            shown.change(tracing=True)
            shown.store()
        self._letting_go = asyncio.create_task(self._let_go())
        if not self._traces.any:
            await self._letting_go
        return code

    async def _write_results(self) -> None:
        """Write the results to the requested files, in a child process that knows the formats."""
        name, place = self._opened.benchmark.results_format, self.spec.options.get("results_dir")
        if not name or not place:
            return
        self.journal.flush()
        report: dict[str, Any] = {"error": "its process ended"}
        try:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "evalbench.engine.formats.results_child",
                *(str(self.folder.path), name, str(place)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=strip_environment(os.environ),
            )
            output, _ = await child.communicate()
            if child.returncode == 0:
                report = orjson.loads(output)
        except (OSError, ValueError) as error:
            report = {"error": str(error)}
        with contextlib.suppress(JournalError):
            self.journal.event("results", folder=str(place), **report)

    async def _let_go(self) -> None:
        """Give the last traces a little time, then reduce the journal to one file."""
        with contextlib.suppress(JournalError):
            await self._tell_the_rest()
        if self._driver:
            self._driver.progress.keep(self.journal)
        with contextlib.suppress(JournalError):
            await self.journal.close()
        self._shown.change(tracing=False)
        self._shown.store()
        self._lock.release()

    async def let_go(self) -> None:
        """Wait until all work for a run at rest is done."""
        if self._letting_go:
            await self._letting_go

    async def run_hook(self) -> None:
        """Run the command of ``--on-end`` for the run at rest; its status says if that failed."""
        if not self._options.on_end:
            return
        problem = await run_hook(self._options.on_end, self.folder)
        await self.let_go()
        try:
            lock = Lock(self.folder)
        except (RunBusy, UsageError) as error:
            # The run has gone on already, perhaps by that command; or its folder is gone.
            log.info("%s", error)
            return
        try:
            status = self.folder.status()
            if status.pid == os.getpid() and status.at_rest:
                self._shown.status = replace(status, hook_running=False, hook_problem=problem)
                self._shown.store()
        finally:
            lock.release()

    async def _tell_the_rest(self) -> None:
        """Wait briefly for the last traces; how many arrived is recorded in any case."""
        if reports := await self._traces.end():
            self._shown.change(traces=reports)
            self.journal.set(traces=reports)
            for report in reports:
                self.journal.event("traces", **report)

    def _crash(self, error: Exception) -> EvalbenchError:
        problem = EvalbenchError(
            "the run ended by a fault of this program or a plug-in",
            why=scrub(f"{type(error).__name__}: {error}", self._brought.private_texts()),
            hint=f"see {self.folder.engine_log}; nothing that was answered is lost",
        )
        problem.exit_code = 6
        return problem

    async def abandon(self) -> None:
        """Release a run that was opened but will not be driven."""
        if hasattr(self, "journal"):
            with contextlib.suppress(JournalError):
                await self.journal.close()
        self._lock.release()

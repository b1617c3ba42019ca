"""One run inside an engine process: opened, checked, driven, brought to rest."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from evalbench.engine.calls import Outcome, WorkerProvider
from evalbench.engine.casting import Casting
from evalbench.engine.changes import differences, paid_again, refuse
from evalbench.engine.dataset import read_header
from evalbench.engine.dispatch.base import Dispatcher
from evalbench.engine.dispatch.batch import Batching, BatchWishes
from evalbench.engine.dispatch.local import Local
from evalbench.engine.driver import Driver
from evalbench.engine.errors import (
    AccessDenied,
    BadKey,
    EvalbenchError,
    JournalError,
    NoCredit,
    UsageError,
    error_to_json,
)
from evalbench.engine.gpu import Gpus
from evalbench.engine.journal import Journal
from evalbench.engine.journal.paging import count_scores
from evalbench.engine.journal.reader import Shelf, Totals, reused_replies
from evalbench.engine.journal.schema import create
from evalbench.engine.keys import KeyRef
from evalbench.engine.loading import load_samples
from evalbench.engine.money.budget import Budget
from evalbench.engine.money.unit_prices import UnitPrices
from evalbench.engine.record import identity, record
from evalbench.engine.reuse import EarlierReplies, taken
from evalbench.engine.roles import CANDIDATE
from evalbench.engine.runfolder import Lock, RunFolder, process_start
from evalbench.engine.scoring.tally import Metric
from evalbench.engine.settings import build_benchmark, seconds_of
from evalbench.engine.status import State, exit_code, metrics_json
from evalbench.engine.traces.beside import Traces

log = logging.getLogger("evalbench")

_STATUS_EVERY_S = 1.0
_COMMANDS_EVERY_S = 0.2


class HostedRun:
    """One run inside this engine, from lock to rest."""

    def __init__(self, request: dict[str, Any]) -> None:
        """Take the lock of one run of the request.

        Raises:
            RunBusy: another engine drives it.
        """
        self.folder = folder = RunFolder(Path(request["folder"]))
        self._keys = {role: KeyRef.from_json(key["ref"]) for role, key in request["keys"].items()}
        self._secrets: dict[str, str] = {
            role: key["secret"] for role, key in request["keys"].items()
        }
        self._samples = Path(request["samples"]) if request["samples"] else None
        self._prices = _prices_from_json(request["prices"])
        self._fits: dict[str, Any] = request.get("fits") or {}
        self._accept = False
        self.spec = folder.spec()
        self._cast = self.spec.cast()
        self.status = folder.status()
        self._lock = Lock(folder)
        self._seconds_before = 0.0
        self._driver: Driver | None = None
        self._casting: Casting | None = None
        self._earlier: EarlierReplies | None = None
        self._halt: State | None = None
        self._metrics_fault: Exception | None = None
        self._budget = Budget()
        self._traces = Traces(folder, self.spec, self._secrets)
        self._gpus = Gpus()
        self._gpu_readings: list[dict[str, Any]] = []

    @property
    def local(self) -> bool:
        """Whether the model runs on this machine."""
        return any(
            part.key_need is None and isinstance(part.provider(), WorkerProvider)
            for part in self._cast.values()
        )

    async def open(
        self,
        *,
        accept_changes: bool,
        retry: frozenset[Outcome],
        pilot: int | None = None,
        leave: bool = False,
        cancel: Sequence[str] = (),
    ) -> None:
        """Open or make the journal and check that a resumed run is still the same.

        Args:
            accept_changes: go on although it is not.
            retry: outcomes of stored replies to ask again, besides errors.
            pilot: work on so many samples, drawn at random, and pause.
            leave: do not wait for batches.
            cancel: batches to cancel first.

        Raises:
            RunChanged: when it is not and ``accept_changes`` is false.
            JournalError: when the journal cannot be used.
        """
        fresh = not self.folder.journal.exists()
        if fresh and self.status.done:
            raise JournalError(
                f"the journal of run {self.folder.id} is gone",
                why="everything would be asked and paid again",
                cure="put it back, or start again with evalbench run",
            )
        if fresh:
            create(self.folder.journal)
        self.journal = Journal(self.folder.journal)
        self._ask_again = frozenset({Outcome.ERROR}) | retry
        self._pilot = pilot
        self._leave = leave
        self._cancel = cancel
        stored = self.journal.query(Shelf.meta)
        self._loaded = bool(stored.get("loaded"))
        self._size: int | None = stored.get("samples") if self._loaded else None
        # The status file knows of an engine that was killed, the journal of one that rested.
        self._seconds_before = max(stored.get("seconds", 0.0), self.status.seconds)
        header = read_header(self._samples) if self._samples else None
        self._shared = header.shared if header else stored.get("shared")
        benchmark = build_benchmark(self.spec, self._shared)
        data_hash = header.data_hash if header else stored.get("data_hash", "")
        now = identity(self.spec, benchmark, data_hash)
        self.benchmark = benchmark
        if "identity" in stored:
            await self._check_changes(stored["identity"], now, accept_changes)
        if not self._loaded and header is None:
            raise UsageError(
                f"run {self.folder.id} still needs its data, which is gone",
                cure="put it back where it was, or start again with evalbench run",
            )
        self._accept = accept_changes
        self._fits = self._fits or stored.get("fits") or {}
        if "prices" in stored:
            # Prices are those of the run's beginning, so that its spend is one sum.
            held = _prices_from_json(stored["prices"] or {})
            now_in = {role: one.mode for role, one in self._prices.items() if one}
            self._prices |= {
                role: one
                for role, one in held.items()
                if one and now_in.get(role, one.mode) == one.mode
            }
        facts: dict[str, Any] = {
            "prices": {role: one.to_json() if one else None for role, one in self._prices.items()},
            "identity": now,
            "fits": self._fits,
            "spec": self.spec.to_json(),
            "keys": {role: self._keys[role].to_json() for role in self._cast},
        }
        if header:
            facts |= {
                "record": record(self.spec, benchmark, header),
                "shared": header.shared,
                "data_hash": header.data_hash,
            }
        if fresh or "created" not in stored:
            facts["created"] = self.status.created or time.time()
        self.journal.set(**facts)
        if self.journal.rollback_on:
            self.journal.event("rollback-journal", file_system=self.journal.rollback_on)

    def claim(self) -> None:
        """Say in the status file that this engine drives the run, before it is its turn."""
        # Whatever lies there was meant for an engine that is gone.
        self.folder.take_commands()
        self._set_state(State.CREATED)

    async def _check_changes(
        self, stored: dict[str, Any], now: dict[str, Any], accept: bool
    ) -> None:
        changes = differences(stored, now)
        roles = {role: (part.ref, part.overrides()) for role, part in self._cast.items()}
        epochs = self.spec.get("epochs")
        lost = await paid_again(
            self.journal, self.benchmark, roles, epochs, self._ask_again, self._size
        )
        if not changes and not lost:
            return
        finished = self.journal.query(partial(count_scores, ignoring=self._ask_again))
        if not accept and (lost or finished):
            raise refuse(changes, lost, finished)
        self.status.mixed = self.status.mixed or bool(finished)
        if stored["data"] != now["data"] or _selection(stored) != _selection(now):
            # Stored as not loaded, so that a crash before the end of loading is made good.
            self._loaded = False
        if epochs < stored["settings"]["epochs"]:
            self.journal.forget_epochs(epochs)
        self.journal.set(mixed=self.status.mixed, loaded=self._loaded)
        self.journal.event("changes-accepted", changes=changes, asked_again=lost)

    def _take_changes(self, changes: list[str]) -> None:
        """A local model was loaded otherwise than before: go on only when that was accepted.

        Raises:
            RunChanged: it was not.
        """
        if not self._accept:
            raise refuse(changes, 0, self.status.done)
        self.status.mixed = True
        self.journal.set(mixed=True)
        self.journal.event("changes-accepted", changes=changes, asked_again=0)

    async def run(self) -> int:
        """Drive the run to rest. Returns its exit code."""
        begun = time.time()
        self._set_state(State.RUNNING)
        beat = asyncio.create_task(self._beat())
        state, problem = State.FAILED, None
        try:
            state, problem = await self._drive()
            if isinstance(problem, BadKey | NoCredit | AccessDenied):
                told = ", ".join(dict.fromkeys(str(self._keys[role]) for role in self._cast))
                problem.why = f"{problem.why} ({told})" if problem.why else told
        except EvalbenchError as error:
            problem = error
        except Exception as error:
            # A fault of a plug-in or of ours must not take the other runs down.
            log.exception("run %s crashed", self.folder.id)
            problem = _crash(error, self.folder)
        finally:
            beat.cancel()
        log.info("run %s %s after %.1f s", self.folder.id, state, time.time() - begun)
        return await self._rest(state, problem)

    async def _drive(self) -> tuple[State, EvalbenchError | None]:
        """Load what is missing, then drive until nothing is left to do."""
        loading: asyncio.Task[None] | None = None
        try:
            expected = self._expected_samples()
            if not self._loaded:
                assert self._samples is not None
                loading = asyncio.create_task(
                    load_samples(
                        self.journal, self._samples, self.spec, self.benchmark, self.status.total
                    )
                )
                if expected is None:
                    await loading
            self._casting = casting = Casting(
                self._cast,
                self._secrets,
                self._prices,
                self._budget,
                journal=self.journal,
                folder=self.folder,
                fits=self._fits,
                on_changes=self._take_changes,
                wishes=BatchWishes(
                    poll_s=self.spec.get("batch_poll"),
                    fallback_s=seconds_of(self.spec.get("batch_fallback")),
                    leave=self._leave,
                    cancel=frozenset(self._cancel),
                ),
                images="images" in self.benchmark.needs(),
                address=self.spec.get("address"),
            )
            self._earlier = await self._earlier_replies()
            self._driver = driver = Driver(
                self.journal,
                self.benchmark,
                casting.contestants(),
                epochs=self.spec.get("epochs"),
                ask_again=self._ask_again,
                rows=self._pilot_rows(),
                leave=self._leave,
                earlier=self._earlier,
            )
            self._close_cut_calls(casting)
            driver.open(self._size if self._loaded else expected)
            self._open_budget(driver.progress.before)
            driver.progress.notes = dict(self.status.params)
            self.journal.event("started", pid=os.getpid(), host=socket.gethostname())
            self.journal.flush()
            await self._traces.start()
            if self._halt:
                driver.halt(self._halt)
            return await driver.drive(loading), driver.failure
        finally:
            if loading:
                loading.cancel()
                await asyncio.wait({loading})
            if self._casting:
                await self._casting.close()
            if self._earlier:
                self._earlier.close()

    async def _earlier_replies(self) -> EarlierReplies | None:
        """Replies of earlier runs, where they may be taken."""
        if not self.spec.get("reuse"):
            return None
        across = self.spec.get("reuse_across_modes")
        earlier = EarlierReplies(self._cast, self.journal, across_modes=across)
        held = self.journal.query(taken)
        await asyncio.to_thread(earlier.collect, self.folder.path.parent, self.folder.id, held)
        self.journal.event("reuse-found", replies=earlier.found)
        return earlier

    def _close_cut_calls(self, casting: Casting) -> None:
        """Count calls that an earlier engine left in flight at their worst case."""
        if cut := self.journal.close_cut_calls(casting.worst_case):
            self.journal.event("cut-off", calls=cut, note="in flight when the engine ended")

    def _open_budget(self, before: Totals) -> None:
        """Go on with what earlier engines spent."""
        self._budget.spent, self._budget.possible = before.cost, before.possible
        limit = self.spec.get("budget")
        self._budget.ceiling = None if limit is None else Decimal(str(limit))

    def _expected_samples(self) -> int | None:
        """How many samples a fresh run will have, so that it can begin while they are loaded.

        None when the journal has samples already: those must be brought in
        line with the data first.
        """
        any_there = self.journal.query(lambda s: s.db.execute("SELECT 1 FROM sample").fetchone())
        if any_there or not self.status.total:
            return None
        return int(self.status.total // self.spec.get("epochs"))

    def _pilot_rows(self) -> frozenset[int] | None:
        """The samples of a pilot, by their rows in a fresh journal; None: all."""
        size = self.status.total // self.spec.get("epochs")
        if self._pilot is None or self._pilot >= size:
            return None
        draw = random.Random(self.spec.get("seed"))  # noqa: S311
        self.journal.event("pilot-started", samples=self._pilot)
        return frozenset(draw.sample(range(1, size + 1), self._pilot))

    @property
    def _dispatchers(self) -> Mapping[str, Dispatcher]:
        return self._casting.dispatchers if self._casting else {}

    def halt(self, how: State) -> None:
        """Pause or stop this run."""
        if self._halt in (how, State.STOPPING):
            return
        self._halt = how
        if self._driver:
            self._driver.halt(how)
            self._set_state(how)

    def obey(self, command: dict[str, Any]) -> None:
        """Carry out one request from a command file; it is acknowledged as an event."""
        match command:
            case {"do": "stop"}:
                self.halt(State.STOPPING)
            case {"do": "pause"}:
                self.halt(State.PAUSING)
            case {"do": "concurrency", "value": int() | None as calls} if self._can_send(calls):
                self._dispatchers[CANDIDATE].set_concurrency(calls)
                self._remember("concurrency", calls)
            case {"do": "look"}:
                for dispatcher in self._batching:
                    dispatcher.look_now()
            case {"do": "cancel-batch", "value": str() as name} if self._cancelled(name):
                pass
            case {"do": "budget", "value": float() | int() | None as limit}:
                self._budget.ceiling = None if limit is None else Decimal(str(limit))
                self._remember("budget", None if limit is None else float(limit))
            case _:
                self.journal.event("command-refused", command=command)
                return
        self.journal.event("command", **command)

    @property
    def _batching(self) -> list[Batching]:
        return [one for one in self._dispatchers.values() if isinstance(one, Batching)]

    @property
    def _locals(self) -> list[Local]:
        return [one for one in self._dispatchers.values() if isinstance(one, Local)]

    def _cancelled(self, batch: str) -> bool:
        return any(dispatcher.cancel(batch) for dispatcher in self._batching)

    def _remember(self, name: str, value: Any) -> None:
        """Keep a setting that was changed live for whoever resumes the run."""
        self.spec = replace(self.spec, common={**self.spec.common, name: value})
        try:
            self.folder.write_spec(self.spec)
        except OSError as error:
            log.warning("the spec of %s not written: %s", self.folder.id, error)

    def _can_send(self, calls: int | None) -> bool:
        """Whether so many calls can be in flight, now."""
        return CANDIDATE in self._dispatchers and (calls is None or calls > 0)

    async def _beat(self) -> None:
        """Status once a second, commands five times a second."""
        due = 0.0
        while True:
            for command in self.folder.take_commands():
                with contextlib.suppress(JournalError):
                    self.obey(command)
            if time.monotonic() >= due:
                if any(one.here for one in self._locals):
                    # The driver may be slow to answer, the first time above all.
                    self._gpu_readings = await asyncio.to_thread(self._gpus.read)
                self._write_status()
                due = time.monotonic() + _STATUS_EVERY_S
            await asyncio.sleep(_COMMANDS_EVERY_S)

    def _metrics(self) -> list[Metric]:
        """The metrics so far; none when the benchmark cannot make them."""
        if self._driver is None:
            return []
        try:
            return self._driver.metrics()
        except Exception as error:
            if self._metrics_fault is None:
                log.exception("the metrics of %s cannot be made", self.folder.id)
            self._metrics_fault = error
            return []

    def _set_state(self, state: State) -> None:
        self.status.state = state
        self.status.pid = os.getpid()
        self.status.pid_started = process_start(os.getpid())
        self.status.host = socket.gethostname()
        self.status.exit_code = None
        self.status.problem = ""
        self._write_status()

    def _write_status(self) -> None:
        status, driver = self.status, self._driver
        if driver:
            progress = driver.progress
            status.total = progress.total
            status.done = progress.done
            status.failed = progress.failed
            status.sent = progress.sent
            status.from_journal = progress.from_journal
            status.reused = progress.reused
            status.input_tokens = progress.input_tokens
            status.output_tokens = progress.output_tokens
            status.rate = round(progress.rate(), 3)
            status.seconds = round(self._seconds_before + progress.seconds, 3)
            status.outcomes = progress.tally.outcomes()
            status.errors = progress.errors
            status.params = progress.notes
            status.roles = {role: self._role_gauges(role) for role in self._cast}
            status.latest = list(progress.latest) or status.latest
            status.metrics = metrics_json([m for m in self._metrics() if not m.group])
            if all(self._prices.get(role) for role in self._cast):
                status.spend_usd = float(self._budget.spent)
                status.possible_usd = float(self._budget.possible)
            ceiling = self._budget.ceiling
            status.budget_usd = None if ceiling is None else float(ceiling)
        if self._dispatchers:
            status.gauges = self._dispatchers[CANDIDATE].gauges()
            cards = [card for one in self._locals for card in one.cards()]
            if told_of := [*self._gpu_readings, *cards]:
                status.gauges["gpus"] = told_of
            if told := [batch for one in self._batching for batch in one.shown()]:
                status.batches = told
        try:
            self.folder.write_status(status)
        except OSError as error:
            log.warning("status of %s not written: %s", self.folder.id, error)

    def _role_gauges(self, role: str) -> dict[str, int]:
        """Calls of one role; where roles share a worker, those in flight count for the first."""
        assert self._driver
        dispatcher = self._dispatchers.get(role)
        flying = dispatcher.gauges().get("in_flight", 0) if dispatcher else 0
        return {**self._driver.progress.roles[role], "in_flight": flying}

    async def _rest(self, state: State, problem: EvalbenchError | None) -> int:
        status = self.status
        self._write_status()
        if self._metrics_fault and not problem:
            state, problem = State.FAILED, _crash(self._metrics_fault, self.folder)
        status.state = state
        status.problem = str(problem) if problem else ""
        status.exit_code = exit_code(status, problem)
        status.gauges = {}
        with contextlib.suppress(JournalError):
            if problem:
                self.journal.event("problem", **error_to_json(problem))
            self.journal.event("ended", state=state, exit_code=status.exit_code)
            self.journal.set(
                state=state,
                exit_code=status.exit_code,
                seconds=status.seconds,
                metrics=metrics_json(self._metrics()),
                outcomes=status.outcomes,
                params=status.params,
                reused=self.journal.query(partial(reused_replies, path=self.journal.path)),
            )
            await self._tell_the_rest()
        with contextlib.suppress(JournalError):
            await self.journal.close()
        try:
            self.folder.write_status(status)
        except OSError as error:
            log.warning("status of %s not written: %s", self.folder.id, error)
        self._lock.release()
        return status.exit_code

    async def _tell_the_rest(self) -> None:
        """Wait a little for the last traces; how many arrived is recorded, whatever they did."""
        self.journal.flush()
        if told := await self._traces.end():
            self.status.traces = told
            self.journal.set(traces=told)
            for report in told:
                self.journal.event("traces", **report)

    async def abandon(self) -> None:
        """Let go of a run that was opened but will not be driven."""
        if hasattr(self, "journal"):
            with contextlib.suppress(JournalError):
                await self.journal.close()
        self._lock.release()


def _crash(error: Exception, folder: RunFolder) -> EvalbenchError:
    problem = EvalbenchError(
        "the run ended by a fault of this program or a plug-in",
        why=f"{type(error).__name__}: {error}",
        cure=f"see {folder.engine_log}; nothing that was answered is lost",
    )
    problem.exit_code = 6
    return problem


def _prices_from_json(stored: Mapping[str, Any]) -> dict[str, UnitPrices | None]:
    return {role: UnitPrices.from_json(one) if one else None for role, one in stored.items()}


def _selection(stored: dict[str, Any]) -> list[Any]:
    settings = stored["settings"]
    return [settings[name] for name in ("limit", "shuffle", "seed", "filters")]

"""The Python API: start, follow and read runs from a program.

A run is a separate process and continues when the program, or the notebook, ends. A :class:`Run`
observes it from outside, as every screen does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from evalbench.engine.benchmarks.custom.file import is_custom
from evalbench.engine.calls import Outcome
from evalbench.engine.config import registry
from evalbench.engine.config.spec import BUDGET, COMMON, RunSpec, make_spec, parse_model
from evalbench.engine.data.dataset import ProgressCallback
from evalbench.engine.errors import (
    EvalbenchError,
    JournalError,
    NotApproved,
    RunUnfinished,
    SpecError,
    error_from_json,
    nearest,
)
from evalbench.engine.installed import require
from evalbench.engine.journal import Event, JournalReader
from evalbench.engine.paths import expand
from evalbench.engine.preflight import CheckedSpec
from evalbench.engine.process import launch
from evalbench.engine.process.stopping import Stop
from evalbench.engine.runs.folder import INTERRUPTED, UNREADABLE, RunFolder, find_run
from evalbench.engine.runs.follower import ResultFollower
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.result import Result, result_of
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.status import AT_REST, State, Status
from evalbench.engine.scoring.tally import Metric
from evalbench.settings import Settings

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")

_LOOK_S = 0.2


def start_run(
    benchmark: str | Path,
    model: str,
    *,
    budget: float | None = None,
    approve: bool = False,
    foreground: bool = False,
    run_dir: str | Path | None = None,
    progress: ProgressCallback | None = None,
    plugin_options: Mapping[str, Any] | None = None,
    **settings: Unpack[Settings],
) -> Run:
    """Start a run. Returns as soon as its engine is ready to send calls.

    Works in a script, in a thread and inside a running event loop (a notebook).
    Keys are looked up as on the command line: environment, then keychain.

    Args:
        benchmark: name of an installed benchmark, or path of your own TOML file.
        model: ``provider/name`` or ``provider/name@revision``.
        budget: hard limit on the cost of the whole run, in US dollars.
        approve: start even though the run costs money and has no budget.
        foreground: stop the run, cleanly, when this program ends or the returned object is deleted.
        run_dir: folder for run folders (default: the user's).
        progress: callback for preparation progress: (what, done, total or None).
        plugin_options: settings of a benchmark or provider that does not ship with evalbench, by
            name.
        **settings: settings of the run, the benchmark and the provider, and the benchmark's
            filters, named after their flags: ``limit=100``, ``seed=1``,
            ``judge=["openai/gpt-5-mini"]``, ``subject="anatomy"``.

    Raises:
        NotApproved: the run would cost money, and neither ``budget`` nor ``approve`` is given.
        SpecError: a setting is unknown or has an invalid value.
        KeyUnavailable: a key is needed and was not found.
        EvalbenchError: any other reason it cannot start; no call was sent.
    """
    spec = _spec_of(benchmark, model, {"budget": budget, **settings, **(plugin_options or {})})
    allowed = approve or spec.settings.budget is not None

    def start() -> launch.Engine:
        return launch.launch_runs(
            spec,
            options=launch.EngineOptions(foreground=foreground),
            run_dir=None if run_dir is None else Path(run_dir),
            progress=progress,
            approve=None if allowed else _refuse_costs,
            typed=list(settings),
        )

    engine = _apart(start)
    return Run(engine.runs[0], engine)


def open_run(name: str | Path = "last", *, run_dir: str | Path | None = None) -> Run:
    """Open an existing run: running, at rest, or left by a crash.

    Args:
        name: its folder, its id, an unambiguous part of the id, or ``last``.
        run_dir: folder for run folders (default: the user's).

    Raises:
        RunNotFound: no run matches, or several do.
    """
    return Run(find_run(str(name), None if run_dir is None else Path(run_dir)))


class Run:
    """A run, as returned by :func:`start_run` and :func:`open_run`.

    Iterate over it to get results as they arrive, oldest first, until it is at rest::

        for result in run:
            print(result.outcome, result.score)

    In a coroutine, ``async for`` does not block the event loop.

    Every method that reads raises ``JournalError`` if the run's file cannot be read.
    """

    def __init__(self, folder: RunFolder, engine: launch.Engine | None = None) -> None:
        """``engine``: the engine process, if this program started it."""
        self._folder = folder
        self._engine = engine
        self._stop: Stop | None = None

    def __repr__(self) -> str:
        status = self.status
        text = f"<Run {self.id}: {self.state}, {status.done} of {status.total}"
        for name, metric in list(status.metrics.items())[:1]:
            if metric["value"] is not None:
                text += f", {name} {metric['value']:.4g}"
        return text + ">"

    @property
    def id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self._folder.id

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self._folder.path

    @property
    def spec(self) -> RunSpec:
        """The settings the run was started with."""
        return self._folder.spec()

    @property
    def status(self) -> Status:
        """The current status, freshly read: samples done, spend, rate and more."""
        return self._folder.status()

    @property
    def state(self) -> str:
        """``running``, ``complete``, … see :class:`evalbench.engine.runs.status.State`.

        ``interrupted`` if its engine exited without bringing it to rest,
        ``unreadable`` if its files are damaged.
        """
        self._reap()
        if (state := self._folder.shown_state(self.status)) != INTERRUPTED:
            return state
        # It may have come to rest between the two reads.
        return self._folder.shown_state(self.status)

    @property
    def at_rest(self) -> bool:
        """Whether no engine is working on it."""
        return _rests(self.state)

    @property
    def metrics(self) -> dict[str, Metric]:
        """Every metric by name, the headline first; partial values while the run is going on."""
        with RunReader(self._folder) as reader:
            return {name: Metric(name, **metric) for name, metric in reader.metrics.items()}

    @property
    def score(self) -> Metric | None:
        """The headline metric: ``value`` with its 95 % interval, ``low`` to ``high``.

        None if there is none yet.
        """
        return next(iter(self.metrics.values()), None)

    @property
    def facts(self) -> dict[str, Any]:
        """What the journal records about the run as a whole.

        Includes ``record`` (versions, hashes of data and prompts, seed), ``prices``, ``params``
        (how each parameter was handled), ``identity`` and ``models``. Where keys are stored is left
        out.
        """
        with RunReader(self._folder) as reader:
            return reader.meta

    def events(self) -> list[Event]:
        """The run's events, in order: waits, errors, batches, state changes."""
        with RunReader(self._folder) as reader:
            return list(reader.events())

    def samples(self) -> Iterator[Result]:
        """All samples in order, in their current state; those without a score are ``waiting``.

        With several epochs, each epoch of a sample is a separate result.
        """
        with RunReader(self._folder) as reader:
            headline = reader.headline
            for sample in reader.walk():
                for epoch in sorted(sample.scores) or [0]:
                    yield result_of(reader, sample, epoch, headline)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row per sample and epoch, with the columns of the CSV export."""
        require("data", "to_pandas()", "pandas")
        import pandas

        with RunReader(self._folder) as reader:
            types = columns(reader)
            table = pandas.DataFrame.from_records(list(rows(reader)), columns=list(types))
        # Counts that were not reported are missing, not zero.
        kinds = {int: "Int64", float: "float64"}
        return table.astype({name: kinds[kind] for name, kind in types.items() if kind in kinds})

    def __iter__(self) -> Iterator[Result]:
        news = ResultFollower(self._folder)
        while True:
            # Checked first, so that everything written before the end is still read.
            rests = self._rests_now()
            yield from news.read()
            if rests:
                return
            time.sleep(_LOOK_S)

    async def __aiter__(self) -> AsyncIterator[Result]:
        news = ResultFollower(self._folder)
        while True:
            rests = await asyncio.to_thread(self._rests_now)
            for result in await asyncio.to_thread(news.read):
                yield result
            if rests:
                return
            await asyncio.sleep(_LOOK_S)

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run is at rest, then return it.

        Args:
            timeout: maximum wait in seconds; None: no limit.

        Raises:
            RunUnfinished: the timeout expired; the run continues.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self._rests_now():
            if end is not None and time.monotonic() >= end:
                raise RunUnfinished(
                    f"run {self.id} is still running after {timeout:g} s", state=self.state
                )
            time.sleep(_LOOK_S)
        return self

    def raise_for_state(self) -> Run:
        """Return the run if it is complete.

        A complete run may contain failed samples; see ``status.failed``.

        Raises:
            RunUnfinished: it is running, stopped, paused or interrupted, reached its budget, or is
                waiting for batches.
            EvalbenchError: the error that ended it, as its original class.
        """
        state = self.state
        if state == State.COMPLETE:
            return self
        if state == State.FAILED and (error := self._problem()):
            raise error
        raise RunUnfinished(
            f"run {self.id} is not complete: {state}",
            why=self.status.problem,
            hint="resume it with: run.resume()" if _rests(state) else "run.wait()",
            state=state,
        )

    def _problem(self) -> EvalbenchError | None:
        with contextlib.suppress(JournalError), JournalReader(self._folder.journal) as journal:
            if event := journal.newest_event("problem"):
                return error_from_json(dict(event.body))
        return None

    def stop(self) -> None:
        """Ask the engine to stop and return at once; calls in flight get a few seconds.

        Waiting for the run afterwards, with :meth:`wait` or by iterating over its results, also
        enforces the stop: an engine that does not respond within ten seconds gets a signal, and is
        then killed. A second call escalates at once.
        """
        if self._stop:
            self._stop.insist()
        else:
            self._stop = Stop(self._folder)

    def _rests_now(self) -> bool:
        """Whether the run is at rest; enforces a stop that was requested."""
        if self.at_rest:
            self._stop = None
            return True
        if self._stop:
            self._stop.look()
        return False

    def pause(self) -> None:
        """Ask the engine to pause and return at once; calls in flight are allowed to finish."""
        launch.stop_run(self._folder, pause=True)

    def resume(
        self,
        *,
        budget: float | None = None,
        accept_changes: bool = False,
        accept_loss: bool = False,
        retry: Iterable[str] = (),
        allow_hosts: Iterable[str] = (),
        resend_unfetched: bool = False,
        foreground: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Run:
        """Resume the run and return it; only calls without an answer are sent.

        The original approval still applies: the budget, or the consent to any cost.

        Args:
            budget: new limit for the whole run, in US dollars; None: unchanged.
            accept_changes: resume even though settings, data or templates changed; marks the run
                mixed.
            accept_loss: resume even though replies that were paid for are missing; they are paid
                for again.
            retry: outcomes to ask again besides errors: ``refused``, ``truncated``,
                ``filtered``.
            allow_hosts: hosts named in the run's folder that keys may be sent to; required for
                those where a key has not been used before.
            resend_unfetched: resend calls of batches whose results cannot be fetched; they may be
                charged twice.
            foreground, progress: as in :func:`start_run`.

        Raises:
            SpecError: a key would be sent to a host that is not allowed; nothing was sent.
            RunChanged: something changed and that was not accepted; nothing was sent.
            JournalError: replies are missing and that was not accepted; nothing was sent.
            RunBusy: an engine is already driving it.
            EvalbenchError: any other reason it cannot be resumed.
        """
        spec = None
        if budget is not None:
            old = self.spec
            spec = old.changed(budget=BUDGET.parse(budget))
        options = launch.EngineOptions(
            accept_changes=accept_changes,
            accept_loss=accept_loss,
            retry=tuple(_retried(name) for name in retry),
            resend_unfetched=resend_unfetched,
            foreground=foreground,
        )

        def resume() -> launch.Engine:
            return launch.resume_run(
                self._folder,
                options,
                spec=spec,
                allow_hosts=list(allow_hosts),
                progress=progress,
            )

        self._engine = _apart(resume)
        return self

    def _reap(self) -> None:
        """Reap an engine process of ours that has ended."""
        if self._engine is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._engine.pid, os.WNOHANG)


def _rests(state: str) -> bool:
    return state in (INTERRUPTED, UNREADABLE) or state in AT_REST


def _apart(work: Callable[[], T]) -> T:
    """The result of ``work``; runs in a thread if an event loop is running, as it runs its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    found: list[T] = []
    failed: list[BaseException] = []

    def in_thread() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def _spec_of(benchmark: str | Path, model: str, settings: Mapping[str, Any]) -> RunSpec:
    """A validated spec, with every setting assigned to its owner.

    Args:
        benchmark: name of an installed benchmark, or path of your own TOML file.
        model: ``provider/name[@revision]``.
        settings: settings of the run, the benchmark, the provider and the filters, by name.

    Raises:
        SpecError: a setting is unknown or has an invalid value.
    """
    given = dict(settings)
    name = str(benchmark)
    if name.endswith(".toml"):
        if not is_custom(expand(name)):
            raise SpecError(
                "benchmark",
                f"{name} does not describe a benchmark",
                hint="a suite is started with: evalbench run FILE.toml",
            )
        given["file"], name = name, "custom"
    bench = registry.benchmark_class(name)
    provider = registry.provider_class(parse_model(model).provider)
    common = {option.name for option in COMMON}
    owners = (
        ("options", {option.name for option in bench.options}),
        ("provider_options", {option.name for option in provider.options}),
        ("filters", set(bench.filters)),
    )
    apart: dict[str, dict[str, Any]] = {owner: {} for owner, _ in owners}
    own: dict[str, Any] = {}
    for setting, value in given.items():
        takers = [apart[owner] for owner, names in owners if setting in names]
        if setting in common:
            takers.append(own)
        if not takers:
            known = common.union(*(names for _, names in owners))
            raise SpecError(
                setting,
                f"neither a run nor {name} nor {provider.name} has a setting {setting!r}",
                hint=nearest(setting, known),
            )
        for taker in takers:
            taker[setting] = _texts(value)
    return make_spec(name, model, **apart, **own)


def _texts(value: Any) -> Any:
    """A setting with its paths as strings, the form in which settings are stored."""
    if isinstance(value, list | tuple):
        return [_texts(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def _refuse_costs(checked: Sequence[CheckedSpec]) -> None:
    """Refuse a run that costs money without approval.

    Raises:
        NotApproved: with the possible cost.
    """
    for one in checked:
        if one.estimate is None:
            continue
        cost = one.estimate["batch" if one.mode == "batch" else "realtime"]
        low, high = cost or (None, None)
        most = "" if high is None else f"{high:.2f}" if high >= 0.01 else "less than 0.01"
        price = f"may cost up to {most} dollars" if most else "costs an unknown amount"
        raise NotApproved(
            f"this run {price}, which needs approval",
            hint="start it with budget=DOLLARS, a ceiling, or with approve=True",
            low=low,
            high=high,
        )


def _retried(name: str) -> Outcome:
    """The outcome with this name, if it can be retried.

    Raises:
        SpecError: it cannot be retried.
    """
    names = [outcome.value for outcome in launch.RETRY]
    if name not in names:
        raise SpecError(
            "retry", f"{name!r} cannot be asked again", why="one of " + ", ".join(names)
        )
    return Outcome(name)

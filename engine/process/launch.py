"""Starts and controls engine processes.

An engine is a separate process in its own session: it survives the terminal, the SSH
connection and the program that started it.
"""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from evalbench.engine import preflight
from evalbench.engine.benchmark import hub_set
from evalbench.engine.calls import Outcome
from evalbench.engine.calls.options import Option
from evalbench.engine.config import registry
from evalbench.engine.config.spec import RunSpec
from evalbench.engine.cost import modes
from evalbench.engine.data.dataset import ProgressCallback
from evalbench.engine.errors import (
    EvalbenchError,
    KeyUnavailable,
    UsageError,
    error_from_json,
    system_limit,
)
from evalbench.engine.execution.request import (
    EngineOptions as EngineOptions,
)
from evalbench.engine.execution.request import (
    EngineRequest,
    RunRequest,
)
from evalbench.engine.files import read_plain
from evalbench.engine.keys import strip_environment
from evalbench.engine.paths import open_private
from evalbench.engine.process.run_keys import (
    AskHosts,
    ResolvedKey,
    check_hosts,
    environment_variables,
    find_keys,
    remember_specs,
    secrets_for_prices,
)
from evalbench.engine.runs.folder import Lock, RunFolder, find_run, make_run
from evalbench.engine.runs.grid import Grid, join_grid, leave_grid

RETRY = (Outcome.REFUSED, Outcome.TRUNCATED, Outcome.FILTERED)
"""Outcomes that a resume can ask again on request; errors are always asked again."""


PILOT = Option(
    "pilot",
    int,
    None,
    "run N random samples first, then project the cost of the rest and ask",
    minimum=2,
)
"""A single sample says nothing about how much samples differ."""


_AS_BEGUN = EngineOptions()


@dataclass(slots=True)
class Engine:
    """A started engine.

    Attributes:
        pid: process id of the engine.
        runs: the runs it drives.
        hold: with ``foreground``, the pipe that keeps it running; closing it stops the runs.
    """

    pid: int
    runs: list[RunFolder]
    hold: IO[bytes] | None = None


def launch_runs(
    spec: RunSpec | Sequence[RunSpec],
    *,
    options: EngineOptions = _AS_BEGUN,
    run_dir: Path | None = None,
    progress: ProgressCallback | None = None,
    approve: Callable[[Sequence[preflight.CheckedSpec]], None] | None = None,
    begun: Mapping[int, RunFolder] | None = None,
    typed: Collection[str] = (),
    grid: Grid | None = None,
) -> Engine:
    """Check the specs, prepare their data, and start one engine for all of them.

    Returns when every run is locked and about to start.

    Args:
        spec: one or more, see :func:`evalbench.engine.config.spec.make_spec`.
        options: the engine's options; a pilot has at least 2 samples.
        run_dir: parent folder of the run folders (default: the user's).
        progress: called with the progress of preparation: (what, done, total or None).
        approve: called with the facts found about the specs and estimates, before anything
            starts; raises to cancel.
        begun: runs to resume instead of starting new ones, by the index of their spec.
        typed: names of settings given by the user now; other addresses may come from the
            environment, where a key is sent only after the user has allowed it.
        grid: the group of runs that these belong to, new and resumed ones.

    Raises:
        RunChanged: the files that a run was started with are missing or have changed.
        UsageError: anything wrong with the request; nothing was started.
        ProviderError: the provider refuses the model.
    """
    specs = [spec] if isinstance(spec, RunSpec) else list(spec)
    if not specs:
        raise UsageError("there is nothing to run")
    PILOT.parse(options.pilot)
    all_keys = find_keys(specs)
    checked = preflight.check(
        specs, progress, estimate=approve is not None, secrets=secrets_for_prices(all_keys)
    )
    specs = [
        modes.in_mode(one, done.mode) if modes.is_open(one) and done.mode else one
        for one, done in zip(specs, checked, strict=True)
    ]
    if approve:
        approve(checked)
    if variables := environment_variables(specs, typed):
        check_hosts(specs, variables, all_keys=all_keys, typed=typed, environment=True)
    remember_specs(specs, all_keys)
    folders = [
        (begun or {}).get(place) or make_run(one, run_dir, total=done.count * one.settings.epochs)
        for place, (one, done) in enumerate(zip(specs, checked, strict=True))
    ]
    if grid:
        for folder in folders:
            join_grid(folder, grid)
    runs = list(zip(folders, checked, strict=True))
    return _spawn(runs, all_keys, options)


def resume_run(
    run: str | RunFolder,
    options: EngineOptions = _AS_BEGUN,
    *,
    progress: ProgressCallback | None = None,
    spec: RunSpec | None = None,
    typed: Collection[str] = (),
    allow_hosts: Collection[str] = (),
    ask_hosts: AskHosts | None = None,
) -> Engine:
    """Resume a run: only calls without an answer are sent.

    The folder may come from someone else. So a key is sent only to the provider's own host, to
    this machine, and to hosts where it has been used before, unless others are allowed.

    Args:
        run: a folder, or anything :func:`evalbench.engine.runs.folder.find_run` accepts.
        options: which changes are accepted and what is asked again.
        progress: see :func:`launch_runs`.
        spec: the spec to continue with, if it differs from the stored one.
        typed: names of settings of ``spec`` that did not come from the folder.
        allow_hosts: hosts named in the folder that keys may be sent to.
        ask_hosts: asks whether keys may be sent to other hosts; None to refuse.

    Raises:
        SpecError: a key would be sent to a host that is not allowed; nothing was sent.
        RunChanged: something changed and that was not accepted; nothing was sent.
        JournalError: replies are missing and that was not accepted; nothing was sent.
        RunBusy: an engine is already driving it.
        UsageError: there is no model to ask, because the answers were imported.
    """
    folder = run if isinstance(run, RunFolder) else find_run(run)
    folder.refuse_links()
    _refuse_imported(folder)
    before = folder.spec()
    wanted = spec or before
    try:
        all_keys = find_keys([wanted])
    except KeyUnavailable:
        if wanted != before or not _nothing_left(folder, options):
            raise
        all_keys = [{}]
    check_hosts(
        [wanted],
        f"run {folder.id}",
        all_keys=all_keys,
        typed=typed,
        allow=allow_hosts,
        ask=ask_hosts,
    )
    (checked,) = _look_again([wanted], all_keys, progress)
    if wanted != before:
        folder.write_spec(wanted)
    try:
        return _spawn([(folder, checked)], all_keys, options)
    except EvalbenchError:
        if wanted != before:
            folder.write_spec(before)
        raise


def _nothing_left(folder: RunFolder, options: EngineOptions) -> bool:
    """Whether an unchanged run has nothing to ask, and so needs no key."""
    again = options.retry or options.accept_changes or options.accept_loss
    return folder.status().finished and not again


def _refuse_imported(folder: RunFolder) -> None:
    # Imported here because nothing else needs the journal, and it is slow to import.
    from evalbench.engine.journal import JournalReader

    if not folder.journal.exists():
        return
    with JournalReader(folder.journal) as journal:
        imported = journal.meta("imported")
    if imported:
        raise UsageError(
            f"run {folder.id} was imported; it has no model to call",
            why=f"its answers are those in {imported['source']}",
            hint=f"re-score it: evalbench score {folder.id}",
        )


def resume_runs(
    folders: Sequence[RunFolder],
    options: EngineOptions = _AS_BEGUN,
    *,
    progress: ProgressCallback | None = None,
    allow_hosts: Collection[str] = (),
    ask_hosts: AskHosts | None = None,
) -> Engine:
    """Resume several unchanged runs in one engine; see :func:`resume_run`."""
    for folder in folders:
        folder.refuse_links()
    specs = [folder.spec() for folder in folders]
    all_keys = find_keys(specs)
    who = "run " + ", ".join(folder.id for folder in folders)
    check_hosts(specs, who, all_keys=all_keys, allow=allow_hosts, ask=ask_hosts)
    checked = _look_again(specs, all_keys, progress)
    return _spawn(list(zip(folders, checked, strict=True)), all_keys, options)


def _look_again(
    specs: Sequence[RunSpec],
    all_keys: Sequence[Mapping[str, ResolvedKey]],
    progress: ProgressCallback | None,
) -> list[preflight.CheckedSpec | None]:
    """Check runs to be resumed; those whose files are gone use only their journals."""
    there = [spec for spec in specs if all(file.exists() for file in _files(spec))]
    keys = [keys for spec, keys in zip(specs, all_keys, strict=True) if spec in there]
    found = iter(
        preflight.check(there, progress, secrets=secrets_for_prices(keys)) if there else ()
    )
    return [next(found) if spec in there else None for spec in specs]


def _files(spec: RunSpec) -> list[Path]:
    data = spec.settings.data
    named = [Path(data)] if data and not hub_set(data) else []
    return [*named, *spec.option_files()]


def _spawn(
    runs: Sequence[tuple[RunFolder, preflight.CheckedSpec | None]],
    all_keys: Sequence[Mapping[str, ResolvedKey]],
    options: EngineOptions,
) -> Engine:
    folders = [folder for folder, _ in runs]
    request = EngineRequest(
        [
            RunRequest(
                folder.path,
                checked.file if checked else None,
                {role: key.ref for role, key in keys.items()},
                {role: key.secret for role, key in keys.items()},
                checked.prices if checked else {},
                checked.fits if checked else {},
            )
            for (folder, checked), keys in zip(runs, all_keys, strict=True)
        ],
        options,
        registry.installed(),
    )
    read_end, write_end = os.pipe()
    try:
        for folder in folders[1:]:
            with open_private(folder.engine_log, "ab") as other:
                other.write(f"driven with {folders[0].id}: see {folders[0].engine_log}\n".encode())
        with open_private(folders[0].engine_log, "ab") as log:
            child = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "evalbench.engine.process.main",
                    "--ready-fd",
                    str(write_end),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(write_end,),
                env=strip_environment(os.environ),
                start_new_session=True,
            )
    except OSError as error:
        os.close(read_end)
        what = f"cannot write to {folders[0].path}"
        raise system_limit(error, what) or UsageError(
            what, why=error.strerror or str(error)
        ) from None
    finally:
        os.close(write_end)
    try:
        line = _hand_over(child, request, read_end)
    except BaseException:
        # The caller was interrupted: nothing would know about this engine.
        child.terminate()
        raise
    assert child.stdin
    if not line:
        raise EvalbenchError(
            "the engine did not start",
            why=_last_line(folders[0].engine_log),
            hint="evalbench doctor",
        )
    message: dict[str, Any] = orjson.loads(line)
    if "error" in message:
        child.wait()
        raise error_from_json(message["error"])
    # The engine outlives this object on purpose.
    child.returncode = 0
    if not options.foreground:
        child.stdin.close()
    return Engine(message["ready"], folders, child.stdin if options.foreground else None)


def _hand_over(child: subprocess.Popen[bytes], request: EngineRequest, read_end: int) -> bytes:
    """Send an engine its request; returns its one-line answer, empty if it died first."""
    assert child.stdin
    with os.fdopen(read_end, "rb") as ready:
        try:
            child.stdin.write(orjson.dumps(request.to_json()) + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            return b""
        return ready.readline()


def _last_line(log: Path) -> str:
    try:
        lines = read_plain(log).decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def stop_run(folder: RunFolder, *, pause: bool = False) -> bool:
    """Ask a run's engine to stop (or pause). False if no engine is running.

    Either way no more calls are sent. A pause waits for every call in flight, a stop only a
    few seconds.
    """
    if folder.live_pid() is None:
        return False
    folder.command("pause" if pause else "stop")
    return True


def delete_run(folder: RunFolder) -> None:
    """Delete a run's folder with everything in it.

    What it has cost still counts in the budget that it shares with other runs.

    Raises:
        RunBusy: an engine is driving the run.
        UsageError: the folder cannot be deleted.
    """
    lock = Lock(folder)
    try:
        leave_grid(folder)
        shutil.rmtree(folder.path)
    except OSError as error:
        raise UsageError(
            f"{folder.path} cannot be removed", why=error.strerror or str(error)
        ) from None
    finally:
        lock.release()


def wait_for_rest(folder: RunFolder, seconds: float) -> bool:
    """Wait until no engine drives the run. False if the time ran out first."""
    end = time.monotonic() + seconds
    while folder.live_pid() is not None:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def logout_warning() -> str:
    """A warning if ending this login session would kill the engine, else empty.

    With ``KillUserProcesses=yes``, systemd-logind ends all of a user's processes at logout,
    unless lingering is enabled for the user.
    """
    if not os.environ.get("XDG_SESSION_ID"):
        return ""
    user = os.environ.get("USER", "")
    if user and Path(f"/var/lib/systemd/linger/{user}").exists():
        return ""
    kills = False
    files = [
        Path("/etc/systemd/logind.conf"),
        *sorted(Path("/etc/systemd/logind.conf.d").glob("*.conf")),
    ]
    for file in files:
        parser = configparser.ConfigParser(strict=False)
        try:
            parser.read(file, "utf-8")
            kills = parser.getboolean("Login", "KillUserProcesses", fallback=kills)
        except (configparser.Error, ValueError, OSError):
            continue
    if not kills:
        return ""
    return (
        "this system ends your processes when you log out, the run included; "
        "allow it to stay with: loginctl enable-linger"
    )

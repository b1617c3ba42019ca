"""A run's folder: its files, finding runs, the status file, the lock, and engine liveness.

The folder is the only channel between an engine and other programs::

    spec.json      the spec
    journal.db     everything that happened (evalbench.engine.journal)
    status.json    the summary for lists, replaced at most once a second
    batches/       requests and results of provider batches, as sent and received
    commands/      requests to a live engine, one file each
    grid.json      the grid it belongs to, see evalbench.engine.runs.grid
    lock           held by the engine while it runs
    engine.log, worker.log
    report.html    written by ``evalbench report`` by default
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evalbench.engine.errors import (
    NO_SPACE,
    EvalbenchError,
    RunBusy,
    RunNotFound,
    UsageError,
    system_limit,
)
from evalbench.engine.field_checks import Misfit
from evalbench.engine.files import (
    RECORD,
    SETTINGS,
    check_plain,
    parse_json,
    read_plain,
    why_unread,
)
from evalbench.engine.paths import absolute, expand, make_private, runs_dir, write_file
from evalbench.engine.record_schemas import COMMAND
from evalbench.engine.runs.status import DETAILS, State, Status

if TYPE_CHECKING:
    from evalbench.engine.config.spec import RunSpec

_LETTING_GO_S = 20.0
"""Longer than a run at rest may need to send its last traces."""
INTERRUPTED = "interrupted"
"""Shown as the state of a run that is not at rest although no engine drives it."""

UNREADABLE = "unreadable"
"""Shown as the state of a run whose files are damaged, or were edited to invalid values."""

_COMING_UP_S = 10.0
"""A new run without an engine after this time will not get one."""

STALE_S = 30.0
"""An engine on another machine whose status is older than this is considered dead."""


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        """The run's id: the folder's name."""
        return self.path.name

    @property
    def journal(self) -> Path:
        """The journal file."""
        from evalbench.engine.journal.schema import FILE

        return self.path / FILE

    @property
    def engine_log(self) -> Path:
        """The engine's log."""
        return self.path / "engine.log"

    @property
    def batches(self) -> Path:
        """Folder for the files of provider batches."""
        return self.path / "batches"

    @property
    def worker_log(self) -> Path:
        """Output of the local worker and its libraries."""
        return self.path / "worker.log"

    def refuse_links(self) -> None:
        """Refuse a folder whose files are links, before anything is written to or sent from them.

        It may come from someone else: through a link, a log could be appended to any of the
        user's files, and any file sent as a batch.

        Raises:
            UsageError: names the first link.
        """
        for folder in (self.path, self.batches):
            for entry in folder.iterdir() if folder.is_dir() else ():
                if entry.is_symlink():
                    raise UsageError(
                        f"{entry} is a link",
                        why="the files of a run lie in its own folder; through a link others"
                        " would be read or written",
                        hint="put the file itself in its place, if you trust it",
                    )

    def spec(self) -> RunSpec:
        """The stored spec.

        Raises:
            RunNotFound: the folder is not a run.
        """
        # Lists of runs need no specs, and what they import is slow to load.
        from evalbench.engine.config.spec import RunSpec

        try:
            return RunSpec.from_json(parse_json(read_plain(self.path / "spec.json", SETTINGS)))
        except (OSError, ValueError) as error:
            raise RunNotFound(
                f"{self.path} is not a readable run",
                why=f"spec.json: {why_unread(error)}",
                hint=self.how_to_remove,
            ) from None

    @property
    def how_to_remove(self) -> str:
        """A hint for a run that cannot be read."""
        return f"mend it, or remove it: rm -r {shlex.quote(str(self.path))}"

    def write_spec(self, spec: RunSpec) -> None:
        """Store the spec atomically."""
        write_file(
            self.path / "spec.json", orjson.dumps(spec.to_json(), option=orjson.OPT_INDENT_2)
        )

    def status(self) -> Status:
        """The last status written; a new one if there is none.

        If it cannot be read, a new one with ``unreadable`` set to the reason.
        """
        try:
            raw = parse_json(read_plain(self.path / "status.json", RECORD))
            return Status.from_json(raw)
        except FileNotFoundError:
            return Status(self.id)
        except (OSError, ValueError) as error:
            return Status(self.id, unreadable=f"status.json: {why_unread(error)}")

    def write_status(self, status: Status) -> Status:
        """Replace the status file; if the disk is full, overwrite the old one in place.

        Returns:
            The status as written, with the time in ``updated``.
        """
        status = replace(status, updated=time.time())
        path = self.path / "status.json"
        try:
            write_file(path, orjson.dumps(status.to_json()))
        except OSError as error:
            if error.errno not in NO_SPACE or not path.exists():
                raise
            _write_over(path, status)
        return status

    def live_pid(self, status: Status | None = None) -> int | None:
        """Process id of the engine that drives this run now, or None."""
        known = status or self.status()
        if known.pid is None or known.at_rest:
            return None
        if known.host != socket.gethostname():
            return known.pid if time.time() - known.updated < STALE_S else None
        started = process_start(known.pid)
        return known.pid if started and started == known.pid_started else None

    def refuse_live_copy(self) -> None:
        """Check, holding its lock, that this is not a copy of a run that goes on elsewhere.

        Raises:
            RunBusy: a live engine on this machine drives the original: what both ask would be paid
                for twice.
        """
        status = self.status()
        if status.host == socket.gethostname() and (pid := self.live_pid(status)):
            raise RunBusy(
                f"{self.path} is a copy of a run that process {pid} drives",
                why="both would ask and pay for the same calls",
                hint="stop the other run or wait for its end, then copy it again",
            )

    def shown_state(self, status: Status) -> str:
        """The run's state for display: as in its status, unless its engine is gone."""
        if self.unreadable(status):
            return UNREADABLE
        if status.at_rest or self.live_pid(status) is not None or _is_coming_up(status):
            return status.state.value
        return INTERRUPTED

    def unreadable(self, status: Status) -> str:
        """Why the run cannot be read, as far as is known without opening its journal."""
        if status.unreadable:
            return status.unreadable
        for file in (self.path / "spec.json", self.journal):
            try:
                check_plain(file)
            except FileNotFoundError:
                continue
            except OSError as error:
                return f"{file.name}: {why_unread(error)}"
        return ""

    def command(self, do: str, **body: Any) -> None:
        """Write a request for the live engine."""
        folder = self.path / "commands"
        folder.mkdir(mode=0o700, exist_ok=True)
        name = f"{time.time_ns()}-{os.urandom(2).hex()}.json"
        write_file(folder / name, orjson.dumps({"do": do, **body}))

    def unanswered(self) -> bool:
        """Whether there is a request that the engine has not read."""
        try:
            return any(name.endswith(".json") for name in os.listdir(self.path / "commands"))
        except OSError:
            return False

    def take_commands(self) -> list[dict[str, Any]]:
        """Requests written since the last call, oldest first; each is returned once."""
        try:
            names = sorted(os.listdir(self.path / "commands"))
        except OSError:
            return []
        taken = []
        for name in names:
            if not name.endswith(".json"):
                continue
            file = self.path / "commands" / name
            try:
                command = parse_json(read_plain(file, SETTINGS))
                COMMAND(command)
                taken.append({part: command[part] for part in ("do", "value") if part in command})
            except Misfit as error:
                taken.append({"do": "unreadable", "value": str(error)})
            except (OSError, ValueError):
                continue
            finally:
                _remove(file)
        return taken


def _write_over(path: Path, status: Status) -> None:
    """Overwrite an old status in place, within its size if there is no more space.

    The rest is filled with blanks, so that concurrent readers do not see the end of the old one.
    """
    whole = status.to_json()
    brief = {name: value for name, value in whole.items() if name not in DETAILS}
    with path.open("r+b", buffering=0) as file:
        for form in (whole, brief):
            data = orjson.dumps(form).ljust(os.fstat(file.fileno()).st_size)
            with contextlib.suppress(OSError):
                if os.pwrite(file.fileno(), data, 0) == len(data):
                    return
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _remove(file: Path) -> None:
    """Delete an entry of the commands folder, even if it is a folder."""
    try:
        file.unlink(missing_ok=True)
    except OSError:
        shutil.rmtree(file, ignore_errors=True)


def _is_coming_up(status: Status) -> bool:
    """Whether a run is so new that its engine may not have registered yet."""
    fresh = time.time() - status.updated < _COMING_UP_S
    return status.state is State.CREATED and status.pid is None and fresh


class Lock:
    """The engine's exclusive lock on a run. Released by the system when the process dies."""

    def __init__(self, folder: RunFolder) -> None:
        """Take the lock.

        Raises:
            RunBusy: another process holds it.
            UsageError: no lock can be created in that folder.
        """
        try:
            self._fd = os.open(folder.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            what = f"cannot write to {folder.path}"
            raise system_limit(error, what) or UsageError(
                what, why=error.strerror or str(error)
            ) from None
        try:
            self._take(folder)
        except BlockingIOError:
            os.close(self._fd)
            pid = folder.live_pid()
            raise RunBusy(
                f"run {folder.id} is already being driven" + (f" by process {pid}" if pid else ""),
                hint=f"watch it: evalbench attach {folder.id}",
            ) from None

    def _take(self, folder: RunFolder) -> None:
        """Acquire the lock; waits for an engine that has finished and is about to release it."""
        end = time.monotonic() + _LETTING_GO_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > end or not folder.status().at_rest:
                    raise
            time.sleep(0.01)

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)


def process_start(pid: int) -> str:
    """When a process started, as an opaque text; empty if there is no such process.

    The process id alone is not enough, because the system reuses it.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        if Path("/proc/self/stat").exists():
            return ""
    else:
        # Fields are counted after the parenthesised name, which may contain spaces.
        after = stat.rpartition(")")[2].split()
        return "" if after[0] == "Z" else after[19]
    ps = ["ps", "-o", "lstart=", "-p", str(pid)]  # macOS has no /proc
    # It tells local time in the language of the user, and both may differ between two callers.
    own = os.environ | {"TZ": "UTC", "LC_ALL": "C"}
    found = subprocess.run(ps, capture_output=True, text=True, check=False, env=own)
    return found.stdout.strip()


def _plain(name: str) -> str:
    """A name made safe for use in a folder name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:40]


def make_run(spec: RunSpec, parent: Path | None = None, *, total: int = 0) -> RunFolder:
    """Create the folder of a new run of ``total`` samples × epochs.

    Raises:
        UsageError: the location is not writable.
    """
    root = parent or runs_dir()
    # An imported run may contain any names.
    benchmark = _plain(spec.label) or "benchmark"
    model = _plain(spec.candidate.name) or "model"
    try:
        make_private(root)
        folder = _make_folder(root, f"{benchmark}-{model}")
        folder.write_spec(spec)
        folder.write_status(first_status(folder, spec, created=time.time(), total=total))
    except OSError as error:
        what = f"cannot make a run folder in {root}"
        raise system_limit(error, what) or UsageError(
            what,
            why=error.strerror or str(error),
            hint="choose a writable place with --run-dir or EVALBENCH_HOME",
        ) from None
    return folder


def first_status(folder: RunFolder, spec: RunSpec, *, created: float, total: int) -> Status:
    """The status of a run that no engine has worked on.

    Args:
        folder, spec: those of the run.
        created: Unix seconds.
        total: samples × epochs.
    """
    return Status(
        folder.id,
        benchmark=spec.label,
        title=_own_title(spec),
        source=spec.source,
        model=spec.model,
        desc=spec.settings.desc,
        tags=list(spec.settings.tag),
        created=created,
        total=total,
    )


def _own_title(spec: RunSpec) -> str:
    """The title of a custom benchmark; for an imported run its file may be missing."""
    from evalbench.engine.config.spec import build_benchmark

    try:
        return build_benchmark(spec).own_title()
    except EvalbenchError:
        return ""


def _make_folder(root: Path, name: str) -> RunFolder:
    """A new folder, named after the second, what is run, and the fraction of the second."""
    while True:
        second, rest = divmod(time.time_ns(), 10**9)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(second))
        path = root / f"{stamp}-{name}-{(rest << 16) // 10**9:04x}"
        # Another process may have created a run of the same name in the same 15 µs.
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return RunFolder(path)


def _made(run: RunFolder) -> tuple[str, str]:
    """A sort key for a run's creation time that also orders runs of the same second."""
    return run.id[:15], run.id[-4:]


def all_runs(parent: Path | None = None) -> list[RunFolder]:
    """Every run below ``parent`` (default: the user's runs), newest first."""
    root = parent or runs_dir()
    try:
        found = [RunFolder(path) for path in root.iterdir() if _is_run(path)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UsageError(f"{root} cannot be read", why=error.strerror or str(error)) from None
    return sorted(found, key=_made, reverse=True)


def _is_run(path: Path) -> bool:
    try:
        return (path / "spec.json").exists()
    except OSError:
        return False  # not accessible


def newest_runs(specs: Sequence[RunSpec], parent: Path | None = None) -> list[RunFolder | None]:
    """For each spec, the newest run with exactly the same spec, if there is one."""
    found: list[RunFolder | None] = [None] * len(specs)
    for run in all_runs(parent):
        try:
            stored = run.spec()
        except RunNotFound:
            continue
        found = [
            one or (run if spec == stored else None) for one, spec in zip(found, specs, strict=True)
        ]
    return found


_LAST = re.compile(r"last(?:~(\d{1,6}))?")


def find_run(name: str, parent: Path | None = None) -> RunFolder:
    """The run that ``name`` refers to: a path, an id, an unambiguous part of one, or ``last``.

    ``last~1`` is the one before the last. The end of an id (:func:`short_id`) takes precedence
    over its start, and that over a part within it.

    Raises:
        RunNotFound: no run matches, or several do.
    """
    if (path := _run_path(name)) is not None:
        return RunFolder(path)
    runs = all_runs(parent)
    ids = [run.id for run in runs]
    if found := _LAST.fullmatch(name):
        back = int(found[1] or 0)
        if back < len(runs):
            return runs[back]
        if runs:
            raise RunNotFound(
                f"there is no run {name!r}",
                why=f"there are {len(runs)}, and last~{len(runs) - 1} is the oldest",
                hint="list them: evalbench runs",
            )
    matching = list(_matches(name, runs))
    if len(matching) == 1:
        return matching[0]
    if matching:
        shown = "\n    ".join(run.id for run in matching[:8])
        raise RunNotFound(f"{name!r} could be any of\n    {shown}", hint="give more of the id")
    if not runs:
        raise RunNotFound(
            f"there is no run {name!r}",
            why=f"no run is in {parent or runs_dir()}",
            hint="start one: evalbench run quickstart",
        )
    near = get_close_matches(name, ["last", *ids, *map(short_id, runs)], n=3)
    raise RunNotFound(
        f"there is no run {name!r}",
        hint=f"did you mean {' or '.join(near)}?" if near else "list them: evalbench runs",
    )


def _run_path(name: str) -> Path | None:
    try:
        path = expand(name)
        return absolute(path) if (path / "spec.json").exists() else None
    except (OSError, UsageError):
        # Too long for a path, not accessible, or the home folder of an unknown user.
        return None


def _matches(name: str, runs: list[RunFolder]) -> Iterator[RunFolder]:
    if not name:
        return
    tiers: tuple[Callable[[str], bool], ...] = (
        lambda ident: ident == name,
        lambda ident: _tail(ident) == name,
        lambda ident: ident.startswith(name) or _tail(ident).startswith(name),
        lambda ident: name in ident,
    )
    for fits in tiers:
        if found := [run for run in runs if fits(run.id)]:
            yield from found
            return


def short_id(run: RunFolder) -> str:
    """The end of a run's id, which is random and nearly always enough to identify it."""
    return _tail(run.id)


def short_ids(runs: Sequence[RunFolder]) -> dict[str, str]:
    """For all runs, by id, the shortest text that :func:`find_run` accepts."""
    tails = Counter(map(short_id, runs))
    return {run.id: tail if tails[tail := short_id(run)] == 1 else run.id for run in runs}


def _tail(ident: str) -> str:
    return ident.rpartition("-")[2]

"""One run as seen from outside: its status file, its events, whether its engine is alive."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import JournalError
from evalbench.engine.files import read_plain
from evalbench.engine.paths import identity
from evalbench.engine.runs.folder import INTERRUPTED, UNREADABLE, RunFolder
from evalbench.engine.runs.status import Status

if TYPE_CHECKING:
    from evalbench.engine.journal import Event

CRASHED = 6
_CANNOT_GO_ON = 5
STOPPED = 4

_UNKNOWN = 1 << 62

_ALIVE_EVERY_S = 0.5
_SHOW_EVERY_S = 1.0
_TRACING_S, _HOOK_S = 20.0, 85.0
"""No engine takes longer than this to send a run's last traces, and then to run its end hook."""


class RunFollower:
    """One run as seen from outside. Call :meth:`look` repeatedly; the rest is what was seen.

    ``after`` is the id of the last known event, see :func:`last_event`.
    ``killed`` is set by whatever killed its engine to enforce a stop.
    """

    def __init__(self, folder: RunFolder, *, after: int = 0) -> None:
        self.folder = folder
        self.status = folder.status()
        self.interrupted = False
        self.killed = False
        self._seen_alive = False
        self._disk: JournalError | None = None
        self._seen: tuple[int, int] | None = None
        self._alive_due = 0.0
        self._shown = 0.0
        self._last_event = (after, _UNKNOWN)
        self._place = _place(folder)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.folder.id

    @property
    def ended(self) -> bool:
        """At rest, or left without an engine."""
        return self.status.at_rest or self.interrupted

    @property
    def tracing(self) -> bool:
        """Whether a run at rest is still sending its last traces; they are reported at its end."""
        status = self.status
        return status.tracing and time.time() - status.updated < _TRACING_S

    @property
    def hook_running(self) -> bool:
        """Whether a run at rest still runs the command of ``--on-end``."""
        status = self.status
        return status.hook_running and time.time() - status.updated < _HOOK_S

    @property
    def state(self) -> str:
        """The state to show."""
        if self.status.unreadable:
            return UNREADABLE
        return INTERRUPTED if self.interrupted else self.status.state.value

    @property
    def lost(self) -> bool:
        """Whether the run's folder is gone, so that its engine could not even record its end."""
        return self.interrupted and _place(self.folder) != self._place

    @property
    def exit_code(self) -> int:
        """The exit code for the ended run."""
        if self.lost:
            return _CANNOT_GO_ON
        if self.status.unreadable:
            return JournalError.exit_code
        if self.killed and self.interrupted:
            return STOPPED
        if self.interrupted and self._disk:
            return _CANNOT_GO_ON
        if self.interrupted or self.status.exit_code is None:
            return CRASHED
        return self.status.exit_code

    @property
    def spec(self) -> dict[str, Any]:
        """The run's spec, as JSON."""
        return self.folder.spec().to_json()

    def look(self) -> bool:
        """Read what is new. True if the status changed."""
        changed = self._read_status()
        if not self.status.at_rest and time.monotonic() >= self._alive_due:
            self._alive_due = time.monotonic() + _ALIVE_EVERY_S
            if self.folder.live_pid(self.status) is None:
                # It may have ended between the two reads.
                changed = self._read_status() or changed
                self.interrupted = not self.status.at_rest
                if self.interrupted and self._seen_alive and not self.lost:
                    self._look_at_the_disk()
            else:
                self.interrupted, self._seen_alive = False, True
        return changed

    def stale(self) -> bool:
        """Whether nothing was shown for a second, so that clocks keep moving."""
        return time.monotonic() - self._shown >= _SHOW_EVERY_S

    def _look_at_the_disk(self) -> None:
        """An engine whose disk takes nothing cannot store why it ended."""
        from evalbench.engine.journal.schema import why_not_written

        self._seen_alive, self._disk = False, why_not_written(self.folder.journal)

    def _read_status(self) -> bool:
        try:
            stat = os.stat(self.folder.path / "status.json")
        except OSError:
            return False
        if self._seen == (stat.st_mtime_ns, stat.st_ino):
            return False
        self._seen = stat.st_mtime_ns, stat.st_ino
        self.status = self.folder.status()
        return True

    def events(self) -> list[Event]:
        """New events since the last call; also one whose count has grown.

        The journal is opened only briefly, so that the engine can turn it into one plain file at
        rest.
        """
        self._shown = time.monotonic()
        seen, counted = self._last_event
        try:
            from evalbench.engine.journal import JournalReader

            with JournalReader(self.folder.journal) as journal:
                events = journal.events(after=max(0, seen - 1))
        except JournalError:
            # Not there yet, or busy: the next call finds them.
            return []
        if events:
            self._last_event = events[-1].id, events[-1].count
        return [event for event in events if event.id > seen or event.count > counted]

    def problem(self) -> str:
        """Why the run did not complete, if known."""
        if self.lost:
            return (
                f"the folder {self.folder.path} was deleted, renamed or replaced while the run went"
                " on, so it stopped; put it back, then resume"
            )
        if self.status.unreadable:
            return f"{self.status.unreadable}; {self.folder.how_to_remove}"
        if self.killed and self.interrupted:
            return (
                "its engine did not stop when asked and was killed;"
                f" resume it with: evalbench resume {self.id}"
            )
        if self.interrupted and self._disk:
            return str(self._disk)
        if self.interrupted:
            if last := _last_line(self.folder):
                return f"its engine ended unexpectedly; {self.folder.engine_log} ends with: {last}"
            return "its engine ended without a message: it was killed, or the machine went down"
        return self.status.problem


def _place(folder: RunFolder) -> tuple[int, int] | None:
    try:
        return identity(folder.path.stat())
    except OSError:
        return None


def eta(status: Status) -> float | None:
    """Seconds until all samples are done at the current rate; None while unknown."""
    left = status.total - status.done
    return left / status.rate if status.rate > 0 and left > 0 else None


def last_event(folder: RunFolder) -> int:
    """Id of the newest event in a run's journal; 0 if there is none."""
    try:
        from evalbench.engine.journal import JournalReader

        with JournalReader(folder.journal) as journal:
            newest = journal.newest_event()
            return newest.id if newest else 0
    except JournalError:
        return 0


def _last_line(folder: RunFolder) -> str:
    try:
        lines = read_plain(folder.engine_log).decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""

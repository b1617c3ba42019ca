"""Following runs to their rest: what changed in their folders, and what signals ask for."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any, Protocol

from evalbench.engine.errors import JournalError
from evalbench.engine.journal import Event, JournalReader
from evalbench.engine.process import stop_run
from evalbench.engine.runfolder import RunFolder
from evalbench.engine.status import Status
from evalbench.tui.cli import menu
from evalbench.tui.cli.signals import Signals

INTERRUPTED = "interrupted"
"""Shown for a run that is not at rest although no engine drives it."""

CRASHED = 6

_UNKNOWN = 1 << 62

_POLL_S = 0.1
_ALIVE_EVERY_S = 0.5
_SHOW_EVERY_S = 1.0


def shown_state(folder: RunFolder, status: Status) -> str:
    """A run's state for people: its own account, unless its engine is gone."""
    if status.at_rest or folder.live_pid(status) is not None:
        return status.state.value
    return INTERRUPTED


class Watch:
    """One run as seen from outside. :meth:`look` again and again; the rest is what was seen.

    ``after`` is the id of the last event that is already known, see :func:`last_event`.
    """

    def __init__(self, folder: RunFolder, *, after: int = 0) -> None:
        self.folder = folder
        self.status = folder.status()
        self.interrupted = False
        self._seen: tuple[int, int] | None = None
        self._alive_due = 0.0
        self._shown = 0.0
        self._last_event = (after, _UNKNOWN)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.folder.id

    @property
    def ended(self) -> bool:
        """At rest, or left without an engine."""
        return self.status.at_rest or self.interrupted

    @property
    def state(self) -> str:
        """The state to show."""
        return INTERRUPTED if self.interrupted else self.status.state.value

    @property
    def exit_code(self) -> int:
        """What the ended run stands for."""
        if self.interrupted or self.status.exit_code is None:
            return CRASHED
        return self.status.exit_code

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for, as JSON."""
        return self.folder.spec().to_json()

    def look(self) -> bool:
        """Read what is new. True when the status changed."""
        changed = self._read_status()
        if not self.status.at_rest and time.monotonic() >= self._alive_due:
            self._alive_due = time.monotonic() + _ALIVE_EVERY_S
            if self.folder.live_pid(self.status) is None:
                # It may have come to rest between the two looks.
                changed = self._read_status() or changed
                self.interrupted = not self.status.at_rest
        return changed

    def stale(self) -> bool:
        """Whether nothing was shown for a second, so that clocks do not stand still."""
        return time.monotonic() - self._shown >= _SHOW_EVERY_S

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
        """Events since the last time; once more one whose count has grown.

        The journal is opened only for the moment, so that the engine can make
        it one plain file when it rests.
        """
        self._shown = time.monotonic()
        seen, counted = self._last_event
        try:
            with JournalReader(self.folder.journal) as journal:
                events = journal.events(after=max(0, seen - 1))
        except JournalError:
            # Not there yet, or busy: the next look finds them.
            return []
        if events:
            self._last_event = events[-1].id, events[-1].count
        return [event for event in events if event.id > seen or event.count > counted]

    def problem(self) -> str:
        """Why the run did not complete, when that is known."""
        if self.interrupted:
            said = _last_line(self.folder)
            return f"its engine ended without a word; {self.folder.engine_log} ends with: {said}"
        return self.status.problem


def eta(status: Status) -> float | None:
    """Seconds until all samples are done at the present rate; None while that is unknown."""
    left = status.total - status.done
    return left / status.rate if status.rate > 0 and left > 0 else None


def last_event(folder: RunFolder) -> int:
    """Id of the newest event of a run's journal; 0 when there is none."""
    newest = 0
    try:
        with JournalReader(folder.journal) as journal:
            while page := journal.events(after=newest):
                newest = page[-1].id
    except JournalError:
        pass
    return newest


def _last_line(folder: RunFolder) -> str:
    try:
        lines = folder.engine_log.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        return "nothing"
    return lines[-1] if lines else "nothing"


class View(Protocol):
    """How runs are shown: a live block, plain lines, or JSON lines."""

    def note(self, text: str) -> None:
        """Say something that belongs to no run."""

    def preparing(self, what: str, done: int, total: int | None) -> None:
        """Data or a model is being made ready, before there is a run."""

    def begin(self, watches: Sequence[Watch]) -> None:
        """These runs are followed from now on."""

    def show(self, watch: Watch, events: Sequence[Event]) -> None:
        """Something about a run changed."""

    def ended(self, watch: Watch) -> None:
        """A run came to rest, or lost its engine."""

    def detached(self, watches: Sequence[Watch]) -> None:
        """These runs go on without being followed."""

    def close(self) -> None:
        """Nothing more will be shown for now: give the terminal back."""


def follow(
    watches: Sequence[Watch], view: View, signals: Signals, *, owner: bool, tied: bool = False
) -> int:
    """Show runs until all have ended; returns the highest of their exit codes.

    Args:
        watches: the runs; an engine drives them.
        view: shows them.
        signals: entered, not raising.
        owner: this command started the runs, so without a terminal SIGINT and
            SIGTERM stop them. Otherwise they only end the watching.
        tied: the runs end with this command anyway (``--foreground``).
    """
    going = list(watches)
    view.begin(watches)
    try:
        while True:
            for watch in list(going):
                if watch.look() or watch.ended or watch.stale():
                    view.show(watch, watch.events())
                if watch.ended:
                    going.remove(watch)
                    view.ended(watch)
            if not going:
                return max(watch.exit_code for watch in watches)
            match _wish(signals, view, going, owner=owner, tied=tied):
                case "detach":
                    view.detached(going)
                    return 0
                case "stop":
                    view.note("stopping: calls in flight get a few seconds")
                    for watch in going:
                        stop_run(watch.folder)
            time.sleep(_POLL_S)
    finally:
        view.close()


def _wish(
    signals: Signals, view: View, going: Sequence[Watch], *, owner: bool, tied: bool
) -> menu.Choice:
    """What the oldest pending signal asks for."""
    number = signals.take()
    if number is None:
        return "watch"
    if number == signal.SIGINT and menu.on_terminal():
        view.close()
        return menu.ask(signals, tied=tied, still_running=lambda: _any_going(going))
    if tied or (owner and number != signal.SIGHUP):
        return "stop"
    return "detach"


def _any_going(going: Sequence[Watch]) -> bool:
    for watch in going:
        watch.look()
    return not all(watch.ended for watch in going)

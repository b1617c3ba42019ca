"""Stops a live run, by force if its engine does not respond.

The engine is first asked with a command file. If it does not read it (its event loop is blocked
by a benchmark's code, or by a stalled disk), it gets a signal, which also interrupts scoring,
and is finally killed. The journal loses nothing: replies are kept, and a resume continues from
there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from evalbench.engine.errors import JournalError
from evalbench.engine.runs.folder import RunFolder, all_runs

UNANSWERED_S = 10.0
"""How long an engine may ignore a request; it normally checks five times a second."""
TERMINATED_S = 4.0
"""How long an engine may take to exit after the signal."""

_MOST_NAMED = 5


class Stop:
    """Stops one run. Create it, then call :meth:`look` repeatedly until the run is at rest.

    Attributes:
        asked: whether there was an engine to ask.
        killed: whether it had to be killed.
    """

    def __init__(self, folder: RunFolder) -> None:
        """Ask the engine."""
        self.killed = False
        self._folder = folder
        self._terminated = False
        self._due = time.monotonic() + UNANSWERED_S
        self.asked = folder.live_pid() is not None
        if self.asked:
            folder.command("stop")

    def look(self) -> str:
        """Escalate if the engine has had its time; returns what was done, as text, or empty."""
        if self.killed or time.monotonic() < self._due:
            return ""
        if not self._terminated and not self._folder.unanswered():
            return ""  # it is stopping
        return self.insist()

    def insist(self) -> str:
        """Escalate now: first a signal, then a kill. Returns what was done, as text."""
        status = self._folder.status()
        pid = self._folder.live_pid(status)
        if pid is None or self.killed:
            return ""
        name = self._folder.id
        if status.host != socket.gethostname():
            self._due = float("inf")
            return f"{name} is driven by process {pid} on {status.host}: end it there"
        if not self._terminated:
            self._terminated, self._due = True, time.monotonic() + TERMINATED_S
            _signal(pid, signal.SIGTERM)
            silent = f", which does not answer{self._where()}" if self._folder.unanswered() else ""
            return f"ending the engine of {name}{silent}"
        others = [run.id for run in all_runs(self._folder.path.parent) if run.live_pid() == pid]
        where = self._where()
        _signal(pid, signal.SIGKILL)
        self.killed = True
        with_it = ", ".join(other for other in others if other != name)
        return (
            f"the engine of {name} did not end and was killed{where}"
            + (f", and with it {with_it}" if with_it else "")
            + "; nothing that was answered is lost"
        )

    def _where(self) -> str:
        """The samples whose scoring may be blocking the engine, as text."""
        scoring = self._folder.status().gauges.get("scoring")
        rows = [scoring["row"]] if isinstance(scoring, dict) else _unscored(self._folder)
        if not rows:
            return ""
        if len(rows) == 1:
            return f" (it scores sample {rows[0]})"
        named = ", ".join(map(str, rows[:_MOST_NAMED]))
        more = ", …" if len(rows) > _MOST_NAMED else ""
        return f" (it may be scoring one of the samples {named}{more})"


def _unscored(folder: RunFolder) -> list[int]:
    """A few samples that have no score although all their calls are answered."""
    from evalbench.engine.journal import JournalReader

    try:
        with JournalReader(folder.journal) as journal:
            return journal.answered_without_score(_MOST_NAMED + 1)
    except JournalError:
        return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)

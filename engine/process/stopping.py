"""Bringing a live run to rest, if need be against the will of its engine.

An engine is asked first, by a command file. One that does not take it (its event loop is
kept by a benchmark's code, or by a disk that stands still) gets a signal, which also
interrupts scoring, and is killed in the end. The journal loses nothing by it: what was
answered is kept, and a resume goes on from there.
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
"""How long an engine may leave a request lying; usually it takes them five times a second."""
TERMINATED_S = 4.0
"""How long an engine may take to end after the signal."""

_MOST_NAMED = 5


class Stop:
    """One run that is to stop. Make it, then :meth:`look` again and again until it rests.

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
        """Go further where the engine has had its time; what was done, in words, or nothing."""
        if self.killed or time.monotonic() < self._due:
            return ""
        if not self._terminated and not self._folder.unanswered():
            return ""  # it is at it
        return self.insist()

    def insist(self) -> str:
        """Go further at once: a signal, and after that the end. What was done, in words."""
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
        """The samples whose scoring may hold the engine up, in words."""
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
    """Samples whose calls are all answered and that have no score, a few at most."""
    from evalbench.engine.journal import JournalReader

    try:
        with JournalReader(folder.journal) as journal:
            return journal.answered_without_score(_MOST_NAMED + 1)
    except JournalError:
        return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)

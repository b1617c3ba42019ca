"""Runs that the app was asked to stop, followed until they are at rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from evalbench.engine.process.stopping import Stop
from evalbench.engine.runs.folder import RunFolder

_REPEAT_S = 1.0
"""Repeats faster than this come from a key that is held down, and are ignored."""


class Stops:
    """Asks engines to stop, and escalates if they do not.

    Call :meth:`look` repeatedly: an engine that does not respond to the request gets a signal, and
    is killed in the end.
    """

    def __init__(self) -> None:
        self._begun: dict[Path, Stop] = {}
        self._asked: dict[Path, float] = {}
        self._killed: set[Path] = set()

    def stop(self, folder: RunFolder) -> str:
        """Ask a run's engine to stop; a second call ends it at once.

        Returns what was done, in words; nothing if no engine drives the run.
        """
        if folder.live_pid() is None:
            return ""
        if begun := self._begun.get(folder.path):
            repeated = time.monotonic() - self._asked[folder.path] >= _REPEAT_S
            return self._said(folder.path, begun.insist()) if repeated else ""
        stop = Stop(folder)
        if not stop.asked:
            return ""
        self._begun[folder.path], self._asked[folder.path] = stop, time.monotonic()
        self._killed.discard(folder.path)
        return f"stopping {folder.id}: waiting for its calls in flight; again to end it at once"

    def look(self) -> Iterator[str]:
        """What was done about engines whose time is up, in words."""
        for path, stop in list(self._begun.items()):
            if words := self._said(path, stop.look()):
                yield words
            elif RunFolder(path).live_pid() is None:
                self._begun.pop(path, None)

    def killed(self, folder: RunFolder) -> bool:
        """Whether the run's engine had to be killed."""
        return folder.path in self._killed

    def _said(self, path: Path, words: str) -> str:
        if self._begun[path].killed:
            self._killed.add(path)
            del self._begun[path]
        return words

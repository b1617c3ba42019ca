"""Runs that somebody in the app wants stopped, seen through to their rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from evalbench.engine.process.stopping import Stop
from evalbench.engine.runs.folder import RunFolder

_REPEAT_S = 1.0
"""A key that is held down asks again sooner than anybody means it."""


class Stops:
    """Asks engines to stop, and goes further with those that do not.

    :meth:`look` again and again: an engine that does not take the request gets a signal,
    and is killed in the end.
    """

    def __init__(self) -> None:
        self._begun: dict[Path, Stop] = {}
        self._asked: dict[Path, float] = {}
        self._killed: set[Path] = set()

    def stop(self, folder: RunFolder) -> str:
        """Ask a run's engine to stop; asked once more, end it at once.

        What was done, in words; nothing where no engine drives the run.
        """
        if folder.live_pid() is None:
            return ""
        if begun := self._begun.get(folder.path):
            meant = time.monotonic() - self._asked[folder.path] >= _REPEAT_S
            return self._said(folder.path, begun.insist()) if meant else ""
        stop = Stop(folder)
        if not stop.asked:
            return ""
        self._begun[folder.path], self._asked[folder.path] = stop, time.monotonic()
        self._killed.discard(folder.path)
        return f"stopping {folder.id}: waiting for its calls in flight; again to end it at once"

    def look(self) -> Iterator[str]:
        """What was done with engines whose time is over, in words."""
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

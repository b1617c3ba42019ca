"""Follows a run: returns its new results each time it is read."""

from __future__ import annotations

from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.result import Result, result_of


class ResultFollower:
    """The results of one run that have not been read yet."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._last = 0
        self._seen: set[tuple[int, int]] = set()

    def read(self) -> list[Result]:
        """The results stored since the last call, in order.

        The journal is opened only briefly, so that the engine can turn it into a single file when
        it finishes.

        Raises:
            JournalError: the journal cannot be read.
        """
        found: list[Result] = []
        if not self._folder.journal.exists():
            return found  # another program is about to start it
        with RunReader(self._folder) as run:
            headline = next(iter(run.status.metrics), "")
            for at, row, epoch in run.scored_since(self._last):
                self._last = at
                if (row, epoch) in self._seen:
                    continue
                self._seen.add((row, epoch))
                if sample := run.at(row):
                    found.append(result_of(run, sample, epoch, headline or run.headline))
        return found

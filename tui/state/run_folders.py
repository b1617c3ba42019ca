"""The folders of all runs, and whether anything in one has changed since it was last read."""

from __future__ import annotations

import os
from pathlib import Path

from evalbench.engine.errors import RunNotFound
from evalbench.engine.paths import runs_dir
from evalbench.engine.runs.folder import RunFolder, all_runs


class RunFolders:
    """The runs below a folder. :meth:`look` lists them again only if one was added or removed."""

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._folders: list[RunFolder] = []
        self._listed: tuple[int, int] | None = None

    def look(self) -> list[RunFolder]:
        """The runs, newest first."""
        if (stamp := stamp_of(self._parent or runs_dir())) != self._listed:
            self._listed = stamp
            self._folders = all_runs(self._parent)
        return self._folders


def epochs_of(folder: RunFolder) -> int:
    """How often a run repeats each sample; once, if that cannot be read."""
    try:
        return int(folder.spec().get("epochs"))
    except RunNotFound:
        return 1


def stamp_of(path: Path) -> tuple[int, int]:
    """A value that changes if a file is replaced, or a folder gains or loses an entry."""
    try:
        stat = os.stat(path)
    except OSError:
        return (-1, -1)
    return stat.st_mtime_ns, stat.st_ino

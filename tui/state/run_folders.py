"""The folders of all runs, and whether anything in one was written since it was last read."""

from __future__ import annotations

import os
from pathlib import Path

from evalbench.engine.errors import RunNotFound
from evalbench.engine.paths import runs_dir
from evalbench.engine.runs.folder import RunFolder, all_runs


class RunFolders:
    """The runs below a folder. :meth:`look` lists them anew only when one came or went."""

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
    """How often a run asks each sample; once, where that cannot be read."""
    try:
        return int(folder.spec().get("epochs"))
    except RunNotFound:
        return 1


def stamp_of(path: Path) -> tuple[int, int]:
    """What differs once a file was replaced, or a folder got or lost something."""
    try:
        stat = os.stat(path)
    except OSError:
        return (-1, -1)
    return stat.st_mtime_ns, stat.st_ino

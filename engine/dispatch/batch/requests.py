"""The request file of one batch, kept in the run's folder for inspection."""

from __future__ import annotations

import os
from pathlib import Path

from evalbench.engine.errors import JournalError, system_limit
from evalbench.engine.paths import open_private


class RequestFile:
    """Written line by line; it gets its final name once it is complete and on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial = path.with_name(path.name + ".part")
        try:
            # Not in the run's folder: if that is deleted, none of this could be found.
            path.parent.mkdir(mode=0o700, exist_ok=True)
            self._file = open_private(self._partial, buffering=1 << 20)
        except OSError as error:
            what = f"no batch can be written to {path.parent}"
            raise system_limit(error, what) or JournalError(
                what, why=error.strerror or str(error)
            ) from None

    def add(self, line: bytes) -> int:
        """Write one line; returns its size in bytes."""
        self._file.write(line)
        self._file.write(b"\n")
        return len(line) + 1

    def finish(self) -> None:
        """Flush the complete file to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self.path)

    def discard(self) -> None:
        """Delete it."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

"""The file of requests of one batch, kept in the run's folder so that people can look into it."""

from __future__ import annotations

import os
from pathlib import Path

from evalbench.engine.errors import JournalError, system_limit
from evalbench.engine.paths import open_private


class RequestFile:
    """Written line by line; it has its name only when it is whole and on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial = path.with_name(path.name + ".part")
        try:
            # Not the run's folder: where that is gone, nothing of this would be found.
            path.parent.mkdir(mode=0o700, exist_ok=True)
            self._file = open_private(self._partial, buffering=1 << 20)
        except OSError as error:
            what = f"no batch can be written to {path.parent}"
            raise system_limit(error, what) or JournalError(
                what, why=error.strerror or str(error)
            ) from None

    def add(self, line: bytes) -> int:
        """Write one line; the bytes it takes."""
        self._file.write(line)
        self._file.write(b"\n")
        return len(line) + 1

    def finish(self) -> None:
        """Bring it to the disk, whole."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self.path)

    def discard(self) -> None:
        """Throw it away."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

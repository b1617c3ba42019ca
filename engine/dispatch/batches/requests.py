"""The file of requests of one batch, kept in the run's folder so that people can look into it."""

from __future__ import annotations

import os
from pathlib import Path


class RequestFile:
    """Written line by line; it has its name only when it is whole and on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._partial = path.with_name(path.name + ".part")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(self._partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        self._file = os.fdopen(number, "wb", buffering=1 << 20)

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

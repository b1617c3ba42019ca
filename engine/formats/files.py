"""The files that an export makes: all of them or none, and none over another."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from evalbench.engine.errors import UsageError, system_limit
from evalbench.engine.paths import open_private
from evalbench.engine.runs.sanitize import cell, json_bytes


class Files:
    """Files of an export. They stand under other names until :meth:`commit`.

    Attributes:
        whole: the only file's path where the user named a file, not a folder.
        below: a folder that all paths are in from here on; empty: none.
    """

    def __init__(self, place: Path, whole: Path | None = None) -> None:
        self.whole = whole
        self.below = ""
        self._place = place
        self._partial: dict[Path, Path] = {}
        self._open: list[IO[bytes]] = []
        self._made: list[Path] = []

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            file.close()
        for partial in self._partial.values():
            partial.unlink(missing_ok=True)
        for folder in reversed(self._made):
            try:
                folder.rmdir()
            except OSError:
                break  # it holds something by now

    def open(self, path: str) -> IO[bytes]:
        """A file to be written bit by bit; ``path`` is below the folder.

        Raises:
            UsageError: it is there already, or cannot be written.
        """
        full = self.whole or self._place / self.below / path
        if full in self._partial:
            raise UsageError(
                f"two of these runs would both be {full}",
                hint="export them apart, each to a folder of its own",
            )
        if full.exists():
            raise UsageError(f"{full} is there already", hint="name another place with -o")
        partial = full.with_name(f".{full.name[:200]}.{os.getpid()}.part")
        try:
            self._make(full.parent)
            file = open_private(partial, "w+b")
        except OSError as error:
            raise _unwritable(full, error) from None
        self._partial[full] = partial
        self._open.append(file)
        return file

    def _make(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._made += reversed(missing)

    def json(self, path: str, value: Any) -> None:
        """A JSON file."""
        self.raw(path, json_bytes(value, indent=True))

    def lines(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A file of JSON lines."""
        self.raw(path, b"".join(json_bytes(row) + b"\n" for row in rows))

    def table(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """A CSV file with the columns of the first row; its texts are no formulas."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]) if rows else [])
        writer.writeheader()
        for row in rows:
            writer.writerow({n: cell(v) if isinstance(v, str) else v for n, v in row.items()})
        self.raw(path, out.getvalue().encode())

    def raw(self, path: str, data: bytes) -> None:
        """A file of any other kind."""
        with self.open(path) as file:
            file.write(data)

    def commit(self) -> list[Path]:
        """Give all files their names.

        Raises:
            UsageError: the folder cannot be written.
        """
        done = list(self._partial)
        try:
            for file in self._open:
                file.close()
            for path, partial in list(self._partial.items()):
                partial.replace(path)
                del self._partial[path]
        except OSError as error:
            raise _unwritable(self._place, error) from None
        self._made.clear()
        return done


def _unwritable(path: Path, error: OSError) -> UsageError:
    what = f"{path} cannot be written"
    return system_limit(error, what) or UsageError(what, why=error.strerror or str(error))

"""The files of an export: written all or none, never replacing existing ones."""

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
    """Files of an export. They have temporary names until :meth:`commit`.

    Attributes:
        whole: the path of the only file, if the user named a file rather than a folder.
        below: a subfolder for all following paths; empty for none.
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
                break  # no longer empty

    def open(self, path: str) -> IO[bytes]:
        """A file for writing incrementally; ``path`` is relative to the folder.

        Raises:
            UsageError: it already exists, or cannot be written.
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
            raise unwritable(full, error) from None
        self._partial[full] = partial
        self._open.append(file)
        return file

    def _make(self, folder: Path) -> None:
        above = (folder, *folder.parents)
        if file := next((one for one in above if one.exists() and not one.is_dir()), None):
            raise UsageError(
                f"{file} is no folder",
                why="this format is written to one, or its file needs the format's extension",
                hint="name another place with -o; - is standard output",
            )
        missing = [one for one in above if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._made += reversed(missing)

    def json(self, path: str, value: Any) -> None:
        """Write a JSON file."""
        self.raw(path, json_bytes(value, indent=True))

    def lines(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a file of JSON lines."""
        self.raw(path, b"".join(json_bytes(row) + b"\n" for row in rows))

    def table(self, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a CSV file with the columns of the first row; texts are never formulas."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]) if rows else [])
        writer.writeheader()
        for row in rows:
            writer.writerow({n: cell(v) if isinstance(v, str) else v for n, v in row.items()})
        self.raw(path, out.getvalue().encode())

    def raw(self, path: str, data: bytes) -> None:
        """Write a file of any other kind."""
        with self.open(path) as file:
            file.write(data)

    def commit(self) -> list[Path]:
        """Give all files their final names.

        Raises:
            UsageError: the folder is not writable.
        """
        done = list(self._partial)
        try:
            for file in self._open:
                file.close()
            for path, partial in list(self._partial.items()):
                partial.replace(path)
                del self._partial[path]
        except OSError as error:
            raise unwritable(self._place, error) from None
        self._made.clear()
        return done


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error for a file or folder that cannot be written, or the system limit behind it."""
    what = f"{path} cannot be written"
    return system_limit(error, what) or UsageError(what, why=error.strerror or str(error))

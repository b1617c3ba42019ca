"""The table of a run as JSON lines: one object per sample and epoch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import IO, Any

from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.sanitize import json_bytes


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``, with the CSV's columns in every line."""
    with files.open(f"{run.id}.jsonl") as file:
        write_rows(columns(run), rows(run), file)
    return []


def write_rows(names: Collection[str], found: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write an object per row with these keys."""
    for row in found:
        file.write(json_bytes({name: row.get(name) for name in names}) + b"\n")

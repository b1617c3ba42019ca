"""The table of a run as CSV: UTF-8, comma-separated, without formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from typing import IO, Any

from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.sanitize import cell


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``."""
    with files.open(f"{run.id}.csv") as file:
        write_rows(columns(run), rows(run), file)
    return []


def write_rows(names: Collection[str], found: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    """Write a header and the rows; no cell can act as a formula."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow([cell(name) for name in names])
    for row in found:
        values = (row.get(name) for name in names)
        writer.writerow([cell(v) if isinstance(v, str) else v for v in values])
    text.flush()
    text.detach()

"""Exports selected samples of a run as a table."""

from __future__ import annotations

import csv
from collections.abc import Collection
from io import StringIO
from pathlib import Path

from evalbench.engine.errors import UsageError
from evalbench.engine.paths import write_file
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.sanitize import cell, json_bytes


def export_samples(folder: RunFolder, numbers: Collection[int], path: Path) -> None:
    """Write the rows of these samples as ``evalbench export`` does for all, in their order.

    Args:
        folder: the run's folder.
        numbers: the samples' numbers.
        path: ends in ``.csv`` or ``.jsonl``; replaced if it exists.

    Raises:
        UsageError: the file cannot be written.
        JournalError: the journal cannot be read.
    """
    with RunReader(folder) as run:
        names = list(columns(run))
        table = [[row.get(name) for name in names] for row in rows(run) if row["row"] in numbers]
    if path.suffix == ".jsonl":
        body = b"".join(json_bytes(dict(zip(names, row, strict=True))) + b"\n" for row in table)
    else:
        text = StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([cell(name) for name in names])
        writer.writerows([[cell(v) if isinstance(v, str) else v for v in row] for row in table])
        body = text.getvalue().encode()
    try:
        write_file(path, body)
    except OSError as error:
        raise UsageError(f"{path} cannot be written", why=error.strerror or str(error)) from None

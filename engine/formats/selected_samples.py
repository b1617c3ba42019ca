"""Exports selected samples of a run as a table."""

from __future__ import annotations

from collections.abc import Collection
from io import BytesIO
from pathlib import Path

from evalbench.engine.formats import csv_table, jsonl_table
from evalbench.engine.formats.files import unwritable
from evalbench.engine.paths import write_file
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows


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
    write = jsonl_table.write_rows if path.suffix == ".jsonl" else csv_table.write_rows
    body = BytesIO()
    with RunReader(folder) as run:
        write(columns(run), (row for row in rows(run) if row["row"] in numbers), body)
    try:
        write_file(path, body.getvalue())
    except OSError as error:
        raise unwritable(path, error) from None

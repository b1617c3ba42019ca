"""The table of a run as CSV: UTF-8, comma-separated, without formulas."""

from __future__ import annotations

import csv
import io

from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.sanitize import cell


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``."""
    names = columns(run)
    with files.open(f"{run.id}.csv") as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow([cell(name) for name in names])
        for row in rows(run):
            held = (row.get(name) for name in names)
            writer.writerow([cell(v) if isinstance(v, str) else v for v in held])
        text.flush()
        text.detach()
    return []

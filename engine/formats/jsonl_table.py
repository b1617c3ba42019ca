"""The table of a run as JSON lines: one object per sample and epoch."""

from __future__ import annotations

from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.runs.sanitize import json_bytes


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``, with the CSV's columns in every line."""
    names = columns(run)
    with files.open(f"{run.id}.jsonl") as file:
        for row in rows(run):
            file.write(json_bytes({name: row.get(name) for name in names}) + b"\n")
    return []

"""The table of a run as Parquet."""

from __future__ import annotations

from typing import Any

from evalbench.engine.formats.files import Files
from evalbench.engine.installed import require
from evalbench.engine.runs.reader import RunReader
from evalbench.engine.runs.rows import columns, rows
from evalbench.engine.terminal_text import visible

_AT_ONCE = 2000
"""Rows in memory at once; also the size of a row group."""


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``; control characters in it are escaped, as in CSV."""
    require("data", "writing Parquet files", "pyarrow")
    import pyarrow as arrow
    import pyarrow.parquet

    types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
    schema = arrow.schema([(visible(name), types[kind]) for name, kind in columns(run).items()])
    with (
        files.open(f"{run.id}.parquet") as file,
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        group: list[dict[str, Any]] = []
        for row in rows(run):
            group.append(_plain(row))
            if len(group) == _AT_ONCE:
                writer.write_table(arrow.Table.from_pylist(group, schema))
                group = []
        writer.write_table(arrow.Table.from_pylist(group, schema))
    return []


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {visible(n): visible(v) if isinstance(v, str) else v for n, v in row.items()}

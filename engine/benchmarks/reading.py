"""Reading data files: JSON, and rows of tables (Parquet, CSV, JSON lines) with their numbers.

Nothing is guessed about types: CSV cells stay text, so a cell ``None`` is the
word and not a missing value. Row numbers count records from 1; a CSV header is
not counted, and a JSON lines file is counted by its lines.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.errors import DataError

SUFFIXES = (".parquet", ".jsonl", ".csv")

Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Rows of a ``.parquet``, ``.jsonl`` or ``.csv`` file as (row number, columns by name).

    Raises:
        DataError: for a missing or unreadable file, or a row that is not one.
    """
    readers = {".parquet": _parquet, ".jsonl": _jsonl, ".csv": _csv_with_header}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"files of type {path.suffix or '(none)'} cannot be read",
            path=str(path),
            cure="give a file ending in " + ", ".join(SUFFIXES),
        )
    return reader(path)


def find_table(path: Path, names: Sequence[str], what: str, cure: str) -> Path:
    """The table that ``--data`` means: the path itself, or the first of these below a folder.

    Raises:
        DataError: the folder has none of them.
    """
    if not path.is_dir():
        return path
    found = next((file for name in names if (file := path / name).is_file()), None)
    if found is None:
        raise DataError(f"the folder holds no {what}", path=str(path), cure=cure)
    return found


def read_csv_records(path: Path, *, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file as (number, cells), counted from ``first`` without empty lines."""
    number = first - 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for cells in csv.reader(file, strict=True):
                if cells:
                    number += 1
                    yield number, cells
    except csv.Error as error:
        raise DataError(
            "this is not valid CSV", path=str(path), line=number + 1, why=str(error)
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        DataError: it cannot be read, or is none.
    """
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), why=str(error)) from None


def unreadable(path: Path, error: Exception) -> DataError:
    """The error for a file that cannot be opened or decoded."""
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file", path=str(path), cure="check the path")
    if isinstance(error, UnicodeDecodeError):
        return DataError(
            "the file is not UTF-8 text", path=str(path), why=str(error), cure="save it as UTF-8"
        )
    return DataError("the file cannot be read", path=str(path), why=str(error))


def _csv_with_header(path: Path) -> Iterator[tuple[int, Row]]:
    header: Sequence[str] | None = None
    for number, cells in read_csv_records(path, first=0):
        if header is None:
            header = [cell.strip() for cell in cells]
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{len(cells)} cells where the header names {len(header)} columns",
                path=str(path),
                line=number,
                cure="quote cells that hold commas or line breaks",
            )
        yield number, dict(zip(header, cells, strict=True))


def _jsonl(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    yield number, _json_object(path, number, line)
    except OSError as error:
        raise unreadable(path, error) from error


def _json_object(path: Path, number: int, line: bytes) -> Row:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), line=number, why=str(error)) from error
    if not isinstance(row, dict):
        raise DataError("a row must be a JSON object", path=str(path), line=number)
    return row


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except FileNotFoundError as error:
        raise unreadable(path, error) from error
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError("this is not a Parquet file", path=str(path), why=str(error)) from error

"""Reads data files: JSON, and rows of tables (Parquet, CSV, JSON lines) with their numbers.

Types are never guessed: CSV cells stay text, so a cell ``None`` is the word and not a missing
value. Row numbers count records from 1; a CSV header is not counted, and a JSON lines file is
counted by its lines.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import csv
import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import orjson

from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import COUNT, Misfit
from evalbench.engine.files import (
    RECORD,
    check_plain,
    check_unpacked,
    lines_of,
    open_plain,
    parse_json,
    read_plain,
    why_unread,
)
from evalbench.engine.installed import install_command, require

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".xlsx")

_MOST_OF_A_SHEET = 1 << 20
"""Rows. A file may name a later one, and all before it would be gone through."""

Row = dict[str, Any]
T = TypeVar("T")


def converted(
    rows: Iterator[tuple[int, Row]],
    convert: Callable[[Row], T],
    what: str,
    origin: str,
    hint: str = "",
) -> Iterator[tuple[int, T]]:
    """Rows turned into something else, with their numbers.

    Args:
        rows: the rows with their numbers.
        convert: what to do with a row; whatever it raises means that the row does not fit.
        what: what a row should be, for the error.
        origin: the file or data set, for the error.
        hint: what to do about a row that does not fit.

    Raises:
        DataError: a row does not fit.
    """
    for number, row in rows:
        try:
            found = convert(row)
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"this is no {what}",
                path=origin,
                line=number,
                why=f"it lacks, or has in another form: {error}",
                hint=hint,
            ) from None
        yield number, found


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Rows of a table as (row number, columns by name): one of :data:`SUFFIXES`.

    For a folder, the rows of its shards, see :func:`shards`, each numbered from 1. For a workbook,
    the first sheet, which needs the package openpyxl.

    Raises:
        DataError: a missing or unreadable file, or an invalid row.
    """
    if path.is_dir():
        parts = shards(path)
        if not parts:
            raise DataError(
                "it is a folder, not a file",
                path=str(path),
                hint="name a file ending in " + ", ".join(SUFFIXES),
            )
        return (row for file in parts for row in read_rows(file))
    readers = {
        ".parquet": _parquet,
        ".jsonl": _jsonl,
        ".jsonl.gz": _jsonl,
        ".csv": _csv_with_header,
        ".xlsx": _excel,
    }
    suffix = "".join(path.suffixes[-2:]).lower()
    reader = readers.get(suffix) or readers.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"files of type {path.suffix or '(none)'} cannot be read",
            path=str(path),
            hint="give a file ending in " + ", ".join(SUFFIXES),
        )
    return reader(path)


def shards(folder: Path, splits: Sequence[str] = ("test", "train", "validation")) -> list[Path]:
    """The files of a downloaded data set: the first of these splits that exists, in order.

    In the Hub's layout: ``test-00000-of-00002.parquet``, in ``data`` or a folder named after the
    configuration; or the only table in the folder, whatever its name.
    """
    for split in splits:
        for place in (folder, folder / "data", *sorted(p for p in folder.glob("*") if p.is_dir())):
            if parts := sorted(place.glob(f"{split}-*.parquet")):
                return parts
    tables = [file for s in SUFFIXES for file in folder.glob(f"*{s}")]
    other = len(tables) == 1 and tables[0].stem in _SPLITS and tables[0].stem not in splits
    return tables if len(tables) == 1 and not other else []


_SPLITS = ("test", "train", "validation", "val", "dev")


def find_table(path: Path, names: Sequence[str], what: str, hint: str) -> Path:
    """The table that ``--data`` refers to: the path itself, or the first of these in a folder.

    If a folder has none of them, its shards: the only one, or the folder itself if several.

    Raises:
        DataError: the folder has none of them.
    """
    if not path.is_dir():
        return path
    found = next((file for name in names if (file := path / name).is_file()), None)
    if found is None and (parts := shards(path)):
        return parts[0] if len(parts) == 1 else path
    if found is None:
        raise DataError(f"the folder holds no {what}", path=str(path), hint=hint)
    return found


def read_csv_records(path: Path, *, first: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Records of a CSV file as (number, cells), counted from ``first`` without empty lines."""
    number = first - 1
    try:
        csv.field_size_limit(RECORD)
        with open_plain(path) as file:
            for cells in csv.reader(_texts(file, path), strict=True):
                if cells:
                    number += 1
                    yield number, cells
    except csv.Error as error:
        raise DataError(
            "this is not valid CSV", path=str(path), line=number + 1, why=str(error)
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, number + 1) from error


def _texts(file: IO[bytes], path: Path) -> Iterator[str]:
    """The lines of a table as text; those ending in a carriage return count as one."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    for line in lines_of(file, path):
        yield from io.StringIO(decoder.decode(line), newline="")
    decoder.decode(b"", final=True)


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        DataError: it cannot be read, or is not JSON.
    """
    try:
        return parse_json(read_plain(path))
    except OSError as error:
        raise unreadable(path, error) from None
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), why=str(error)) from None


def whole_of(value: Any) -> int:
    """An integer, however a table stores it: as an integer, a decimal number, or text.

    Raises:
        ValueError: it is not an integer, or too large.
    """
    try:
        if isinstance(value, str) and value.strip().endswith(".0"):
            value = value.strip()[:-2]  # pandas writes a column with gaps as decimal numbers
        found = int(value)
        if isinstance(value, bool) or (not isinstance(value, str) and found != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise Misfit("a whole number", value) from None
    if abs(found) > COUNT:
        raise Misfit("a smaller number", value)
    return found


def list_in(value: Any) -> list[Any]:
    """A list, however a table stores it: as a list, or as text in JSON's or Python's notation.

    Raises:
        TypeError, ValueError: it is not a list.
    """
    if isinstance(value, str):
        try:
            value = parse_json(value.encode())
        except ValueError:
            try:
                value = ast.literal_eval(value)
            except (SyntaxError, RecursionError, MemoryError):
                raise ValueError(f"{value[:60]!r} is no list") from None
    if not isinstance(value, list | tuple):
        raise TypeError(f"{str(value)[:60]!r} is no list")
    return list(value)


def unreadable(path: Path, error: Exception, line: int | None = None) -> DataError:
    """The error for a file that cannot be opened or decoded."""
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file", path=str(path), hint="check the path")
    if isinstance(error, UnicodeDecodeError):
        start = error.object[:64]
        sixteen = start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in start
        return DataError(
            "the file is UTF-16 text, not UTF-8" if sixteen else "the file is not UTF-8 text",
            path=str(path),
            line=line,
            why="" if sixteen else _not_utf8(error),
            hint="save it as UTF-8",
        )
    why = why_unread(error)
    return DataError("the file cannot be read", path=str(path), why=why)


def _not_utf8(error: UnicodeDecodeError) -> str:
    """Which byte is no UTF-8, and the character that it would be in Latin-1."""
    byte = error.object[error.start]
    start = error.object.rfind(b"\n", 0, error.start) + 1
    before = error.object[start : error.start].decode("latin-1")[-20:]
    as_latin = f" ({chr(byte)} in Latin-1)" if chr(byte).isprintable() else ""
    return f"the byte {byte:#04x}{as_latin} after {before!r} is not valid there"


def _csv_with_header(path: Path) -> Iterator[tuple[int, Row]]:
    header: Sequence[str] | None = None
    for number, cells in read_csv_records(path, first=0):
        if header is None:
            header = [cell.strip() for cell in cells]
            if any("\0" in name for name in header):
                what = "the file is UTF-16 text, not UTF-8"
                raise DataError(what, path=str(path), hint="save it as UTF-8")
            _check_header(path, header)
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{counted(len(cells), 'cell')} where the header names"
                f" {counted(len(header), 'column')}",
                path=str(path),
                line=number,
                hint="quote cells that hold commas or line breaks",
            )
        yield number, dict(zip(header, cells, strict=True))


def _check_header(path: Path, header: Sequence[str], line: int | None = None) -> None:
    """Reject a table, or a row, whose columns cannot be distinguished."""
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"two columns are called {twice!r}",
            path=str(path),
            line=line,
            hint="give each another name",
        )


def _excel(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "reading Excel files needs the package openpyxl",
            path=str(path),
            hint=f"{install_command('scorers')}, or save the table as CSV",
        ) from None
    try:
        check_plain(path)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        with zipfile.ZipFile(path) as packed:
            # No more than that of a member is ever unpacked.
            sizes = sum(member.file_size for member in packed.infolist())
        check_unpacked(sizes, path.stat().st_size)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        records = book.worksheets[0].iter_rows(values_only=True)
        header = ["" if cell is None else str(cell).strip() for cell in next(records, ())]
        _check_header(path, header)
        number = 0
        for place, cells in enumerate(records):
            if place >= _MOST_OF_A_SHEET:
                raise ValueError(f"a row beyond {_MOST_OF_A_SHEET:,}, the last that Excel has")
            if any(cell is not None for cell in cells):
                number += 1
                yield number, {n: c for n, c in zip(header, cells, strict=False) if n}
    except DataError:
        raise
    except Exception as error:  # openpyxl raises whatever zip files and XML do
        why = str(error).strip("\"'") or type(error).__name__
        if isinstance(error, zipfile.BadZipFile):
            why = "it is no zip archive, as Excel's files are"
        raise DataError("this is not an Excel file", path=str(path), why=why) from error


def _jsonl(path: Path) -> Iterator[tuple[int, Row]]:
    packed = path.suffix.lower() == ".gz"
    size = 0
    try:
        with open_plain(path) as plain, _unpacking(plain) if packed else plain as file:
            for number, line in enumerate(lines_of(file, path), 1):
                if packed:
                    check_unpacked(size := size + len(line), path.stat().st_size)
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line.strip():
                    yield number, _json_object(path, number, line)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(path, error) from error


def _unpacking(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file))


_ONE_PER_LINE = "JSON lines have one object in each line"


def _json_object(path: Path, number: int, line: bytes) -> Row:
    try:
        row = parse_json(line)
    except orjson.JSONDecodeError as error:
        why = f"{error.msg} at character {error.pos + 1} of the row"
        raise DataError(
            "this is not JSON", path=str(path), line=number, why=why, hint=_ONE_PER_LINE
        ) from error
    if not isinstance(row, dict):
        what = "a row must be a JSON object"
        raise DataError(what, path=str(path), line=number, hint=_ONE_PER_LINE)
    for name in row:
        # A name that occurs twice may also be a value or inside one: only then look closer.
        if line.count(b'"%b"' % name.encode("utf-8", "surrogatepass")) > 1:
            with contextlib.suppress(RecursionError):
                pairs: Any = json.loads(line, object_pairs_hook=tuple)
                _check_header(path, [pair[0] for pair in pairs], number)
    return row


def _letters(value: Any) -> int:
    """Characters and bytes of a value, plus 8 for any other part of it."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_letters, value.values()))
    return sum(map(_letters, value)) if isinstance(value, list) else 8


def _parquet(path: Path) -> Iterator[tuple[int, Row]]:
    require("data", "reading Parquet files", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    from evalbench.engine.data.parquet_pages import rows_at_once

    try:
        check_plain(path)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _check_header(path, file.schema_arrow.names)
            with open_plain(path) as pages:
                some = rows_at_once(pages, file.metadata)
            number, unpacked, size = 0, 0, path.stat().st_size
            for batch in file.iter_batches(some):
                for row in batch.to_pylist():
                    number += 1
                    # Not per batch: what it contains once, it may contain in every row.
                    unpacked += _letters(row)
                    check_unpacked(unpacked, size)
                    yield number, row
    except (OSError, ValueError, RecursionError, MemoryError, pyarrow.ArrowException) as error:
        what = "this is not a Parquet file, or one that is too large once it is unpacked"
        raise DataError(what, path=str(path), why=str(error)) from error

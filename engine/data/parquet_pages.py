"""Determines how large the pages of a Parquet file are once they are decompressed.

The footer says so too, but cannot be trusted; memory is allocated by what each page says about
itself, so the pages' own headers are added up before anything is decompressed. (Format:
apache/parquet-format, ``parquet.thrift``, in Thrift's compact protocol.)
"""

from __future__ import annotations

from typing import IO, Any

from evalbench.engine.files import RECORD, WHOLE

_MOST_VALUES = 100_000_000
"""Limit for one column in one row group, where a single row may hold many values."""

_MOST_PAGES = 1_000_000
_MOST_AT_ONCE = 65_536
_AT_ONCE = RECORD // 8
"""Bytes of rows that are decompressed at once; they are copied several times on their way."""
_HEADER = 1 << 20
"""Bytes within which a page header ends; statistics may make one long."""

_TEXTS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_DEEPEST = 16
_SIZE, _PACKED = 2, 3
_DICTIONARY = 7
_OF_VALUES = (5, _DICTIONARY, 8)
"""Fields of a page header: sizes, and what it says about its values for each kind of page."""


def rows_at_once(file: IO[bytes], metadata: Any) -> int:
    """How many rows can be decompressed at once within a few hundred megabytes of memory.

    A row is taken to be as large as a page in each column, as it may be with a dictionary of one
    text; in a column of lists of texts, times the values of a usual row.

    Args:
        file: the Parquet file.
        metadata: its footer, a ``pyarrow.parquet.FileMetaData``.

    Raises:
        ValueError: a page is invalid, too large, or contains too much.
    """
    largest: dict[int, int] = {}
    rows: dict[int, int] = {}
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            lists = metadata.schema.column(column).max_repetition_level > 0
            size, words = _largest_page(file, chunk, lists=lists)
            largest[column] = max(size, largest.get(column, 0))
            if lists and chunk.physical_type in _TEXTS:
                usual = chunk.num_values // max(1, metadata.row_group(group).num_rows)
                size = max(size, words * usual)
            rows[column] = max(size, rows.get(column, 0))
    together = sum(largest.values())
    if together > WHOLE:
        raise ValueError(f"a row may come to {together:,} bytes, over {WHOLE:,}")
    return max(1, min(_MOST_AT_ONCE, _AT_ONCE // max(1, sum(rows.values()))))


def _largest_page(file: IO[bytes], chunk: Any, *, lists: bool) -> tuple[int, int]:
    """Decompressed bytes of the largest page, and of the dictionary, of a column in a row group."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end = at + chunk.total_compressed_size
    values = largest = words = pages = 0
    while at < end:
        file.seek(at)
        header, length = _Compact(file.read(min(_HEADER, end - at))).header()
        size, packed = header.get(_SIZE), header.get(_PACKED)
        if not isinstance(size, int) or not isinstance(packed, int) or min(size, packed) < 0:
            raise ValueError("a page has no size")
        values += sum(_count(header.get(field)) for field in _OF_VALUES)
        if lists and values > _MOST_VALUES:
            raise ValueError(f"a column of lists has more than {_MOST_VALUES:,} values")
        pages += 1
        if pages > _MOST_PAGES:
            raise ValueError(f"a column has more than {_MOST_PAGES:,} pages")
        largest = max(largest, size)
        if _DICTIONARY in header:
            words = max(words, size)
        at += length + packed
    return largest, words


def _count(header: Any) -> int:
    values = header.get(1) if isinstance(header, dict) else 0
    return values if isinstance(values, int) and values > 0 else 0


class _Compact:
    """Reads one struct of Thrift's compact protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def header(self) -> tuple[dict[int, Any], int]:
        """The fields by number, and the bytes they took.

        Raises:
            ValueError: the bytes are invalid, or end too early.
        """
        try:
            return self._struct(0), self._at
        except IndexError:
            raise ValueError("the header of a page is cut off") from None

    def _struct(self, depth: int) -> dict[int, Any]:
        if depth > _DEEPEST:
            raise ValueError("the header of a page is nested too deeply")
        found: dict[int, Any] = {}
        field = 0
        while byte := self._byte():
            kind, step = byte & 15, byte >> 4
            field = field + step if step else self._signed()
            found[field] = self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._unsigned())
            case 9 | 10:
                return self._list(depth)
            case 12:
                return self._struct(depth + 1)
        raise ValueError("the header of a page is damaged")

    def _list(self, depth: int) -> None:
        byte = self._byte()
        count = byte >> 4 if byte >> 4 < 15 else self._unsigned()
        for _ in range(count):
            # Booleans take a byte each in a list.
            self._byte() if byte & 15 in (1, 2) else self._value(byte & 15, depth + 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("the header of a page is damaged")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

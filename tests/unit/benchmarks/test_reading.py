"""Reading tabular files: rows with their numbers, cells as they are, errors that name the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.data.reading import read_csv_records, read_rows, whole_of
from evalbench.engine.errors import DataError


def test_csv_cells_stay_text_and_may_hold_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeffname,value\nNone,"1\n2"\nNA,""\n', "utf-8")
    assert list(read_rows(path)) == [
        (1, {"name": "None", "value": "1\n2"}),
        (2, {"name": "NA", "value": ""}),
    ]


def test_json_lines_are_counted_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"a": 1}\n\n{"a": null}', "utf-8")
    assert list(read_rows(path)) == [(1, {"a": 1}), (3, {"a": None})]


def test_parquet_rows_keep_their_types(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"a": 1, "b": ["None", "x"]}, {"a": None, "b": []}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert list(read_rows(tmp_path / "a.parquet")) == [(1, rows[0]), (2, rows[1])]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "row 2: this is not JSON"),
        ("a.jsonl", b"[1]\n", "row 1: a row must be a JSON object"),
        ("a.jsonl", b'{"a": "\xff"}\n', "row 1: this is not JSON"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "row 2: 3 cells where the header names 2 columns"),
        ("a.csv", b"a,b\n1,\xff\n", "the file is not UTF-8 text"),
        ("a.csv", b'a,b\n1,"2" 3\n', "row 1: this is not valid CSV"),
        ("a.parquet", b"PAR1 or not", "this is not a Parquet file"),
        ("a.ods", b"", "files of type .ods cannot be read"),
        ("a.xlsx", b"", "this is not an Excel file"),
        ("a", b"", r"files of type \(none\) cannot be read"),
    ],
)
def test_a_bad_file_names_itself_and_the_row(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        list(read_rows(path))
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["no.csv", "no.jsonl", "no.parquet"])
def test_a_missing_file_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        list(read_rows(tmp_path / name))


def test_records_without_a_header_skip_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n\n3,4\n", "utf-8")
    assert list(read_csv_records(path)) == [(1, ["1", "2"]), (2, ["3", "4"])]


def test_whole_numbers_in_whatever_form_a_table_has_them() -> None:
    assert [whole_of(one) for one in (3, 3.0, "3", " 3.0", "-1.0")] == [3, 3, 3, 3, -1]
    for odd in ("3.5", 3.5, True, "", ".0", None):
        with pytest.raises(ValueError, match="whole number"):
            whole_of(odd)

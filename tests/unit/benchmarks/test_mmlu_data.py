"""Reading MMLU from files and folders, and what is said about malformed ones."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.benchmark import DataSet, DataSource, Sample, sample_ids
from evalbench.engine.benchmarks.mmlu.data import read_data
from evalbench.engine.errors import DataError

Row = dict[str, Any]


def _row(number: int = 1, subject: str = "anatomy", **changes: Any) -> Row:
    return {
        "question": f"Question {number}?",
        "subject": subject,
        "choices": ["None", "two", "two", "a, b"],
        "answer": number % 4,
        **changes,
    }


def _write(path: Path, rows: Sequence[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    elif path.suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["question", "subject", "A", "B", "C", "D", "answer"])
            for row in rows:
                letter = "ABCD"[row["answer"]] if isinstance(row["answer"], int) else row["answer"]
                writer.writerow([row["question"], row["subject"], *row["choices"], letter])
    return path


def _authors(folder: Path, split: str, subject: str, rows: Sequence[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{subject}_{split}.csv").open("w", encoding="utf-8", newline="") as file:
        for row in rows:
            csv.writer(file).writerow([row["question"], *row["choices"], "ABCD"[row["answer"]]])


def _read(path: Path, split: str = "test", shots: int = 0) -> DataSet:
    return read_data(DataSource(path, path.parent), split, shots)


def _samples(path: Path, split: str = "test") -> list[Sample]:
    return list(sample_ids(_read(path, split).items))


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_file_keeps_every_text_as_it_is(tmp_path: Path, suffix: str) -> None:
    samples = _samples(_write(tmp_path / f"mine{suffix}", [_row(1), _row(2), _row(1)]))
    assert [sample.gold for sample in samples] == [1, 2, 1]
    assert samples[0].inputs == {
        "question": "Question 1?",
        "choices": ["None", "two", "two", "a, b"],
    }
    assert samples[0].tags == {"subject": "anatomy", "category": "other"}
    assert [sample.id.partition(".")[2] for sample in samples] == ["1", "1", "2"]


def test_the_format_does_not_change_a_samples_id(tmp_path: Path) -> None:
    files = [
        _write(tmp_path / f"mine{suffix}", [_row()]) for suffix in (".parquet", ".jsonl", ".csv")
    ]
    assert len({_samples(file)[0].id for file in files}) == 1


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_folder_holds_splits(tmp_path: Path, suffix: str) -> None:
    _write(tmp_path / f"test{suffix}", [_row(1), _row(2, "virology")])
    _write(tmp_path / f"validation{suffix}", [_row(3)])
    _write(
        tmp_path / f"dev{suffix}", [_row(n, s) for s in ("anatomy", "virology") for n in range(5)]
    )
    data = _read(tmp_path, shots=2)
    assert [item.tags["subject"] for item in data.items] == ["anatomy", "virology"]
    assert {s: [e["question"] for e in rows] for s, rows in data.shared.items()} == {
        "anatomy": ["Question 0?", "Question 1?"],
        "virology": ["Question 0?", "Question 1?"],
    }
    assert data.origin == tmp_path.name
    assert [sample.inputs["question"] for sample in _samples(tmp_path, "validation")] == [
        "Question 3?"
    ]


def test_no_examples_are_kept_when_none_are_asked_for(tmp_path: Path) -> None:
    assert _read(_write(tmp_path / "test.jsonl", [_row()])).shared is None


def test_a_copy_of_the_hub_folder(tmp_path: Path) -> None:
    _write(tmp_path / "all" / "test-00000-of-00002.parquet", [_row(1)])
    _write(tmp_path / "all" / "test-00001-of-00002.parquet", [_row(2)])
    assert [sample.gold for sample in _samples(tmp_path)] == [1, 2]


def test_the_authors_folder_without_headers(tmp_path: Path) -> None:
    _authors(tmp_path / "test", "test", "anatomy", [_row(1), _row(2)])
    _authors(tmp_path / "test", "test", "virology", [_row(3)])
    _authors(tmp_path / "val", "val", "virology", [_row(4)])
    for subject in ("anatomy", "virology"):
        _authors(tmp_path / "dev", "dev", subject, [_row(n) for n in range(5)])
    data = _read(tmp_path, shots=5)
    assert [(item.tags["subject"], item.gold) for item in data.items] == [
        ("anatomy", 1),
        ("anatomy", 2),
        ("virology", 3),
    ]
    assert len(data.shared["virology"]) == 5
    assert len(_samples(tmp_path, "validation")) == 1


def test_one_file_of_the_authors_finds_its_examples(tmp_path: Path) -> None:
    _authors(tmp_path / "test", "test", "anatomy", [_row(1)])
    _authors(tmp_path / "dev", "dev", "anatomy", [_row(2)])
    data = _read(tmp_path / "test" / "anatomy_test.csv", shots=1)
    assert data.shared == {
        "anatomy": [
            {"question": "Question 2?", "choices": ["None", "two", "two", "a, b"], "answer": 2}
        ]
    }


def test_a_single_file_takes_its_examples_from_dev_beside_it(tmp_path: Path) -> None:
    path = _write(tmp_path / "mine.jsonl", [_row(1)])
    with pytest.raises(DataError, match="no dev split beside the questions") as error:
        _read(path, shots=1)
    assert "--shots 0" in error.value.hint
    _write(tmp_path / "dev.csv", [_row(2), _row(3)])
    assert [e["answer"] for e in _read(path, shots=1).shared["anatomy"]] == [2]


def test_too_few_examples_are_an_error(tmp_path: Path) -> None:
    _write(tmp_path / "dev.jsonl", [_row(n) for n in range(3)])
    with pytest.raises(DataError, match="3 solved examples for anatomy, not 5") as error:
        _read(_write(tmp_path / "test.jsonl", [_row()]), shots=5)
    assert error.value.hint == "--shots 3"


@pytest.mark.parametrize(
    ("answer", "index"), [(0, 0), (3, 3), ("2", 2), ("C", 2), (" d ", 3), (1.0, 1)]
)
def test_answers_are_an_index_or_a_letter(tmp_path: Path, answer: Any, index: int) -> None:
    path = _write(tmp_path / "test.jsonl", [_row(answer=answer)])
    assert _samples(path)[0].gold == index


def test_wrong_answers_that_a_model_made_up(tmp_path: Path) -> None:
    """The table of the Claude MMLU Experimenter's answer generator, in its two modes."""
    row = {
        "question": "2 + 2?", "correct_answer": "4", "subject": "STEM",
        "original_wrong_answers": ["1", "2", "3"], "generated_wrong_answers": ["5", "6", "7"],
    }  # fmt: skip
    file = tmp_path / "generated.jsonl"
    file.write_bytes(orjson.dumps(row))
    for mode, choices in (("generated", list("4567")), ("all", list("4123567"))):
        [item] = read_data(DataSource(file, tmp_path), "test", 0, mode).items
        assert (item.inputs["choices"], item.gold) == (choices, 0)
        assert item.tags == {"subject": "STEM", "category": "STEM"}
    file.write_bytes(orjson.dumps({**row, "generated_wrong_answers": "none"}))
    with pytest.raises(DataError, match="row 1: wrong answers are lists"):
        read_data(DataSource(file, tmp_path), "test", 0)


def test_choices_in_a_csv_cell_are_a_json_list(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_text(
        'question,subject,choices,answer\nWhy?,anatomy,"[""a"", ""b"", ""None"", ""d""]",3\n',
        "utf-8",
    )
    assert _samples(path)[0].inputs["choices"] == ["a", "b", "None", "d"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": 4}, "the answer 4 is neither 0 to 3 nor A to D"),
        ({"answer": -1}, "the answer -1 is"),
        ({"answer": "E"}, "the answer 'E' is"),
        ({"answer": "AB"}, "the answer 'AB' is"),
        ({"answer": None}, "the answer None is"),
        ({"answer": True}, "the answer True is"),
        ({"answer": 1.5}, "the answer 1.5 is"),
        ({"choices": ["a", "b", "c"]}, "3 choices where 4 belong"),
        ({"choices": ["a", "b", "c", "d", "e"]}, "5 choices where 4 belong"),
        ({"choices": None}, "choices that are no list"),
        ({"choices": "a b c d"}, "choices is not a JSON list"),
        ({"choices": ["a", "b", "", "d"]}, "choice C is empty"),
        ({"choices": ["a", "b", None, "d"]}, "choice C is empty"),
        ({"choices": ["a", 2, "c", "d"]}, "choice B is not a text"),
        ({"question": " \n"}, "the question is empty"),
        ({"question": None}, "the question is empty"),
        ({"subject": "anatomi"}, "unknown subject 'anatomi'"),
        ({"subject": None}, "unknown subject None"),
    ],
)
def test_a_malformed_row_is_named_by_file_and_number(
    tmp_path: Path, changes: Row, message: str
) -> None:
    path = _write(tmp_path / "test.jsonl", [_row(1), _row(2, **changes)])
    with pytest.raises(DataError, match=re.escape(f"{path}, row 2: {message}")) as error:
        _read(path)
    assert (error.value.path, error.value.line) == (str(path), 2)


def test_an_unknown_subject_suggests_the_nearest(tmp_path: Path) -> None:
    path = _write(tmp_path / "test.jsonl", [_row(subject="anatomi")])
    with pytest.raises(DataError) as error:
        _read(path)
    assert "anatomy" in error.value.hint


@pytest.mark.parametrize("column", ["question", "subject", "choices", "answer"])
def test_a_missing_column_is_named_with_those_found(tmp_path: Path, column: str) -> None:
    row = _row()
    del row[column]
    path = _write(tmp_path / "test.jsonl", [row])
    with pytest.raises(DataError, match=f"row 1: missing columns: {column}\n") as error:
        _read(path)
    assert all(name in error.value.why for name in row)


def test_a_malformed_example_is_an_error_too(tmp_path: Path) -> None:
    _write(tmp_path / "dev.jsonl", [_row(answer=9)])
    with pytest.raises(DataError, match=r"dev\.jsonl, row 1: the answer 9"):
        _read(_write(tmp_path / "test.jsonl", [_row()]), shots=1)


def test_a_folder_without_the_split(tmp_path: Path) -> None:
    _write(tmp_path / "test.jsonl", [_row()])
    with pytest.raises(DataError, match="the folder holds no validation split"):
        _read(tmp_path, "validation")


def test_the_authors_rows_have_six_cells(tmp_path: Path) -> None:
    (tmp_path / "anatomy_test.csv").write_text("Why?,a,b,c,d,A\nWhy?,a,b,c,A\n", "utf-8")
    with pytest.raises(DataError, match="row 2: 5 cells where 6 belong"):
        _read(tmp_path / "anatomy_test.csv")


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no questions"):
        _read(_write(tmp_path / "test.jsonl", []))


def test_solved_examples_beside_a_file_belong_to_its_data(tmp_path: Path) -> None:
    from evalbench.engine.benchmarks.mmlu.benchmark import Mmlu
    from evalbench.engine.calls.options import parse_options

    questions = _write(tmp_path / "test.jsonl", [_row(1)])
    solved = _write(tmp_path / "dev.jsonl", [_row(2)])
    bench = Mmlu(parse_options(Mmlu.options, {}, "mmlu"))
    assert bench.data_files(questions) == [questions, solved]
    assert set(bench.data_files(tmp_path)) == {questions, solved}

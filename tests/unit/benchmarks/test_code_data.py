"""The problems' layouts: one test case or several, JSON in every shape, Parquet and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.benchmark import DataSet, DataSource, Item
from evalbench.engine.benchmarks.code_reasoning.data import Selection, read_problems
from evalbench.engine.errors import DataError

ROW = {
    "id": "contest431_q3702_s0",
    "question_id": "q3702",
    "function_name": "f",
    "code": "def f(x):\n    return x + 1\n",
    "input": "f(x=3)",
    "output": "4",
    "correct_condition": "f(x=3) == 4",
    "difficulty": "easy",
    "mutated_code": "def f(x):\n    return x - 1\n",
    "mutated_output": "2",
    "has_mutation": True,
    "mutation_info": {"mutation_type": "arithmetic", "mutation_id": 0, "coverage_similarity": 0.0},
}
NO_MUTANT = {**ROW, "id": "none", "mutated_code": None, "mutated_output": None}
DSL = {
    "id": "dsl_neural_0",
    "code": "def dsl_prog_0(a1):\n    return (a1)[1:]",
    "input": ["dsl_prog_0(a1=[0, 5])", "dsl_prog_0(a1=[1])"],
    "output": ["[5]", "[]"],
    "mutated_code": "def dsl_prog_0(a1):\n    return (a1)[2:]",
    "mutated_output": ["[]", "[]"],
}
LLM = {
    "id": "llmlist_8",
    "header": "def append_item(lst, value):",
    "code": "def append_item(lst, value):\n    return lst + [value]",
    "inputs": [["[1]", "2"], ["[True]", "[3]"]],
    "outputs": ["[1, 2]", "[True, [3]]"],
    "mutated_code": "def append_item(lst, value):\n    return lst * [value]",
    "mutated_output": ["[1]", "[3]"],
}


def _read(path: Path, *, start: int = 0, without_mutant: bool = False) -> DataSet:
    return read_problems(
        DataSource(path, path.parent), Selection("", "train", start, without_mutant)
    )


def _items(path: Path, **how: Any) -> list[Item]:
    return list(_read(path, **how).items)


def _file(folder: Path, text: str, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def _lines(folder: Path, *rows: dict[str, Any]) -> Path:
    return _file(folder, "\n".join(map(json.dumps, rows)))


def test_a_row_with_one_test_case(tmp_path: Path) -> None:
    (item,) = _items(_lines(tmp_path, ROW))
    assert item.inputs == {
        "id": "contest431_q3702_s0",
        "calls": ["f(x=3)"],
        "code": ROW["code"],
        "mutant": ROW["mutated_code"],
    }
    assert item.gold == {"original": ["4"], "mutated": ["2"]}
    assert item.tags == {"difficulty": "easy", "mutation": "arithmetic"}


def test_rows_with_several_test_cases(tmp_path: Path) -> None:
    dsl, llm = _items(_lines(tmp_path, DSL, LLM))
    assert dsl.inputs["calls"] == ["dsl_prog_0(a1=[0, 5])", "dsl_prog_0(a1=[1])"]
    assert dsl.gold == {"original": ["[5]", "[]"], "mutated": ["[]", "[]"]}
    assert llm.inputs["calls"] == ["append_item([1], 2)", "append_item([True], [3])"]
    assert llm.gold["mutated"] == ["[1]", "[3]"]
    assert llm.tags == {}


def test_rows_whose_calls_and_outputs_stand_in_conditions(tmp_path: Path) -> None:
    bare = {k: v for k, v in ROW.items() if k not in ("input", "output", "correct_condition")}
    one = {**bare, "correct_condition": "f(x=3) == 4"}
    conditions = ["assert f(x=(1, 2)) == {'a': [1]}", "f(x='==') == 'a == b'"]
    many = {**bare, "id": "many", "conditions": conditions, "mutated_output": "7"}
    asked = {**ROW, "id": "asked", "input": "assert f(x=3) == ??"}
    listed = {**ROW, "id": "l", "input": ["f(1)", "f(2)", "f(3)"], "output": "[1, 2]"}
    items = _items(_lines(tmp_path, one, many, asked, listed))
    assert items[0].inputs["calls"] == items[2].inputs["calls"] == ["f(x=3)"]
    assert items[0].gold == {"original": ["4"], "mutated": ["2"]}
    assert items[1].inputs["calls"] == ["f(x=(1, 2))", "f(x='==')"]
    # One output of the mutant is that of all calls.
    assert items[1].gold == {"original": ["{'a': [1]}", "'a == b'"], "mutated": ["7", "7"]}
    assert items[3].gold["original"] == ["[1, 2]"] * 3


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROW) + "\n" + json.dumps(DSL) + "\n",
        json.dumps(ROW, indent=2) + "\n" + json.dumps(DSL, indent=2),
        "\ufeff" + json.dumps(ROW) + json.dumps(DSL),
        json.dumps([ROW, DSL], indent=1),
    ],
)
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_json_in_every_shape(tmp_path: Path, text: str, name: str) -> None:
    items = _items(_file(tmp_path, text, name))
    assert [item.inputs["id"] for item in items] == [ROW["id"], DSL["id"]]


def test_parquet_and_csv(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [LLM, {**LLM, "id": "second"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    assert [item.inputs["calls"] for item in _items(tmp_path / "rows.parquet")] == [
        ["append_item([1], 2)", "append_item([True], [3])"]
    ] * 2
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*ROW, "inputs"])
        writer.writeheader()
        writer.writerow({**ROW, "mutation_info": ""})
        writer.writerow({**NO_MUTANT, "mutated_code": "", "mutated_output": ""})
        # As pandas writes lists.
        several = {"inputs": str(["f(3)", "f(4)"]), "output": str(["4", "5"])}
        writer.writerow({**ROW, "id": "s", "input": "", "mutated_output": "['2', '3']", **several})
    one, many = _items(tmp_path / "rows.csv")
    assert one.gold == {"original": ["4"], "mutated": ["2"]}
    assert many.inputs["calls"] == ["f(3)", "f(4)"]
    assert many.gold == {"original": ["4", "5"], "mutated": ["2", "3"]}


def test_rows_without_a_mutant_are_left_out_and_counted(tmp_path: Path) -> None:
    blank = {**ROW, "id": "blank", "mutated_code": "  "}
    path = _lines(tmp_path, NO_MUTANT, ROW, blank, {**ROW, "id": "b"})
    data = _read(path)
    assert [item.inputs["id"] for item in data.items] == [ROW["id"], "b"]
    assert data.shared == {"index": {ROW["id"]: 0, "b": 1}, "rows": 4, "left_out": 2}
    kept = _read(path, without_mutant=True)
    items = list(kept.items)
    assert [item.inputs["mutant"] is None for item in items] == [True, False, True, False]
    assert items[0].gold == {"original": ["4"]}
    assert kept.shared["left_out"] == 0


def test_the_start_is_counted_after_rows_were_left_out(tmp_path: Path) -> None:
    rows = [{**ROW, "id": name} for name in "abcd"]
    path = _lines(tmp_path, rows[0], NO_MUTANT, *rows[1:])
    data = _read(path, start=2)
    assert [item.inputs["id"] for item in data.items] == ["c", "d"]
    # Places are those among all problems, so that seeds do not depend on the start.
    assert data.shared["index"]["c"] == 2
    with pytest.raises(DataError, match="no problem is left of 5 rows") as caught:
        _read(path, start=4)
    assert "--start-index" in caught.value.hint


def test_problems_without_an_id_and_with_the_same_one(tmp_path: Path) -> None:
    bare = {name: value for name, value in DSL.items() if name != "id"}
    path = _lines(tmp_path, {**ROW, "id": 0}, {**ROW, "id": 0}, bare)
    assert [item.inputs["id"] for item in _items(path)] == ["0", "0 #2", "row 3"]


def test_values_that_are_no_texts_are_written_as_python_does(tmp_path: Path) -> None:
    row = {
        **ROW,
        "input": [[3], ["'a'", None]],
        "output": [[1, "a"], True],
        "mutated_output": [0, 1.5],
    }
    (item,) = _items(_lines(tmp_path, row))
    assert item.inputs["calls"] == ["f(3)", "f('a', None)"]
    assert item.gold == {"original": ["[1, 'a']", "True"], "mutated": ["0", "1.5"]}


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"code": None}, "the program is empty"),
        ({"code": "x = 1", "function_name": None}, "the program defines no function"),
        ({"input": None, "correct_condition": None}, "there is no input"),
        ({"output": None, "correct_condition": None}, "the column output is empty"),
        ({"mutated_output": ""}, "the column mutated_output is empty"),
        ({"input": ["f(1)", "f(2)", "f(3)"], "output": [4, 5]}, "2 outputs in output for 3 inputs"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, changed: dict[str, Any], what: str) -> None:
    path = _lines(tmp_path, ROW, {**ROW, **changed})
    with pytest.raises(DataError, match=what) as caught:
        _read(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (json.dumps(ROW) + "\n\n{broken", 3),
        (json.dumps(ROW, indent=1) + "\n7", 19),
        (json.dumps([ROW, 7]), 2),
        ("[" * 100_000, 1),
    ],
)
def test_what_is_no_row_is_named(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(DataError) as caught:
        _read(_file(tmp_path, text))
    assert caught.value.line == line


def test_other_things_to_give_are_refused_with_a_cure(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this is a folder"):
        _read(tmp_path)
    with pytest.raises(DataError, match="there is no such file"):
        _read(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match=r"type \.txt cannot be read"):
        _read(_file(tmp_path, "x", "rows.txt"))
    with pytest.raises(DataError, match="no problem is left of 0 rows"):
        _read(_file(tmp_path, ""))
    with pytest.raises(DataError, match="ships no problems") as caught:
        read_problems(DataSource(None, tmp_path), Selection("", "train", 0, False))
    assert "--data PATH" in caught.value.hint
    assert "--dataset" in caught.value.hint


def test_nothing_in_the_data_is_executed(tmp_path: Path) -> None:
    made = tmp_path / "made"
    bomb = f"open({str(made)!r}, 'w').close() or 1"
    row = {**ROW, "code": f"def f(x):\n    pass\n{bomb}", "output": bomb, "inputs": f"[{bomb}]"}
    _items(_lines(tmp_path, row, {**row, "id": "b", "input": None}))
    assert not made.exists()

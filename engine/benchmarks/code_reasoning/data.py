"""The source of problems about running programs: a file, or the Hugging Face Hub.

Each problem is a Python program, a mutant of it with one operator changed, and the outputs of both
for one or more calls. Nothing here is ever executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import DataSet, DataSource, HubSet, Item
from evalbench.engine.data.hub_set import load_splits
from evalbench.engine.data.reading import SUFFIXES, Row, read_rows, shards, unreadable
from evalbench.engine.errors import DataError, counted
from evalbench.engine.files import WHOLE, read_text
from evalbench.engine.scoring.literals import NotALiteral, literal

_JSON = (".jsonl", ".json")
_DEFINED = re.compile(r"^[ \t]*def\s+([A-Za-z_]\w*)\s*\(", re.MULTILINE)

Rows = Iterator[tuple[str, int, Row]]
"""Rows with file name and row number."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows are asked.

    Attributes:
        hub: name of a data set on the Hugging Face Hub, optionally with ``@revision``; or empty.
        split: the data set's split.
        start: number of problems to skip, not counting those left out for lack of a mutant.
        without_mutant: whether to keep problems that have no mutant.
    """

    hub: str
    split: str
    start: int
    without_mutant: bool


def read_problems(source: DataSource, selection: Selection) -> DataSet:
    """The problems of a source.

    ``shared`` has ``index`` (each problem's index among those not left out, by id), ``rows`` and
    ``left_out``.

    Raises:
        DataError: names file and row of anything malformed.
    """
    if source.path is not None:
        origin, revision = source.path.name, ""
        rows = _path_rows(source.path)
    elif selection.hub:
        origin, revision, rows = _from_hub(source, selection)
    else:
        raise DataError(
            "this benchmark ships no problems",
            why="the original problems are LeetCode solutions, which may not be redistributed",
            hint="give a file with --data PATH, or a data set on the Hugging Face hub with"
            " --dataset OWNER/NAME@REVISION",
        )
    items: list[Item] = []
    index: dict[str, int] = {}
    count = left_out = 0
    for path, number, row in rows:
        count += 1
        item = _problem(path, number, row, _new_name(row, number, index))
        if item.inputs["mutant"] is None and not selection.without_mutant:
            left_out += 1
            continue
        index[item.inputs["id"]] = len(index)
        items.append(item)
    if not items[selection.start :]:
        raise DataError(
            f"no problem is left of {counted(count, 'row')}",
            path=str(source.path or origin),
            why=f"{left_out} without a mutant are left out, --start-index passes over"
            f" {selection.start}",
            hint="lower --start-index" if items else "give data with mutants (column mutated_code)",
        )
    shared = {"index": index, "rows": count, "left_out": left_out}
    return DataSet(iter(items[selection.start :]), shared, origin, revision)


def _new_name(row: Row, number: int, taken: dict[str, int]) -> str:
    """The row's id; repeated ids get a number, and rows without an id use their row number."""
    named = (row[column] for column in ("id", "question_id") if row.get(column) not in (None, ""))
    given = str(next(named, f"row {number}"))
    name, times = given, 1
    while name in taken:
        times += 1
        name = f"{given} #{times}"
    return name


# -- files ------------------------------------------------------------------------


def _path_rows(path: Path) -> Rows:
    if path.is_dir() and not shards(path, ("train", "test")):
        raise DataError(
            "this is a folder",
            path=str(path),
            hint="give a file ending in .json, " + ", ".join(SUFFIXES),
        )
    if path.is_dir():
        path = path if len(parts := shards(path, ("train", "test"))) > 1 else parts[0]
    rows = _json_rows(path) if path.suffix.lower() in _JSON else read_rows(path)
    for number, row in rows:
        yield str(path), number, row


def _json_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Consecutive objects, on one line each or over several, or a single list of them.

    Objects are numbered by the line on which they start, those in a list by their position.
    """
    try:
        text = read_text(path, WHOLE, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    decoder = json.JSONDecoder()
    at, line, counted = _skip(text, 0), 1, 0
    while at < len(text):
        line += text.count("\n", counted, at)
        counted = at
        try:
            value, end = decoder.raw_decode(text, at)
            orjson.dumps(value)  # data that cannot be stored is invalid
        except json.JSONDecodeError as error:
            raise DataError(
                "this is not JSON", path=str(path), line=error.lineno, why=error.msg
            ) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise DataError("this is not JSON", path=str(path), line=line, why=str(error)) from None
        listed = isinstance(value, list)
        for number, row in enumerate(value, 1) if listed else [(line, value)]:
            if not isinstance(row, dict):
                raise DataError("a row must be a JSON object", path=str(path), line=number)
            yield number, row
        at = _skip(text, end)


_BETWEEN = re.compile(r"[\s,]*")


def _skip(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


# -- the Hub ----------------------------------------------------------------------


def _from_hub(source: DataSource, selection: Selection) -> tuple[str, str, Rows]:
    """Origin, commit and rows of a data set; without a revision, the newest commit is used."""
    name, _, wanted = selection.hub.partition("@")
    hint = (
        "check name, split and network (evalbench keys set huggingface for a private one),"
        " or give a copy with --data PATH"
    )
    hub = HubSet(name, wanted, "", selection.split)
    splits, commit = load_splits(hub, source.cache, hint, source.progress)
    rows: list[Row] = splits[selection.split].to_list()
    where = f"{name}, {selection.split}"
    return name, commit, ((where, number, row) for number, row in enumerate(rows, 1))


# -- rows -------------------------------------------------------------------------


def _problem(path: str, number: int, row: Row, name: str) -> Item:
    """A row in either layout: one test case as text, or several as lists."""

    def wrong(what: str, hint: str = "") -> DataError:
        return DataError(what, path=path, line=number, hint=hint)

    code = row.get("code") or row.get("original_code")
    if not isinstance(code, str) or not code.strip():
        raise wrong("the program is empty", "the column is code")
    function = row.get("function_name")
    if not function:
        found = _DEFINED.search(code)
        function = found[1] if found else None
    if not isinstance(function, str):
        raise wrong("the program defines no function", "name it in the column function_name")
    conditions = _conditions(row)
    given = row.get("input")
    if isinstance(given, str) and given.strip():
        given = [given]
    elif not given:
        given = row.get("inputs") or [call for call, _ in conditions]
    calls = [_call(function, one) for one in _cases(given)]
    if not calls:
        raise wrong(
            "there is no input",
            "the column is input (one call), inputs (a list) or correct_condition (f(1) == 2)",
        )
    mutant = row.get("mutated_code")
    if not isinstance(mutant, str) or not mutant.strip():
        mutant = None
    stated = [output for _, output in conditions]
    gold = {"original": _outputs(row, "output", len(calls), wrong, stated)}
    if mutant is not None:
        gold["mutated"] = _outputs(row, "mutated_output", len(calls), wrong)
    info = row.get("mutation_info")
    kind = info.get("mutation_type") if isinstance(info, dict) else None
    tags = {"difficulty": row.get("difficulty"), "mutation": kind}
    return Item(
        {"id": name, "calls": calls, "code": code, "mutant": mutant},
        gold,
        {tag: str(value) for tag, value in tags.items() if value},
    )


_CONDITION = re.compile(r"\s*(?:assert\s+)?([\w.]+\(.*\))\s*==\s*(.+)", re.DOTALL)


def _conditions(row: Row) -> list[tuple[str, str]]:
    """The calls and outputs in ``correct_condition``: a text such as ``f(1) == 2``, or several."""
    given = row.get("correct_condition") or row.get("conditions")
    texts = [str(one) for one in _cases(given)]
    return [(found[1], found[2].strip()) for text in texts if (found := _CONDITION.match(text))]


def _cases(given: Any) -> list[Any]:
    """The test cases in a cell that contains a list; in a CSV file the list is text."""
    if isinstance(given, str) and given.lstrip().startswith("["):
        try:
            given = literal(given)
        except NotALiteral:
            return [given]
    if isinstance(given, list):
        return given
    return [] if given in (None, "") else [given]


def _call(function: str, given: Any) -> str:
    """The call as text; ``given`` is a call, its arguments as text, or a list of arguments."""
    text = ", ".join(map(_text, given)) if isinstance(given, list) else _text(given)
    text = _UNANSWERED.sub("", text.removeprefix("assert "))
    return text if re.match(rf"{re.escape(function)}\s*\(", text) else f"{function}({text})"


_UNANSWERED = re.compile(r"\s*==\s*\?\?\s*$")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else repr(value)


def _outputs(
    row: Row,
    column: str,
    count: int,
    wrong: Callable[..., DataError],
    otherwise: Sequence[str] = (),
) -> list[str]:
    """The outputs for ``count`` test cases, in Python notation; a single one applies to all.

    ``otherwise``: the outputs where the column is empty.
    """
    value = row.get(column)
    if value in (None, ""):
        value = row.get(column + "s")
    if value in (None, ""):
        value = list(otherwise) or None
    if value in (None, ""):
        raise wrong(f"the column {column} is empty")
    cells: Sequence[Any] = [value]
    if isinstance(value, list):
        cells = value if count > 1 or len(value) == 1 else [value]
    elif count > 1 and isinstance(value, str):
        listed = _cases(value)
        # A text with a list of another length is a single value.
        cells = listed if len(listed) == count else [value]
    if len(cells) == 1:
        cells = [*cells] * count
    if len(cells) != count:
        raise wrong(f"{len(cells)} outputs in {column} for {count} inputs")
    return [_text(cell) for cell in cells]

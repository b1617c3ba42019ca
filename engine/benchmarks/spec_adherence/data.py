"""SpecEval's files: specifications, inputs, and models' answers.

The layouts are those of ahmeda14960/specevaldataset (commit b1936bda): a specification is JSON
lines with one statement each; inputs are in one file per statement, in one of three formats; a
generation run has ``results/STATEMENT.json`` in a folder named after its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.calls import Outcome, options
from evalbench.engine.data.reading import find_table, read_json, read_rows, unreadable, whole_of
from evalbench.engine.errors import DataError, EvalbenchError
from evalbench.engine.field_checks import Misfit, anything, list_of, maybe, record
from evalbench.engine.files import WHOLE, parse_json, read_text
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder

KINDS = ("prohibition", "requirement", "guideline", "definition")
LEVELS = ("platform", "developer", "user", "guideline")

# Documents use X for varying digits: 202505XX_XXXXXX.
_TIME = re.compile(r"\d{4}[\dX]{4}_[\dX]{4,6}")
_FAILED = "ERROR:"


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    Attributes:
        statements: by id, as JSON values.
        skipped: lines that are not statements, with the reason.
        name: that of its file, without extension.
    """

    statements: Mapping[str, dict[str, Any]]
    skipped: list[tuple[int, str]] = field(default_factory=list)
    name: str = ""


def read_spec(path: Path) -> Spec:
    """Read a specification. As in the original, lines that are not JSON are skipped.

    Raises:
        DataError: it cannot be read, has no statements, or has one twice.
    """
    path = find_table(path, ("spec.jsonl",), "specification", "--data SPEC.jsonl")
    statements: dict[str, dict[str, Any]] = {}
    skipped: list[tuple[int, str]] = []
    table = path.is_dir() or path.suffix in (".csv", ".parquet")
    for number, row in _rows(path) if table else _lines(path, skipped):
        statement = _statement(path, number, row)
        if statement["id"] in statements:
            raise DataError(
                f"the statement {statement['id']!r} occurs twice", path=str(path), line=number
            )
        statements[statement["id"]] = statement
    if not statements:
        raise DataError("there is no statement in it", path=str(path))
    return Spec(statements, skipped, path.stem)


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    for number, row in read_rows(path):
        stored = row.get("metadata")
        try:
            metadata = parse_json(stored.encode()) if isinstance(stored, str) and stored else stored
        except orjson.JSONDecodeError:
            raise DataError("metadata is not JSON", path=str(path), line=number) from None
        yield number, {**row, "metadata": metadata or None}


def _lines(path: Path, skipped: list[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
    try:
        lines = read_text(path, WHOLE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from None
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                yield number, parse_json(line.encode())
        except orjson.JSONDecodeError:
            skipped.append((number, "not JSON"))


_STATEMENT = record({}, {"metadata": maybe(record({}, {"examples": maybe(list_of(anything))}))})


def _statement(path: Path, number: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict) or not row.get("id") or not isinstance(row.get("text"), str):
        raise DataError("a statement needs id and text", path=str(path), line=number)
    kind = str(row.get("type") or "guideline").lower()
    level = str(row.get("authority_level") or "guideline").lower()
    for name, value, allowed in (("type", kind, KINDS), ("authority_level", level, LEVELS)):
        if value not in allowed:
            raise DataError(
                f"{name} cannot be {value!r}",
                path=str(path),
                line=number,
                why="allowed: " + ", ".join(allowed),
            )
    try:
        _STATEMENT(row)
    except Misfit as error:
        raise DataError(
            "this is no statement", path=str(path), line=number, why=str(error)
        ) from None
    examples = (row.get("metadata") or {}).get("examples") or []
    return {
        "id": str(row["id"]),
        "text": row["text"],
        "type": kind,
        "authority": level,
        "section": str(row.get("section") or ""),
        "subsection": str(row.get("subsection") or ""),
        "examples": [
            {name: str(example.get(name) or "") for name in _EXAMPLE}
            for example in examples
            if isinstance(example, dict)
        ],
    }


_EXAMPLE = ("description", "user_query", "good_response", "bad_response")


def read_inputs(folder: Path, spec: Spec) -> Iterator[tuple[str, int, str]]:
    """Inputs as (statement id, index in its file, text), in the order of the statements.

    Raises:
        DataError: there are none for any statement, or a file is malformed.
    """
    found = False
    for ident in spec.statements:
        file = folder / f"{ident}.json"
        if not file.is_file():
            continue
        found = True
        body = read_json(file)
        items = body.get("inputs") if isinstance(body, dict) else body
        if not isinstance(items, list):
            raise DataError("there is no list of inputs in it", path=str(file))
        for place, item in enumerate(items):
            text = item.get("input_text") if isinstance(item, dict) else item
            if not isinstance(text, str):
                raise DataError("an input is a text", path=str(file), line=place + 1)
            index = item.get("original_index") if isinstance(item, dict) else None
            try:
                yield ident, place if index is None else whole_of(index), text
            except Misfit as error:
                what = f"original_index: {error}"
                raise DataError(what, path=str(file), line=place + 1) from None
    if not found:
        raise DataError(
            "the folder has no inputs for any statement",
            path=str(folder),
            hint="it should hold one STATEMENT_ID.json for each statement",
        )


def own_inputs(spec: Spec) -> Iterator[tuple[str, int, str]]:
    """The questions in the statements' own examples, as inputs."""
    for ident, statement in spec.statements.items():
        for place, example in enumerate(statement["examples"]):
            if example["user_query"]:
                yield ident, place, example["user_query"]


Answers = dict[tuple[str, str], str | None]
"""Answers by (statement id, input text); None if there was an error instead."""


def is_time(name: str) -> bool:
    """Whether a folder's name is the start time of a run."""
    return _TIME.fullmatch(name) is not None


def contestant(given: str) -> tuple[str, Path]:
    """Split ``NAME=PATH``; without a name, one is derived from the path."""
    name, path = options.split_name(given)
    place = Path(path)
    if name:
        return name, place
    for part in (place, *place.parents):
        if part.name and part.name != "results" and not is_time(part.name):
            return part.name, place
    return place.name, place


def read_answers(path: Path) -> Answers:
    """Answers from a generation folder, or from a run of spec-generate.

    If there are several times in the folder, the latest by name is used.

    Raises:
        DataError: there are none, or a file is malformed.
    """
    if (path / "spec.json").is_file():
        return _answers_of_run(path)
    folder = _results(path)
    answers: Answers = {}
    for file in sorted(folder.glob("*.json")):
        items = read_json(file)
        if not isinstance(items, list):
            raise DataError("there is no list of answers in it", path=str(file))
        for place, item in enumerate(items):
            try:
                given, output = item["input_text"], item["output_text"]
            except (KeyError, TypeError):
                raise DataError(
                    "an answer needs input_text and output_text", path=str(file), line=place + 1
                ) from None
            failed = not isinstance(output, str) or output.startswith(_FAILED)
            answers[file.stem, str(given)] = None if failed else output
    if not answers:
        raise DataError("there are no answers in it", path=str(folder))
    return answers


def _results(path: Path) -> Path:
    """The folder of result files for any of its parent folders."""
    if path.name == "results" or any(path.glob("*.json")):
        return path
    found = [p for p in path.rglob("results") if p.is_dir()]
    if not found:
        raise DataError(
            "the folder holds no results",
            path=str(path),
            hint="give the folder of a generation run, or a run of spec-generate",
        )
    models = {_model_folder(p) for p in found}
    if len(models) > 1:
        raise DataError(
            "the folder holds the answers of several models",
            path=str(path),
            why=", ".join(sorted(p.name for p in models)),
            hint="give each of them: --answers NAME=FOLDER --answers NAME=FOLDER",
        )
    return max(found, key=lambda p: p.parent.name)


def _model_folder(results: Path) -> Path:
    above = results.parent
    return above.parent if is_time(above.name) else above


def _answers_of_run(path: Path) -> Answers:
    folder = RunFolder(path)
    try:
        if folder.spec().benchmark != "spec-generate":
            raise DataError(
                f"{path.name} is a run of {folder.spec().benchmark}",
                hint="give a run of spec-generate",
            )
        with JournalReader(folder.journal) as journal:
            rows = list(journal.samples())
            return {
                (row.sample.inputs["statement"]["id"], row.sample.inputs["input"]): _answer(
                    journal, row.row
                )
                for row in rows
            }
    except (EvalbenchError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("the run cannot be read", path=str(path), why=str(error)) from None


def _answer(journal: JournalReader, row: int) -> str | None:
    """The newest answer in a sample's first epoch; None if there is none."""
    text = None
    for call in journal.calls(row):
        reply = call.reply
        if call.key.epoch == 0 and reply is not None and reply.outcome is not Outcome.ERROR:
            text = reply.text
    return text

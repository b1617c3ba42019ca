"""The source of MMLU's rows: the Hugging Face Hub, a file, or a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import DataSet, DataSource, Item, sample_ids
from evalbench.engine.benchmarks.mmlu.subjects import SUBJECTS, category_tag
from evalbench.engine.data.hub import PinnedFile, fetch_rows
from evalbench.engine.data.reading import (
    SUFFIXES,
    Row,
    list_in,
    read_csv_records,
    read_rows,
    shards,
    whole_of,
)
from evalbench.engine.errors import DataError, counted, nearest
from evalbench.engine.installed import require
from evalbench.engine.scoring.letters import LETTERS

HUB_ID = "cais/mmlu"
REVISION = "c30699e8356da336a370243923dbaf21066bb9fe"

_LETTERS = "ABCD"
_COLUMNS = ("question", "subject", "choices", "answer")
_WRONG = {"correct_answer", "original_wrong_answers", "generated_wrong_answers"}
GENERATED, ALL = "generated", "all"
_SPLIT_NAMES = {"test": ("test",), "validation": ("validation", "val"), "dev": ("dev",)}

Rows = Iterator[tuple[str, int, Row]]
"""Rows with file name and row number."""


def read_data(source: DataSource, split: str, shots: int, alternatives: str = GENERATED) -> DataSet:
    """The questions of ``split`` and, as ``shared``, the first ``shots`` dev rows of each subject.

    ``alternatives`` is about the tables of the Claude MMLU Experimenter's answer generator.

    Raises:
        DataError: names file and row of anything malformed, or the examples needed for ``shots``
            are missing.
    """
    taken: list[int | None] = []
    if source.path is None:
        origin, revision = HUB_ID, REVISION
        require("data", f"{HUB_ID} of the Hugging Face hub", "datasets", "pyarrow")
        questions = [_question(*row) for row in _hub_rows(source, split)]
        solved = (_question(*row) for row in _hub_rows(source, "dev")) if shots else iter(())
    elif results := experiment_results(source.path):
        origin, revision = f"experiment {source.path.resolve().name}", ""
        found = [_answered(str(results), number, row) for number, row in read_rows(results)]
        questions, taken = [row for row, _ in found], [place for _, place in found]
        solved = (_question(*row) for row in _dev_rows(source.path)) if shots else iter(())
    else:
        origin, revision = source.path.name, ""
        questions = [
            _generated(*row, alternatives) if row[2].keys() >= _WRONG else _question(*row)
            for row in _path_rows(source.path, split)
        ]
        solved = (_question(*row) for row in _dev_rows(source.path)) if shots else iter(())
    if not questions:
        raise DataError("there are no questions in it", path=str(source.path or origin))
    examples = _examples(solved, {row["subject"] for row in questions}, shots, origin)
    items = [
        Item(
            inputs={"question": row["question"], "choices": row["choices"]},
            gold=row["answer"],
            tags={"subject": row["subject"], "category": category_tag(row["subject"])},
        )
        for row in questions
    ]
    shared: dict[str, Any] = {**examples}
    if taken:
        samples = zip(sample_ids(iter(items)), taken, strict=True)
        shared[TAKEN] = {sample.id: place for sample, place in samples if place is not None}
    return DataSet(iter(items), shared=shared or None, origin=origin, revision=revision)


TAKEN = "taken over"
"""The key in ``shared`` for the options that an experiment has already parsed, by sample."""

UNREAD = -1
"""An experiment's value for a reply in which it found no letter."""


def experiment_results(path: Path) -> Path | None:
    """The results of a Claude MMLU Experimenter experiment, if the folder is one."""
    if not path.is_dir() or not (path / "config.json").is_file():
        return None
    return next((file for s in SUFFIXES if (file := path / f"results{s}").is_file()), None)


def _answered(path: str, number: int, row: Row) -> tuple[Row, int | None]:
    """A row of an experiment, and the option parsed; None if it was not asked yet."""
    question = _question(path, number, row, experiment=True)
    predicted = row.get("predicted")
    if predicted is None or predicted == "" or predicted != predicted:
        return question, None
    try:
        return question, whole_of(predicted)
    except ValueError as error:
        raise DataError("predicted is no option", path=path, line=number, why=str(error)) from None


def _generated(path: str, number: int, row: Row, alternatives: str) -> Row:
    """A row with wrong answers that a model made up: the right option is the first."""
    try:
        choices = [row["correct_answer"], *list_in(row["generated_wrong_answers"])]
        if alternatives == ALL:
            choices[1:1] = list_in(row["original_wrong_answers"])
    except (TypeError, ValueError) as error:
        raise DataError("wrong answers are lists", path=path, line=number, why=str(error)) from None
    return _question(path, number, {**row, "choices": choices, "answer": 0}, experiment=True)


def _examples(
    solved: Iterable[Row], subjects: set[str], shots: int, origin: str
) -> dict[str, list[Row]]:
    if not shots:
        return {}
    examples: dict[str, list[Row]] = {subject: [] for subject in sorted(subjects)}
    for row in solved:
        of_subject = examples.get(row.pop("subject"), [])
        if len(of_subject) < shots:
            of_subject.append(row)
    for subject, rows in examples.items():
        if len(rows) < shots:
            raise DataError(
                f"the dev split has {len(rows)} solved examples for {subject}, not {shots}",
                path=origin,
                hint=f"--shots {len(rows)}",
            )
    return examples


def _hub_rows(source: DataSource, split: str) -> Rows:
    file = PinnedFile(HUB_ID, REVISION, f"all/{split}-00000-of-00001.parquet")
    for number, row in fetch_rows(file, source.progress):
        yield f"{HUB_ID}, {split}", number, row


def _path_rows(path: Path, split: str) -> Rows:
    if path.is_dir():
        files = _split_files(path, split) or shards(path, _SPLIT_NAMES[split])
        if not files:
            raise DataError(
                f"the folder holds no {split} split",
                path=str(path),
                hint=f"put {split}.parquet, .jsonl or .csv there, or {split}/SUBJECT_{split}.csv",
            )
    else:
        files = [path]
    for file in files:
        yield from _file_rows(file)


def dev_files(path: Path) -> list[Path]:
    """The files with the solved examples for ``--data path``; they may not exist."""
    if path.is_dir():
        return _split_files(path, "dev")
    if subject := _subject_in_name(path):
        beside = (path.parent, path.parent.parent / "dev")
        named = (folder / f"{subject}_dev.csv" for folder in beside)
        if files := [file for file in named if file.is_file()]:
            return files
    return _split_files(path.parent, "dev")


def _dev_rows(path: Path) -> Rows:
    files = dev_files(path)
    if not files:
        raise DataError(
            "solved examples are asked for and there is no dev split beside the questions",
            path=str(path),
            hint="put dev.parquet, .jsonl or .csv there, or ask without examples: --shots 0",
        )
    for file in files:
        yield from _file_rows(file)


def _split_files(folder: Path, split: str) -> list[Path]:
    """Files of a split: one file, the Hub's parts, or the authors' one CSV per subject."""
    for name in _SPLIT_NAMES[split]:
        for suffix in SUFFIXES:
            if (file := folder / f"{name}{suffix}").is_file():
                return [file]
        for inner in (folder, folder / "all", folder / "data"):
            if parts := sorted(inner.glob(f"{name}-*.parquet")):
                return parts
        for inner in (folder / name, folder / "data" / name):
            if parts := sorted(inner.glob(f"*_{name}.csv")):
                return parts
    return []


def _subject_in_name(path: Path) -> str:
    """The subject in the authors' file names, such as ``anatomy_test.csv``, or empty."""
    subject, _, split = path.stem.rpartition("_")
    known = any(split in names for names in _SPLIT_NAMES.values())
    return subject if path.suffix == ".csv" and known and subject in SUBJECTS else ""


def _file_rows(path: Path) -> Rows:
    subject = _subject_in_name(path)
    if not subject:
        for number, row in read_rows(path):
            yield str(path), number, row
        return
    # The authors' files have no header: question, four options, letter.
    for number, cells in read_csv_records(path):
        if len(cells) != 6:
            raise DataError(f"{len(cells)} cells where 6 belong", path=str(path), line=number)
        question, *choices, answer = cells
        row = {"question": question, "choices": choices, "answer": answer, "subject": subject}
        yield str(path), number, row


def _question(path: str, number: int, row: Row, *, experiment: bool = False) -> Row:
    """The row with its four fields checked and converted; ``answer`` becomes an index.

    An experiment may have its own groups as subjects, and seven options.
    """

    def wrong(what: str, why: str = "", hint: str = "") -> DataError:
        return DataError(what, path=path, line=number, why=why, hint=hint)

    if "choices" not in row and all(letter in row for letter in _LETTERS):
        row = {**row, "choices": [row[letter] for letter in _LETTERS]}
    if missing := [column for column in _COLUMNS if column not in row]:
        raise wrong(
            "missing columns: " + ", ".join(missing),
            why="columns found: " + ", ".join(map(str, row)),
            hint="the columns are " + ", ".join(_COLUMNS) + " (or A, B, C, D for choices)",
        )
    question, subject = row["question"], row["subject"]
    if not isinstance(question, str) or not question.strip():
        raise wrong("the question is empty")
    known = isinstance(subject, str) and bool(experiment or subject in SUBJECTS)
    if not known or not subject:
        raise wrong(f"unknown subject {subject!r}", hint=nearest(str(subject), SUBJECTS))
    letters = LETTERS if experiment and len(row["choices"]) == len(LETTERS) else _LETTERS
    return {
        "question": question,
        "subject": subject,
        "choices": _choices(row["choices"], letters, wrong),
        "answer": _answer(row["answer"], letters, wrong),
    }


def _choices(value: Any, letters: str, wrong: Callable[..., DataError]) -> list[str]:
    if isinstance(value, str):
        try:
            value = list_in(value)
        except (TypeError, ValueError):
            raise wrong(
                "choices is not a JSON list", hint="use one column for each option: A, B, C, D"
            ) from None
    if not isinstance(value, list) or len(value) != len(letters):
        given = (
            counted(len(value), "choice") if isinstance(value, list) else "choices that are no list"
        )
        raise wrong(f"{given} where 4 belong")
    for letter, text in zip(letters, value, strict=True):
        if not isinstance(text, str) or not text.strip():
            raise wrong(f"choice {letter} is {'empty' if text in (None, '') else 'not a text'}")
    return list(value)


def _answer(value: Any, letters: str, wrong: Callable[..., DataError]) -> int:
    text = str(value).strip().upper()
    if isinstance(value, float) and value.is_integer():
        text = str(int(value))
    if text in letters and len(text) == 1:
        return letters.index(text)
    if text.isascii() and text.isdigit() and int(text) < len(letters):
        return int(text)
    raise wrong(f"the answer {value!r} is neither 0 to {len(letters) - 1} nor A to {letters[-1]}")

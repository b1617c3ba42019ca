"""OpenSeeSimE's result files as runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.errors import DataError
from evalbench.engine.formats.openseesime.reader import read_results
from tests.imports import written

Row = dict[str, Any]


def row(**change: Any) -> Row:
    """A row as the original writes it."""
    whole = {
        "file_name": "Beams_12.png",
        "source_file": "Beams_12",
        "question": "Where is the stress highest?",
        "question_type": "multiple choice",
        "question_id": 3,
        "answer": "B",
        "answer_choices": "['A', 'B', 'C']",
        "correct_choice_idx": 1,
        "model": "claude-sonnet-4-5",
        "model_answer": "B",
        "explanation": "It is at the\nclamped end.",
        "correct": True,
        "media_type": "image",
    }
    return whole | change


WRONG = {"model_answer": "C", "correct": False}
NO_OPTION = {"model_answer": "None", "explanation": "It looks so.", "correct": False}
ERRORS = (
    "Error code: 429 - {'type': 'error', 'error': {'type': 'rate_limit_error'}}",
    "Connection error.",
    "Request timed out.",
    "Could not read video: /tmp/x.mp4",
    "No frames extracted from video",
    "503 UNAVAILABLE. {'error': {'code': 503}}",
)


def write(path: Path, rows: list[Row]) -> Path:
    """A CSV file as pandas writes it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.fixture
def file(tmp_path: Path, home: Path) -> Path:
    """Where to write one."""
    return tmp_path / "results_claude.csv"


def test_errors_that_were_stored_as_answers_are_failures(file: Path) -> None:
    rows = [
        row(),
        row(**WRONG),
        row(**NO_OPTION),
        row(
            question_type="binary", answer="Yes", answer_choices="['Yes', 'No']", model_answer="yes"
        ),
        row(media_type="video", file_name="Beams_2.mp4", source_file="Beams_2"),
        *(row(**NO_OPTION | {"explanation": text}) for text in ERRORS),
    ]
    (recorded,) = read_results(write(file, rows))
    run = written(recorded)
    assert run.folder.status().failed == len(ERRORS)
    assert run.folder.spec().model == "answers/claude-sonnet-4-5"
    assert run.counts("accuracy") == run.counts("accuracy_strict") == (3, 5)
    assert run.counts("unread_strict") == (1, 5)
    assert run.counts("accuracy/type=binary") == (1, 1)
    assert run.counts("accuracy/medium=video") == (1, 1)
    assert run.counts("accuracy/simulation=Beams") == (3, 5)
    assert recorded.notes[-1].startswith(f"{len(ERRORS)} answers with the text of an error")


def test_the_word_none_may_be_an_option(file: Path) -> None:
    options = {"answer_choices": "['None', 'Some']", "model_answer": "None", "explanation": "so"}
    rows = [
        row(**options | {"answer": "None", "correct": True}),
        row(**options | {"answer": "None", "correct": False}),
        row(**options | {"answer": "Some", "correct": False}),
    ]
    (recorded,) = read_results(write(file, rows))
    assert written(recorded).counts("accuracy_strict") == (1, 3)


def test_every_model_gets_a_run(file: Path) -> None:
    rows = [row(), row(model="other"), row(model="other", **WRONG)]
    runs = [written(one) for one in read_results(write(file, rows))]
    assert [run.counts("accuracy") for run in runs] == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"question": "x", "answer": "y"}], "row 1: the column answer_choices is missing"),
        ([row(), row(answer_choices="[A, B")], "row 2: answer_choices is no list"),
        ([row(answer_choices="{'A': 1}")], "row 1: answer_choices is no list"),
        ([row(answer_choices="__import__('os')")], "row 1: answer_choices is no list"),
    ],
)
def test_a_bad_row_is_named(rows: list[Row], told: str, file: Path) -> None:
    with pytest.raises(DataError, match=told):
        read_results(write(file, rows))

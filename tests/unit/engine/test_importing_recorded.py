"""Runs written out of records: names, failures, and that none is left half made."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.mmlu.benchmark import Mmlu
from evalbench.engine.config.spec import make_spec, parse_model
from evalbench.engine.errors import DataError
from evalbench.engine.formats.recorded import (
    Recorded,
    RecordedReply,
    known_as,
    stands_for,
    write_run,
)
from evalbench.engine.journal import JournalReader
from evalbench.engine.process.launch import EngineOptions, resume_run
from evalbench.engine.runs.folder import all_runs
from tests.imports import written

SPEC_WORDS = {"options": {"family": "chat"}}


def recorded(*texts: str | None) -> Recorded:
    """One question, with so many answers."""
    item = Item(
        {"question": "2 + 2?", "choices": list("3456")},
        1,
        {"subject": "elementary_mathematics", "category": "STEM"},
    )
    said = [
        {("candidate", "answer", 0): RecordedReply(text, "as asked")} if text else {}
        for text in texts
    ]
    spec = make_spec("mmlu", stands_for("some model"), **SPEC_WORDS)
    return Recorded(spec, [(item, one) for one in said], "records", ["a note"])


def test_equal_questions_keep_their_own_answers(home: Path) -> None:
    run = written(recorded("B", "A", "B"))
    assert run.counts("accuracy") == (2, 3)
    with JournalReader(run.folder.journal) as journal:
        replies = [journal.calls(row)[0].reply for row in (1, 2, 3)]
        ids = [row.sample.id.partition(".") for row in journal.samples()]
        prompt = journal.calls(1)[0].prompt
    assert [reply.text for reply in replies if reply] == ["B", "A", "B"]
    assert [number for _, _, number in ids] == ["1", "2", "3"]
    assert len({digest for digest, _, _ in ids}) == 1
    assert prompt.messages[0].text == "as asked"


def test_a_question_without_an_answer_is_a_failure(home: Path) -> None:
    run = written(recorded("B", None))
    status = run.folder.status()
    assert (status.failed, status.exit_code, status.errors) == (1, 2, {"NoAnswer": 1})
    assert run.counts("accuracy") == (1, 1)
    assert run.metrics["accuracy"]["bound_low"] == 0.5
    with JournalReader(run.folder.journal) as journal:
        failed = list(journal.scores())[1]
    assert failed.detail == {"error": "NoAnswer: none is recorded"}


async def test_nothing_recorded_makes_no_run(home: Path) -> None:
    with pytest.raises(DataError, match="records: there are no results in it"):
        await write_run(recorded())
    assert not all_runs()


async def test_no_half_made_run_is_left(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(Mmlu, "metrics", broken)
    with pytest.raises(DataError, match="ArithmeticError"):
        await write_run(recorded("A"))
    assert list((home / "runs").iterdir()) == []


def test_an_imported_run_cannot_be_resumed(home: Path) -> None:
    run = written(recorded("B", None)).folder
    with pytest.raises(Exception, match="was imported; it has no model to call"):
        resume_run(run, EngineOptions(accept_changes=True))
    assert run.live_pid() is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt-4", "gpt-4"),
        ("org/model@main", "org/model@main"),
        ("a,temperature=2", "a-temperature=2"),
        ("\x1b[31mred\u202e\n", "-[31mred--"),
        ("@", "unnamed"),
        ("", "unnamed"),
        (None, "None"),
        (7, "7"),
        ("\ud800", "-"),
        ("模型", "模型"),
    ],
)
def test_names_out_of_files_are_models(name: object, told: str) -> None:
    assert known_as(name) == told
    assert str(parse_model(stands_for(name))) == f"answers/{told}"

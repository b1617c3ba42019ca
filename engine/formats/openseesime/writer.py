"""OpenSeeSimE's CSV of results: the option parsed from each reply, next to the question."""

from __future__ import annotations

from typing import Any

from evalbench.engine.config.roles import CANDIDATE
from evalbench.engine.formats.files import Files
from evalbench.engine.runs.reader import RunReader, SampleSummary, file_name
from evalbench.engine.scoring.chosen_option import explanation, is_right, read_option

_ERROR = "Error: there is no answer"


def write(run: RunReader, files: Files) -> list[str]:
    """Add the table to ``files``; returns what it cannot contain."""
    rows = [_row(run, summary) for summary in run.samples()]
    files.table(f"{file_name(run.candidate)}.csv", rows)
    return ["options are read as the original does: a first line that is none counts as wrong"]


def _row(run: RunReader, summary: SampleSummary) -> dict[str, Any]:
    given, tags = summary.sample.inputs, summary.sample.tags
    text = summary.text(CANDIDATE, "answer")
    choices = given["choices"]
    option = None if text is None else read_option(text, choices)
    gold = str(summary.sample.gold)
    return {
        "file_name": given["file"],
        "source_file": tags["simulation"],
        "question": given["question"],
        "question_type": tags["type"],
        "question_id": given["question_id"],
        "answer": gold,
        "answer_choices": repr(choices),
        "correct_choice_idx": choices.index(gold) if gold in choices else "",
        "model": run.candidate,
        "model_answer": "None" if option is None else option,
        "explanation": _ERROR if text is None else explanation(text),
        "correct": option is not None and is_right(option, gold),
        "media_type": tags["medium"],
    }

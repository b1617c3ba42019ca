"""A folder of the Claude MMLU Experimenter: the questions, and the option parsed for each."""

from __future__ import annotations

import hashlib
import io
import time
from typing import Any

from evalbench.engine.benchmarks.mmlu.data import UNREAD
from evalbench.engine.calls import Outcome
from evalbench.engine.errors import counted
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import require
from evalbench.engine.runs.reader import RunReader, SampleSummary
from evalbench.engine.scoring.letters import LENIENT, LETTERS, LOGLIKELIHOOD

_RESULTS = "results.parquet"
_QUESTIONS = "questions.parquet"
_PARSERS = [parser.partition("/")[0] for parser in (LENIENT, LOGLIKELIHOOD)]


def write(run: RunReader, files: Files) -> list[str]:
    """Add ``config.json`` and ``results.parquet`` to ``files``; returns what they cannot hold."""
    require("data", "writing Parquet files", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist([_row(rows) for rows in run.samples()], _schema(pyarrow))
    questions = table.drop_columns(["predicted"])
    for name, rows in ((_RESULTS, table), (_QUESTIONS, questions)):
        body = io.BytesIO()
        pyarrow.parquet.write_table(rows, body)
        files.raw(name, body.getvalue())
    files.json(
        "config.json",
        {
            "description": run.spec.settings.desc or run.id,
            "model": _model(run),
            "save_frequency": 10,
            "df_path": _QUESTIONS,
            "data_hash": _hash(body),
            "created_at": _stamp(run.created),
            "last_updated": _stamp(run.status.updated),
        },
    )
    unasked = table.column("predicted").null_count
    notes = [
        "replies have no place in it: only the option that was read in each",
        f"the original resumes it with the questions in {_QUESTIONS} (--df-path)",
    ]
    if unasked:
        notes.append(f"no prediction for {counted(unasked, 'question')} without an answer")
    return notes


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def _model(run: RunReader) -> Any:
    """The model in the original's form: an object with the API, for those that it supports."""
    apis = {"anthropic": "claude", "deepseek": "deepseek"}
    if api := apis.get(run.spec.candidate.provider):
        return {"type": api, "model": run.spec.candidate.name}
    return run.candidate


def _hash(parquet: io.BytesIO) -> str:
    """The original's hash of its questions: the md5 of the table as printed by pandas."""
    import pandas

    parquet.seek(0)
    printed = pandas.read_parquet(parquet).to_string().encode()
    return hashlib.md5(printed, usedforsecurity=False).hexdigest()


def _schema(pyarrow: Any) -> Any:
    return pyarrow.schema(
        [
            ("question", pyarrow.string()),
            ("subject", pyarrow.string()),
            ("choices", pyarrow.list_(pyarrow.string())),
            ("answer", pyarrow.int64()),
            ("predicted", pyarrow.int64()),
        ]
    )


def _row(summary: SampleSummary) -> dict[str, Any]:
    given = summary.sample.inputs
    return {
        "question": given["question"],
        "subject": summary.sample.tags["subject"],
        "choices": list(given["choices"]),
        "answer": summary.sample.gold,
        "predicted": _predicted(summary),
    }


def _predicted(summary: SampleSummary) -> int | None:
    """The parsed option; -1 for a reply without one, None if there is no reply."""
    if summary.score is None or summary.score.outcome is Outcome.ERROR:
        return None
    if summary.score.outcome in (Outcome.REFUSED, Outcome.FILTERED):
        return UNREAD
    parsed = summary.score.detail.get("parsed") or {}
    if "option" in parsed:
        return UNREAD if parsed["option"] is None else int(parsed["option"])
    # A run keeps the versions of the parsers that scored it.
    read = {parser.partition("/")[0]: letter for parser, letter in parsed.items()}
    letter = next(filter(None, map(read.get, _PARSERS)), None)
    return LETTERS.index(letter) if letter else UNREAD

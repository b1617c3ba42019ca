"""A folder of the Claude MMLU Experimenter: the questions, and which option was read for each."""

from __future__ import annotations

import io
import time
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.formats.files import Files
from evalbench.engine.installed import require
from evalbench.engine.runs.held import HeldRun, HeldSample
from evalbench.engine.scoring.letters import LETTERS, LOGLIKELIHOOD
from evalbench.engine.scoring.letters_lenient import LENIENT

_UNREAD = -1


def write(run: HeldRun, files: Files) -> list[str]:
    """Put ``config.json`` and ``results.parquet`` into ``files``; returns what they cannot hold."""
    require("data", "writing Parquet files", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    rows = [_row(held) for held in run.samples()]
    table = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, _schema(pyarrow)), table)
    files.raw("results.parquet", table.getvalue())
    made = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(run.created))
    files.json(
        "config.json",
        {
            "description": run.spec.get("desc") or run.id,
            "model": run.candidate,
            "save_frequency": 1,
            "created_at": made,
            "last_updated": made,
        },
    )
    unasked = sum(row["predicted"] is None for row in rows)
    notes = ["replies have no place in it: only the option that was read in each"]
    if unasked:
        notes.append(f"{unasked} questions without an answer have no prediction")
    return notes


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


def _row(held: HeldSample) -> dict[str, Any]:
    given = held.sample.inputs
    return {
        "question": given["question"],
        "subject": held.sample.tags["subject"],
        "choices": list(given["choices"]),
        "answer": held.sample.gold,
        "predicted": _predicted(held),
    }


def _predicted(held: HeldSample) -> int | None:
    """The option that was read; -1 for a reply without one, None where there is no reply."""
    if held.score is None or not held.said:
        return None
    if held.score.outcome in (Outcome.REFUSED, Outcome.FILTERED):
        return _UNREAD
    parsed = held.score.detail.get("parsed") or {}
    if "option" in parsed:
        return _UNREAD if parsed["option"] is None else int(parsed["option"])
    letter = parsed.get(LENIENT) or parsed.get(LOGLIKELIHOOD)
    return LETTERS.index(letter) if letter else _UNREAD

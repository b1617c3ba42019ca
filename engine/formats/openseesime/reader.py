"""OpenSeeSimE's result files: CSV with the question, the model's answer and its reasons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.openseesime.data import simulation
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import Row, read_rows
from evalbench.engine.errors import DataError, counted
from evalbench.engine.formats.reading import malformed
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, stands_for
from evalbench.engine.runs.sanitize import uncell
from evalbench.engine.scoring.literals import NotALiteral, literal

_COLUMNS = ("question", "answer", "answer_choices", "model_answer", "explanation")
_NONE = ("", "None", "nan", "NaN")
_UNREAD = "(the first line was not kept; the original read no option in it)"
_ERROR = re.compile(
    r"error code: \d{3}|error:|\d{3} [A-Z_]{4,}|api error|connection error|server error"
    r"|request timed out|rate.?limit|overloaded|could not read video|no frames extracted|opencv\(",
    re.IGNORECASE,
)
"""How the texts of failures start: those of the SDKs and of the original's own code."""

Items = list[tuple[Item, Mapping[Place, RecordedReply]]]


def read_results(path: Path) -> list[Recorded]:
    """Runs for a result file, one per model in it.

    A failed call was stored as a missing answer with the error as explanation; such rows count as
    failures here, not as wrong answers.

    Raises:
        DataError: a column is missing.
    """
    by_model: dict[str, Items] = {}
    for number, cells in read_rows(path):
        # Our own export escapes texts that spreadsheets would read as formulas.
        row = {name: uncell(v) if isinstance(v, str) else v for name, v in cells.items()}
        missing = [name for name in _COLUMNS if row.get(name) is None]
        if missing:
            raise DataError(
                f"the column {missing[0]} is missing",
                path=str(path),
                line=number,
                hint="a result has " + ", ".join(_COLUMNS),
            )
        try:
            choices = _choices(row["answer_choices"])
        except NotALiteral as error:
            raise malformed("answer_choices is no list", path, number, error) from None
        model = str(row.get("model") or path.stem)
        by_model.setdefault(model, []).append((_item(row, choices), _reply_of(row, choices)))
    return [_run(path, model, items) for model, items in by_model.items()]


def _run(path: Path, model: str, items: Items) -> Recorded:
    failed = sum(not replies for _, replies in items)
    notes = [
        "the replies are put together from the option that was read and the explanation; where"
        " none was read, the first line was not kept",
        "the pictures and videos are not in the file",
    ]
    if failed:
        notes.append(f"{counted(failed, 'answer')} with the text of an error: failed, not wrong")
    return Recorded(make_spec("openseesime", stands_for(model)), items, str(path), notes)


def _item(row: Row, choices: list[str]) -> Item:
    video = str(row.get("media_type")) == "video"
    return Item(
        {
            "question": str(row["question"]),
            "choices": choices,
            "video": video,
            "file": str(row.get("file_name") or ""),
            "question_id": row.get("question_id"),
            "media": [],
        },
        str(row["answer"]),
        {
            "type": str(row.get("question_type") or ""),
            "medium": "video" if video else "image",
            "simulation": simulation(row),
            "answer": str(row["answer"]),
        },
    )


def _reply_of(row: Row, choices: Sequence[str]) -> Mapping[Place, RecordedReply]:
    """The reply, as far as it was stored; empty for a failed call."""
    given, words, gold = (str(row[name]) for name in ("model_answer", "explanation", "answer"))
    # None is written for no answer, but may also be an option: then it was right or wrong.
    wrong_itself = given == gold and str(row.get("correct")).lower() == "false"
    unread = given in _NONE and (given not in choices or wrong_itself)
    if unread and _ERROR.match(words.strip()):
        return {}
    first = _UNREAD if unread else given
    return {
        ("candidate", "answer", 0): RecordedReply(f"{first}\n{'' if words in _NONE else words}")
    }


def _choices(value: Any) -> list[str]:
    """The options; the files contain Python's notation of a list."""
    found = value if isinstance(value, list) or value in _NONE else literal(str(value))
    if found in _NONE:
        return []
    if not isinstance(found, list):
        raise NotALiteral("it is no list")
    return [str(one) for one in found]

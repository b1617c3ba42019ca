"""Imports folders of the Claude MMLU Experimenter: ``config.json`` and ``results.parquet``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.mmlu.subjects import category_tag
from evalbench.engine.config.spec import make_spec
from evalbench.engine.data.reading import SUFFIXES, Row, read_json, read_rows, whole_of
from evalbench.engine.errors import DataError, counted
from evalbench.engine.field_checks import either, maybe, record, text
from evalbench.engine.formats.reading import fitting, malformed
from evalbench.engine.formats.recorded import Recorded, RecordedReply, stands_for
from evalbench.engine.scoring.letters import LETTERS

_UNREAD = "(the reply was not kept; the original read no letter in it)"


_CONFIG = record(
    {},
    {
        # The current code writes an object; the first version wrote a string.
        "model": maybe(either(text, record({}, {"model": maybe(text), "type": maybe(text)}))),
        "description": maybe(text),
    },
)


def read_experiment(folder: Path) -> Recorded:
    """The run for one experiment folder.

    Its replies were never stored, only the option parsed from each; that option's letter is used as
    the reply.

    Raises:
        DataError: the folder is not an experiment, or a row is malformed.
    """
    file = folder / "config.json"
    config = fitting(read_json(file), _CONFIG, "this is no configuration", file)
    results = next((p for s in SUFFIXES if (p := folder / f"results{s}").is_file()), None)
    if results is None:
        raise DataError("the folder holds no results.parquet", path=str(folder))
    items = []
    unasked = 0
    for number, row in read_rows(results):
        try:
            item, reply = _item(row), _reply_of(row)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            what = "a result needs question, choices, subject, answer and predicted"
            raise malformed(what, results, number, error) from None
        if reply is None:
            unasked += 1
        else:
            items.append((item, {("candidate", "answer", 0): reply}))
    spec = make_spec(
        "mmlu",
        stands_for(_model(config.get("model")) or folder.resolve().name),
        options={"family": "chat"},
        desc=str(config.get("description") or ""),
    )
    notes = ["the replies were not kept; the letter that was read stands in the place of each"]
    if unasked:
        notes.append(f"{counted(unasked, 'question')} without a prediction yet, left out")
    return Recorded(spec, items, str(folder), notes)


def _model(given: Any) -> str:
    """The model's name: what it says, or its ``model``, else the API's ``type``."""
    if isinstance(given, dict):
        given = given.get("model") or given.get("type")
    return str(given or "")


def _item(row: Row) -> Item:
    subject, choices, answer = str(row["subject"]), row["choices"], whole_of(row["answer"])
    if not isinstance(choices, list) or not 0 <= answer < len(choices):
        raise ValueError(f"its answer is {answer}, its choices are {choices!r}")
    return Item(
        {"question": str(row["question"]), "choices": [str(choice) for choice in choices]},
        answer,
        {"subject": subject, "category": category_tag(subject)},
    )


def _reply_of(row: Row) -> RecordedReply | None:
    """The parsed letter; None for a question that was not asked yet."""
    predicted: Any = row["predicted"]
    if predicted is None or (isinstance(predicted, float) and math.isnan(predicted)):
        return None
    place = whole_of(predicted)
    return RecordedReply(LETTERS[place] if 0 <= place < len(row["choices"]) else _UNREAD)

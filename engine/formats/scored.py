"""Helpers for log readers: samples with scores given by another system.

They become runs of the benchmark ``recorded``; with ``--as mmlu``, of mmlu, so that they can be
paired with runs made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Item
from evalbench.engine.benchmarks.mmlu.subjects import CATEGORIES, SUBJECTS, category_tag
from evalbench.engine.benchmarks.recorded import STEP, TAGS
from evalbench.engine.config.spec import make_spec
from evalbench.engine.errors import DataError
from evalbench.engine.formats.recorded import Place, Recorded, RecordedReply, known_as, stands_for

LARGEST_SCORE = 1e15
"""Anything larger is not a score; sums of such numbers would lose precision."""

Items = list[tuple[Item, Mapping[Place, RecordedReply]]]
Epochs = Sequence[Sequence[Mapping[Place, RecordedReply]]]
"""For each item, the replies of its later epochs."""


def scored_run(
    task: str,
    model: str,
    judges: Sequence[str],
    items: Items,
    source: Path,
    notes: Sequence[str],
    later: Epochs = (),
) -> Recorded:
    """The run for a log: its scorers are the judges, its first score is the headline."""
    names: dict[str, None] = {}
    for replies in (
        *(replies for _, replies in items),
        *(replies for epochs in later for replies in epochs),
    ):
        for (role, _, _), reply in replies.items():
            if role != "candidate":
                names |= dict.fromkeys(orjson.loads(reply.text)["values"])
    spec = make_spec(
        "recorded",
        stands_for(model),
        judge=[stands_for(judge) for judge in judges],
        options={"task": task, "scores": list(names)},
        epochs=_most(later),
    )
    return Recorded(spec, items, str(source), notes, later=later)


def _most(later: Epochs) -> int:
    """The largest number of epochs of any sample."""
    return 1 + max(map(len, later), default=0)


def given(
    judge: str, values: Mapping[str, float], answer: Any = None, explanation: str = ""
) -> tuple[Place, RecordedReply]:
    """A scorer's result, as the reply of a judge."""
    scores = {"values": values, "answer": answer, "explanation": explanation}
    return (f"judge/{stands_for(judge)}", STEP, 0), RecordedReply(orjson.dumps(scores).decode())


def scorer_name(name: object) -> str:
    """A scorer's name as a judge's name."""
    return known_as(name)


def labels(*places: Any) -> dict[str, str]:
    """The tags for grouping, from whatever describes a sample."""
    found: dict[str, str] = {}
    for place in places:
        if isinstance(place, Mapping):
            for name in TAGS:
                if isinstance(place.get(name), str) and place[name]:
                    found.setdefault(name, place[name])
    return found


def mmlu_item(question: Any, choices: Any, gold: int, subject: Any) -> Item:
    """A question of MMLU in the form of our mmlu benchmark.

    Raises:
        ValueError: it does not have this form.
    """
    if not isinstance(question, str) or not isinstance(choices, list) or not subject:
        raise ValueError("it has no question, choices and subject")
    if not 0 <= gold < len(choices):
        raise ValueError(f"its answer is {gold}, its choices are {choices!r}")
    name = str(subject)
    # Some data sets in MMLU's form give a category as the subject.
    if name not in SUBJECTS and category_tag(name) not in CATEGORIES:
        raise ValueError(f"{name!r} is no subject or category of MMLU")
    return Item(
        {"question": question, "choices": [str(choice) for choice in choices]},
        gold,
        {"subject": name, "category": category_tag(name)},
    )


def mmlu_run(
    model: str, items: Items, source: Path, notes: Sequence[str], later: Epochs = ()
) -> Recorded:
    """The mmlu run for a log."""
    spec = make_spec("mmlu", stands_for(model), options={"family": "chat"}, epochs=_most(later))
    return Recorded(spec, items, str(source), notes, later=later)


def none_in(path: Path) -> DataError:
    """The error for a log without samples."""
    return DataError("there are no samples in it", path=str(path))

"""The answers that were scored last, in a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import JournalReader, ScoreRow
from evalbench.tui.state.clean import one_line
from evalbench.tui.state.figures import OUTCOME_WORDS

_LONGEST = 400
_QUESTIONS = ("question", "prompt", "text")


@dataclass(frozen=True, slots=True)
class Answer:
    """One scored sample. Texts are one clean line each.

    Attributes:
        row, epoch: where it is in the journal.
        right: whether it is right; None where that is no yes or no.
        outcome: in words.
        question, gold, read: the question's beginning, what is right, and what was understood.
        value: its score, as a number.
    """

    row: int
    epoch: int
    right: bool | None
    outcome: str
    question: str
    gold: str
    read: str
    value: str

    @property
    def mark(self) -> str:
        """Right, wrong, failed or neither, as one character."""
        if self.outcome == OUTCOME_WORDS[Outcome.ERROR.value]:
            return "!"
        return {True: "✓", False: "✗", None: "·"}[self.right]


class LatestAnswers:
    """Keeps what was read, so that each answer is read from the journal once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Answer] = {}

    def read(
        self, journal: JournalReader, wanted: Sequence[Sequence[int]], headline: str
    ) -> list[Answer]:
        """The answers at these (row, epoch), newest first.

        Args:
            journal: of the run.
            wanted: oldest first, as ``Status.latest`` has them.
            headline: name of the value that says how good an answer is.

        Raises:
            JournalError: the journal cannot be read just now.
        """
        known, self._known = self._known, {}
        for row, epoch in wanted:
            answer = known.get((row, epoch)) or _read(journal, row, epoch, headline)
            if answer:
                self._known[row, epoch] = answer
        return list(reversed(self._known.values()))


def _read(journal: JournalReader, row: int, epoch: int, headline: str) -> Answer | None:
    sample = next((held for held in journal.samples(row, 1) if held.row == row), None)
    scores = journal.scores(row, epoch + 1)
    score = next((s for s in scores if (s.row, s.epoch) == (row, epoch)), None)
    if sample is None or score is None:
        return None
    value = _value(score.values, headline)
    failed = score.outcome is Outcome.ERROR
    return Answer(
        row,
        epoch,
        None if failed or value not in (0, 1) else value == 1,
        OUTCOME_WORDS[score.outcome.value],
        _question(sample.sample.inputs),
        _line(sample.sample.gold),
        _line(score.detail.get("error", "")) if failed else _reading(score),
        "" if failed or value is None else f"{value:g}",
    )


def _value(values: Mapping[str, float], headline: str) -> float | None:
    return values.get(headline, next(iter(values.values()), None))


def _question(inputs: Mapping[str, Any]) -> str:
    for name in _QUESTIONS:
        if isinstance(text := inputs.get(name), str):
            return _line(text)
    texts = (text for text in inputs.values() if isinstance(text, str))
    return _line(next(texts, None) or inputs)


def _reading(score: ScoreRow) -> str:
    """What the parsers read; by name where they differ."""
    parsed = score.detail.get("parsed")
    if not isinstance(parsed, Mapping):
        return _line(parsed or "")
    readings = {name: _line(value) for name, value in parsed.items() if value is not None}
    if len(set(readings.values())) <= 1:
        return next(iter(readings.values()), "")
    return ", ".join(f"{name}: {value}" for name, value in readings.items())


def _line(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return one_line(text[:_LONGEST])

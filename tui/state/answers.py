"""The most recently scored answers, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalbench.engine.calls import Outcome
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.rows import gold_text, read_text
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state.figures import OUTCOME_WORDS
from evalbench.tui.state.sample_words import Verdict, question_words, verdict

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """A scored sample. Texts are one clean line each.

    Attributes:
        row, epoch: its position in the journal.
        verdict: right or wrong.
        outcome: outcome in words.
        question, gold, read: start of the question, the correct answer, and the parsed answer; for
            a failed sample, why it failed.
    """

    row: int
    epoch: int
    verdict: Verdict
    outcome: str
    question: str
    gold: str
    read: str


class LatestAnswers:
    """Caches what was read, so that each answer is read from the journal once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Answer] = {}

    def read(
        self, journal: JournalReader, wanted: Sequence[Sequence[int]], headline: Headline
    ) -> list[Answer]:
        """The answers at these (row, epoch) positions, newest first.

        Args:
            journal: the run's journal.
            wanted: oldest first, as in ``Status.latest``.
            headline: says how good an answer is.

        Raises:
            JournalError: the journal cannot be read at the moment.
        """
        known, self._known = self._known, {}
        for row, epoch in wanted:
            answer = known.get((row, epoch)) or _read(journal, row, epoch, headline)
            if answer:
                self._known[row, epoch] = answer
        return list(reversed(self._known.values()))


def _read(journal: JournalReader, row: int, epoch: int, headline: Headline) -> Answer | None:
    record = next((record for record in journal.samples(row, 1) if record.row == row), None)
    # All of them: a half-read query that outlives this frame would be closed after the journal.
    scores = list(journal.scores(row, epoch + 1))
    score = next((s for s in scores if (s.row, s.epoch) == (row, epoch)), None)
    if record is None or score is None:
        return None
    failed = score.outcome is Outcome.ERROR
    return Answer(
        row,
        epoch,
        verdict([score], headline),
        OUTCOME_WORDS[score.outcome.value],
        _line(question_words(record.sample.inputs)),
        _line(gold_text(record.sample, score.detail, short=True)),
        _line(score.detail.get("error", "") if failed else read_text(score.detail)),
    )


def _line(text: str) -> str:
    return one_line(text[:_LONGEST])

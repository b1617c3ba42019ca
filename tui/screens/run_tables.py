"""The three tables of a run's page: its scores, its latest answers, and its events."""

from __future__ import annotations

from collections.abc import Sequence

from evalbench.tui.state.answers import Answer
from evalbench.tui.state.cells import widest
from evalbench.tui.state.event_words import event_tone, log_words
from evalbench.tui.state.run_view import RunView
from evalbench.tui.state.scores import ScoreLine
from evalbench.tui.widgets.table import Cell, Column

LOG = (Column("time", 8), Column("events"))


def answers(*, gold: bool = True) -> tuple[Column, ...]:
    """The columns of answers; ``gold``: whether any has a right answer."""
    right = [Column("gold", 16, drop=1)] if gold else []
    head = Column("", 1), Column("outcome", 9, drop=2), Column("latest answers", least=24)
    return (*head, *right, Column("read as", 16))


def scores(lines: Sequence[ScoreLine] = ()) -> tuple[Column, ...]:
    """The columns of these metrics, with their bounds if any has some."""
    bounds = any(line.bounds for line in lines)
    columns = (
        Column("metric", most=widest(line.title for line in lines)),
        Column("score", 9, right=True),
        Column("95 %", 12, right=True, drop=1),
        Column("k / n", 15, right=True, drop=2),
    )
    return (*columns, Column("bounds", 12, right=True, drop=3)) if bounds else columns


def score_row(line: ScoreLine) -> Sequence[Cell]:
    """A metric; a title alone heads those that belong together."""
    if not line.value:
        return ((line.title, "dim"), "", "", "", "")
    return (line.title, (line.value, "strong"), line.interval, line.counts, line.bounds)


def answer_row(answer: Answer, *, gold: bool) -> Sequence[Cell]:
    """An answer: its verdict, the question, the correct answer if any has one, the parsed one."""
    return (
        (answer.verdict.glyph, answer.verdict.tone),
        (answer.outcome, "dim"),
        answer.question,
        *([answer.gold] if gold else []),
        answer.read,
    )


def log_rows(view: RunView) -> list[Sequence[Cell]]:
    """The events shown to users, oldest first."""
    shown = [(event, words) for event in view.log if (words := log_words(event))]
    return [((view.clock_time(event), "dim"), (words, event_tone(event))) for event, words in shown]

"""A sample and its result, in few words: for lists, headers and pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

from evalbench.engine.benchmark import Sample
from evalbench.engine.journal import ScoreRow
from evalbench.engine.runs.browse import WAITING, SampleLine
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.rows import as_text, reading_text, shown_order
from evalbench.tui.state.figures import OUTCOME_WORDS

_QUESTIONS = ("question", "prompt", "instruction", "text")

STATE_WORDS = OUTCOME_WORDS | {WAITING: "no score yet"}
"""Display names of outcomes, including the lack of one."""


class Verdict(NamedTuple):
    """A sample's result. The glyph alone conveys it too; ``tone`` is one of the table's."""

    glyph: str
    word: str
    tone: str


def verdict(scores: Sequence[ScoreRow], headline: Headline) -> Verdict:
    """Right or wrong, or the grade, by the headline value; over all epochs."""
    numbers = [number for score in scores if (number := headline(score.values)) is not None]
    if not numbers:
        failed = any(score.outcome == "error" for score in scores)
        return Verdict("!", "", "bad") if failed else Verdict("·", "", "dim")
    if len(numbers) == 1 and not headline.graded:
        return _judged(numbers[0])
    if max(numbers) > 1 or headline.graded:
        return Verdict("•", f"{sum(numbers) / len(numbers):.3g}", "")
    right = sum(number >= 1 for number in numbers)
    glyph, _, tone = _judged(right / len(numbers))
    return Verdict(glyph, f"{right}/{len(numbers)}", tone)


def _judged(number: float) -> Verdict:
    if number == 1:
        return Verdict("✓", "right", "good")
    if number == 0:
        return Verdict("✗", "wrong", "bad")
    return Verdict("•" if number > 1 else "~", f"{number:.3g}", "" if number > 1 else "warn")


def value_word(number: float, name: str, headline: Headline) -> str:
    """One value of a score: right or wrong if its name says that it is, otherwise the number."""
    alike = f"{name}_".startswith(f"{headline.name}_")  # accuracy, and accuracy_strict
    return score_word(number) if alike and not headline.graded else f"{number:.3g}"


def score_word(number: float) -> str:
    """A headline value that is no grade: right, wrong, or the number in between."""
    return _judged(number).word


def outcome_word(line: SampleLine, *, live: bool) -> str:
    """A sample's outcome: parsed, refused, failed …, or its progress."""
    kinds = {score.outcome.value for score in line.scores}
    if not kinds:
        return ("in flight" if line.asked else "waiting") if live else "not done"
    return OUTCOME_WORDS[kinds.pop()] if len(kinds) == 1 else "mixed"


def question_words(inputs: Mapping[str, Any]) -> str:
    """The question among a sample's inputs, or the first text in them."""
    for name in _QUESTIONS:
        if isinstance(text := inputs.get(name), str):
            return text
    return next(_texts(inputs.values()), as_text(inputs))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, Sequence):
            yield from _texts(value)


def choice_words(sample: Sample, detail: Mapping[str, Any]) -> str:
    """The options of a choice as shown, one per line; empty if it is not a choice."""
    choices = sample.inputs.get("choices")
    if not isinstance(choices, list):
        return ""
    shown = [as_text(choices[at]) for at in shown_order(choices, detail) if at < len(choices)]
    return "\n".join(f"{ascii_uppercase[at % 26]}) {text}" for at, text in enumerate(shown))


def readings(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What every parser read, with the parser's name; ``nothing`` if it could read nothing."""
    parsed = detail.get("parsed")
    if not isinstance(parsed, Mapping):
        return []
    return [
        (name, reading_text(reading, nothing="nothing", names=True))
        for name, reading in parsed.items()
    ]


def notes(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What else a score says, such as its error, by name."""
    return [(name, as_text(value)) for name, value in detail.items() if value and name != "parsed"]

"""Notable samples: failed, unparsed, wrong or lowest, and those on which runs disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from evalbench.engine.compare.scores import RunScores
from evalbench.engine.runs.browse import Filter, SampleBrowser
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.rows import read_text
from evalbench.tui.state import figures
from evalbench.tui.state.sample_view import CallView, media_words, sample_view
from evalbench.tui.state.sample_words import choice_words

UNREAD = ("truncated", "refused", "filtered", "unparsed")
"""Outcomes of replies in which no answer was found."""

T = TypeVar("T")

_MOST_TEXT, _MOST_LINES, _MOST_TEXTS, _MOST_VALUES = 1_200, 40, 12, 4


@dataclass(frozen=True, slots=True)
class Answer:
    """One run's result for a sample.

    Attributes:
        label: the run's label; empty if there is only one run.
        verdict: glyph and word.
        outcome: outcome in words.
        read: what was parsed from the reply, or its values.
        texts: (title, text) of replies and errors, cut if long.
        see: command that shows everything.
    """

    label: str
    verdict: str
    outcome: str
    read: str
    texts: tuple[tuple[str, str], ...]
    see: str


@dataclass(frozen=True, slots=True)
class ReportSample:
    """A sample and its results."""

    name: str
    tags: str
    question: str
    gold: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class SampleList:
    """Some samples of one kind, out of ``total``."""

    title: str
    total: int
    samples: tuple[ReportSample, ...]
    kind: str = "samples"


class ReportSamples:
    """The samples of one run, as a report shows them."""

    def __init__(self, folder: RunFolder, value: str, label: str) -> None:
        """``value``: name of the run's headline metric; ``label``: the run's label."""
        self.label = label
        self._run = folder.id
        self._samples = SampleBrowser(folder.journal, value)

    def having(self, outcome: str) -> set[int]:
        """Numbers of the samples with this outcome."""
        return set(self._samples.matching(Filter(outcome=outcome)))

    def show(self, row: int) -> ReportSample | None:
        """One sample, and the run's result for it; None if it was removed from the run."""
        found = self._samples.sample(row)
        if found is None:
            return None
        line, calls = found
        view = sample_view(line, calls, self._samples.headline, live=False)
        detail = line.scores[0].detail if line.scores else {}
        values = [f"{name} {word}" for score in view.scores for name, word in score.values]
        answer = Answer(
            self.label,
            " ".join(filter(None, [view.verdict.glyph, view.verdict.word])),
            view.outcome,
            read_text(detail) or ", ".join(values[:_MOST_VALUES]),
            tuple(_texts(view.calls)),
            f"evalbench show {self._run} --sample {row}",
        )
        shown = [b.media for call in view.calls for b in call.asked if b.media]
        media = [f"({words})" for words in dict.fromkeys(map(media_words, shown))]
        asked = [view.question, choice_words(line.sample, detail), *media]
        question = "\n".join(filter(None, asked))
        tags = ", ".join(f"{tag} {value}" for tag, value in view.tags)
        return ReportSample(f"sample {row}", tags, cut(question), cut(view.gold), (answer,))


def _texts(calls: Sequence[CallView]) -> Iterator[tuple[str, str]]:
    texts = 0
    for call in calls:
        for block in call.answered:
            if texts == _MOST_TEXTS:
                yield "and more", ""
                return
            texts += 1
            title = block.title if len(calls) == 1 else f"{call.title}: {block.title}"
            yield title, cut(block.text)


def cut(text: str) -> str:
    """A text short enough for a list, with a note on how much was left out."""
    lines = text[:_MOST_TEXT].splitlines(keepends=True)[:_MOST_LINES]
    kept = "".join(lines)
    left = len(text) - len(kept)
    return f"{kept.rstrip()} … ({figures.counted(left, 'more character')})" if left else kept


def worst(samples: ReportSamples, scores: RunScores | None, most: int) -> list[SampleList]:
    """Failed samples, those whose replies could not be parsed, and the wrong or lowest ones.

    The last are left out if single samples have no ``scores``.
    """
    failed = samples.having("error")
    unread = set().union(*map(samples.having, UNREAD)) - failed
    lists = [
        _listed(samples, "Failed", sorted(failed), most),
        _listed(samples, "Cut off, refused, filtered or unread", sorted(unread), most),
    ]
    if scores is not None:
        lists.append(_low(samples, scores, failed | unread, most))
    return [one for one in lists if one.samples]


def _low(samples: ReportSamples, scores: RunScores, apart: set[int], most: int) -> SampleList:
    read = [
        (value, row)
        for ident, value in scores.scores.items()
        if (row := scores.rows[ident]) not in apart
    ]
    title = "Lowest scores"
    if scores.share:
        read = [one for one in read if one[0] < 1]
        title = "Wrong" if all(value == 0 for value, _ in read) else "Not wholly right"
    return _listed(samples, title, _lowest(read, most), most, len(read))


def _lowest(read: list[tuple[float, int]], most: int) -> list[int]:
    """The lowest scores; if too many are equal, a spread selection of them."""
    ranked = sorted(read)
    if len(ranked) <= most:
        return [row for _, row in ranked]
    edge = ranked[most - 1][0] if most else 0.0
    sure = [row for value, row in ranked if value < edge]
    return sure + spread([row for value, row in ranked if value == edge], most - len(sure))


def spread(rows: Sequence[T], most: int) -> list[T]:
    """At most this many of the rows, at even distances."""
    if len(rows) <= most:
        return list(rows)
    return [rows[(2 * at + 1) * len(rows) // (2 * most)] for at in range(most)]


def _listed(
    samples: ReportSamples, title: str, rows: Sequence[int], most: int, total: int | None = None
) -> SampleList:
    shown = []
    for row in spread(rows, most):
        if (found := samples.show(row)) is not None:
            shown.append(found)
    named = f"{title}, {samples.label}" if samples.label else title
    return SampleList(named, len(rows) if total is None else total, tuple(shown))


def flips(
    sides: tuple[ReportSamples, ReportSamples], scores: tuple[RunScores, RunScores], most: int
) -> list[SampleList]:
    """Samples that one run has right and the other wrong; for grades, those furthest apart."""
    (first, second), (a, b) = (samples.label for samples in sides), scores
    both = [ident for ident in a.scores if ident in b.scores]
    right = a.share and b.share
    titles = (
        (f"Right in {first}, wrong in {second}", f"Wrong in {first}, right in {second}")
        if right
        else (f"Higher in {first} than in {second}", f"Lower in {first} than in {second}")
    )
    found = []
    for title, way in zip(titles, (1, -1), strict=True):
        gaps = [(way * (a.scores[ident] - b.scores[ident]), ident) for ident in both]
        apart = [one for one in gaps if one[0] > 0]
        if not right:
            apart.sort(key=lambda one: -one[0])
        idents = [ident for _, ident in apart]
        shown = spread(idents, most) if right else idents[:most]
        rows = [(a.rows[ident], b.rows[ident]) for ident in shown]
        found.append(SampleList(title, len(idents), tuple(_pairs(sides, rows))))
    return [one for one in found if one.samples]


def _pairs(
    sides: tuple[ReportSamples, ReportSamples], rows: Sequence[tuple[int, int]]
) -> Iterator[ReportSample]:
    for places in rows:
        one, other = (samples.show(row) for samples, row in zip(sides, places, strict=True))
        if one is None or other is None:
            continue
        if places[0] == places[1]:
            name = one.name
        else:
            first, second = (samples.label for samples in sides)
            name = f"sample {places[0]} in {first}, {places[1]} in {second}"
        yield replace(one, name=name, answers=one.answers + other.answers)

"""The fields that the samples of a run are filtered by, and a filter of them as typed."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalbench.engine.runs.browse import WAITING, Filter, SampleBrowser, SampleFacts
from evalbench.tui.state.query import Fields, Query, parse_query
from evalbench.tui.state.sample_words import STATE_WORDS, score_word

if TYPE_CHECKING:
    from evalbench.tui.state.query import Number, Text

_TOOK = frozenset({"latency", "tokens", "in", "out", "cost"})
"""Fields that need a scan of all replies."""

_KINDS = frozenset({"outcome", "score"})
"""Fields that take one of a few words."""

_OUTCOME = re.compile(r'(?<!\S)outcome:"?([^\s"]+)')

_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class SampleFilter(Filter):
    """A filter with typed conditions.

    Attributes:
        typed: conditions and words as typed; ``texts`` has its words.
    """

    typed: str = ""

    @property
    def any(self) -> bool:
        """Whether it leaves anything out."""
        return self != SampleFilter()

    @property
    def kind(self) -> str:
        """The outcome that it is about, chosen or typed; empty if about none or several."""
        typed = _OUTCOME.findall(self.typed.lower())
        if self.outcome or len(typed) != 1:
            return self.outcome
        words = STATE_WORDS | {WAITING: WAITING}
        found = [name for name, word in words.items() if word.startswith(typed[0])]
        return found[0] if len(found) == 1 else ""


def sample_fields(
    tags: Sequence[str], values: Sequence[str], *, graded: bool = False
) -> Fields[SampleFacts]:
    """The fields of samples with these tags and values; built-in ones come first.

    Scores that are ``graded`` are no words, but numbers to compare.
    """
    texts: dict[str, Text[SampleFacts]] = {tag.lower(): _tag(tag) for tag in _named(tags)}
    numbers: dict[str, Number[SampleFacts]] = {
        value.lower(): _value(value) for value in _named(values)
    }
    texts |= {
        "outcome": lambda one: [STATE_WORDS[name] for name in one.outcomes] or [WAITING],
        "error": lambda one: [error.lower() for error in one.errors],
    }
    if not graded:
        texts["score"] = lambda one: [] if one.score is None else [score_word(one.score)]
    numbers |= {
        "number": lambda one: one.row,
        "score": lambda one: one.score,
        "latency": lambda one: one.took.seconds or None,
        "tokens": lambda one: one.took.input_tokens + one.took.output_tokens or None,
        "in": lambda one: one.took.input_tokens or None,
        "out": lambda one: one.took.output_tokens or None,
        "cost": lambda one: one.took.cost,
    }
    return Fields(None, texts, numbers, _KINDS)


def fields_of(samples: SampleBrowser) -> Fields[SampleFacts]:
    """The fields of a run's samples; two scans.

    Raises:
        JournalError: the journal cannot be read.
    """
    facets = samples.facets()
    return sample_fields(tuple(facets.tags), samples.value_names(), graded=facets.graded)


def _named(names: Sequence[str]) -> list[str]:
    """Those names that can be typed before a colon."""
    return [name for name in names if _NAME.fullmatch(name)]


def _tag(name: str) -> Callable[[SampleFacts], Sequence[str]]:
    return lambda one: [one.tags.get(name, "").lower()]


def _value(name: str) -> Callable[[SampleFacts], float | None]:
    return lambda one: one.values.get(name)


def matching(
    samples: SampleBrowser, wanted: SampleFilter, fields: Fields[SampleFacts]
) -> Sequence[int]:
    """Numbers of the samples that match all conditions except texts, in order; a few scans.

    Raises:
        JournalError: the journal cannot be read.
    """
    numbers = samples.matching(wanted)
    query: Query[SampleFacts] = parse_query(wanted.typed, fields)
    if not query.terms:
        return numbers
    among = numbers if isinstance(numbers, range) else frozenset(numbers)
    records = samples.records(took=bool(query.names & _TOOK))
    return array("Q", (one.row for one in query.among(records) if one.row in among))

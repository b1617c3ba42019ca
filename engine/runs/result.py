"""One sample's result, as a program reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.runs.reader import RunReader, SampleRecord
from evalbench.engine.runs.rows import row_of


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one sample in one epoch.

    Texts are as the model gave them, but for what has the form of a provider's key.

    Attributes:
        id: content id of the sample: the same in every run over the same data.
        row: its number in the run, from 1.
        epoch: from 0.
        outcome: ``ok``, ``truncated``, ``refused``, ``filtered``, ``unparsed``, ``error``,
            or ``waiting`` while it has no score.
        score: the value that the run's headline metric counts; None for a failure, and where
            nothing could be read in the reply (``values`` says what that counts as).
        values: every value that metrics are made of, by name.
        tags: labels such as ``subject``.
        inputs: what the benchmark asked with.
        question: the question for people.
        gold: the right answer, as a JSON value.
        reply: what the candidate said; of several turns all of them, each under its name.
        reasoning: its thinking, where the provider shows it.
        parsed: what each parser read.
        note: how the score came about.
        error: why it failed.
        calls: how many were made, judges' included.
        reused: how many of them were not asked but taken from earlier runs.
        input_tokens, output_tokens: of all calls; None where nobody said.
        cost_usd: of all calls, in US dollars; None where it is unknown.
        latency_s: seconds that its answered calls took, added up.
    """

    id: str
    row: int
    epoch: int
    outcome: str
    score: float | None
    values: Mapping[str, float]
    tags: Mapping[str, str]
    inputs: Mapping[str, Any]
    question: str
    gold: Any
    reply: str
    reasoning: str
    parsed: Mapping[str, Any]
    note: str
    error: str
    calls: int
    reused: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    latency_s: float


_AS_IN_ROWS = (
    "row",
    "epoch",
    "outcome",
    "score",
    "question",
    "reply",
    "reasoning",
    "note",
    "error",
    "calls",
    "reused",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "latency_s",
)


def result_of(run: RunReader, held: SampleRecord, epoch: int, headline: str) -> Result:
    """The result of a sample in an epoch; ``headline`` names the metric that it is scored by."""
    row = row_of(run, held, epoch, headline)
    score = held.scores.get(epoch)
    if row["outcome"] == Outcome.UNPARSED.value:
        row["score"] = None
    return Result(
        id=held.sample.id,
        values=dict(score.values) if score else {},
        tags=held.sample.tags,
        inputs=held.sample.inputs,
        gold=held.sample.gold,
        parsed=(score.detail.get("parsed") or {}) if score else {},
        **{name: row[name] for name in _AS_IN_ROWS},
    )

"""One sample's result, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalbench.engine.calls import Outcome
from evalbench.engine.runs.reader import RunReader, SampleRecord
from evalbench.engine.runs.rows import row_of


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one sample in one epoch.

    Texts are as the model produced them, except that anything like a provider's key is replaced.

    Attributes:
        id: content id of the sample: the same in every run over the same data.
        row: its number in the run, from 1.
        epoch: zero-based.
        outcome: ``ok``, ``truncated``, ``refused``, ``filtered``, ``unparsed``, ``error``,
            or ``waiting`` while it has no score.
        score: the value counted by the run's headline metric; None for a failure, and if the
            reply could not be parsed (``values`` shows what that counts as).
        values: all values that metrics are computed from, by name.
        tags: labels such as ``subject``.
        inputs: the benchmark's inputs.
        question: the question for display.
        gold: the right answer, as a JSON value.
        reply: the candidate's answer; with several turns all of them, each under its name.
        reasoning: its reasoning, if the provider shows it.
        parsed: what each parser read.
        note: how the score was determined.
        error: why it failed.
        calls: number of calls, including judges'.
        reused: how many of them were reused from earlier runs.
        input_tokens, output_tokens: of all calls; None if not reported.
        cost_usd: of all calls, in US dollars; None if unknown.
        latency_s: total seconds of its answered calls.
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


def result_of(run: RunReader, record: SampleRecord, epoch: int, headline: str) -> Result:
    """The result of a sample in an epoch; ``headline`` names the metric used as its score."""
    row = row_of(run, record, epoch, headline)
    score = record.scores.get(epoch)
    if row["outcome"] == Outcome.UNPARSED.value:
        row["score"] = None
    return Result(
        id=record.sample.id,
        values=dict(score.values) if score else {},
        tags=record.sample.tags,
        inputs=record.sample.inputs,
        gold=record.sample.gold,
        parsed=(score.detail.get("parsed") or {}) if score else {},
        **{name: row[name] for name in _AS_IN_ROWS},
    )

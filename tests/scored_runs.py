"""Finished runs with given scores, for tests that compare."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Outcome
from evalbench.engine.config.spec import build_benchmark
from evalbench.engine.journal import Journal
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.record import identity
from evalbench.engine.runs.status import State
from tests.pretending import pretend

MODELS = ("local/smollm2-135m-instruct", "local/smollm2-360m-instruct", "openai/gpt-4.1")

Epochs = Sequence[Mapping[str, float] | None]
"""The values of every epoch of a sample; None: its call failed."""


async def score_run(
    scores: Mapping[int, Epochs],
    model: str = MODELS[0],
    *,
    benchmark: str = "mmlu",
    groups: int = 4,
    told: Mapping[str, str] | None = None,
    state: State = State.COMPLETE,
    params: Mapping[str, Mapping[str, str]] | None = None,
    **common: Any,
) -> RunFolder:
    """A run at rest.

    Args:
        scores: by the number of a question, in the order in which the run has them.
        groups: how many subjects or categories the questions are spread over.
        told: what its identity says otherwise than it is.
        params: what became of its parameters.
        common: settings of the run.
    """
    engine = pretend(benchmark, model, total=len(scores), **common)
    spec = engine.folder.spec()
    held = build_benchmark(spec)
    journal = Journal(engine.folder.journal)
    journal.set(identity=identity(spec, held, "0123abcd") | dict(told or {}))
    for row, (number, epochs) in enumerate(scores.items(), 1):
        tags = {held.spread_by: f"group {number % groups}"}
        question = {"question": f"How much is {number} and one?"}
        sample = Sample(f"{number:016x}.1", question, 0, tags)
        await journal.add_samples([(row, sample)])
        for epoch, values in enumerate(epochs):
            if values is None:
                journal.store_score(row, epoch, tags, Outcome.ERROR, {}, {"error": "no"})
            else:
                journal.store_score(row, epoch, tags, Outcome.OK, values, {})
    await journal.close()
    done = sum(bool(epochs) for epochs in scores.values())
    engine.status(state, alive=False, done=done, params=dict(params or {}))
    return engine.folder


def scored_run(*args: Any, **named: Any) -> RunFolder:
    """:func:`score_run` outside of an event loop."""
    return asyncio.run(score_run(*args, **named))


def right_or_wrong(marks: str, first: int = 1) -> dict[int, Epochs]:
    """Questions from ``first`` on: ``+`` right, ``-`` wrong, ``!`` failed, ``.`` unasked."""
    told: dict[str, Epochs] = {
        "+": [{"accuracy": 1.0}],
        "-": [{"accuracy": 0.0}],
        "!": [None],
        ".": [],
    }
    return {number: told[mark] for number, mark in enumerate(marks, first)}

"""Creates a run from answers recorded by another system.

The benchmark's own ``solve`` runs with an ``ask`` that answers from the records, so imports
are scored by the same code as all others. Few systems record what a model was sent: the prompts
in such a run are this benchmark's own unless the files contain them.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalbench.engine.benchmark import (
    Benchmark,
    Item,
    Sample,
    SequentialAsk,
    error_kind,
    metrics_of,
    sample_ids,
)
from evalbench.engine.calls import Call, ModelRef, Outcome, Prompt, Reply, generate
from evalbench.engine.config.roles import ANSWERS
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.data.dataset import DataHeader
from evalbench.engine.errors import DataError
from evalbench.engine.execution.ask import MissingReply, bind, call_key
from evalbench.engine.journal import Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.reader import first_scores, tally_of
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.record import identity, record
from evalbench.engine.runs.status import State, exit_code, metrics_json

NOT_RECORDED = "(this answer is not in the imported files)"

_AT_ONCE = 256
_LATEST = 8
"""Number of latest scores shown on the run screen."""

Place = tuple[str, str, int]
"""Role, step and repeat of a call."""


class RecordedReply(NamedTuple):
    """A model's answer; also its prompt and latency, if they were recorded."""

    text: str
    prompt: str = ""
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """Results of one model on one benchmark.

    Attributes:
        spec: the spec of an equivalent run.
        items: the questions in order, each with its recorded replies; a sample that asks for
            more than those fails.
        source: the files, for display.
        later: for each question, the replies of its later epochs; empty if there was only one.
        notes: what could not be imported as it was.
        shared: see :class:`evalbench.engine.benchmark.DataSet`.
        expected: the numerator and denominator of metrics, according to the files; if the run
            arrives at others, a note says so.
    """

    spec: RunSpec
    items: Sequence[tuple[Item, Mapping[Place, RecordedReply]]]
    source: str
    notes: Sequence[str] = ()
    shared: Any = None
    expected: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    later: Sequence[Sequence[Mapping[Place, RecordedReply]]] = ()


def known_as(name: object) -> str:
    """A model name from a file in a form usable in a run: unsuitable characters become a dash."""
    text = "".join(c if c.isprintable() and c != "," else "-" for c in str(name))
    return text.strip(" @") or "unnamed"


def stands_for(name: object) -> str:
    """``answers/NAME`` for a model named in a file."""
    return f"{ANSWERS}/{known_as(name)}"


async def write_run(recorded: Recorded, parent: Path | None = None) -> RunFolder:
    """Create a run from recorded results; nothing is left behind on failure.

    Raises:
        DataError: there are no questions.
        UsageError: the folder is not writable.
    """
    if not recorded.items:
        raise DataError("there are no results in it", path=recorded.source)
    total = len(recorded.items) + sum(map(len, recorded.later))
    folder = make_run(recorded.spec, parent, total=total)
    try:
        await _write(recorded, folder)
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise
    return folder


async def _write(recorded: Recorded, folder: RunFolder) -> None:
    spec, source, notes = recorded.spec, recorded.source, list(recorded.notes)
    benchmark = build_benchmark(spec, recorded.shared)
    samples = list(enumerate(sample_ids(item for item, _ in recorded.items), 1))
    later = recorded.later or [()] * len(samples)
    replies = [(replied, *more) for (_, replied), more in zip(recorded.items, later, strict=True)]
    status = folder.status()
    create(folder.journal)
    journal = Journal(folder.journal)
    try:
        await journal.add_samples(samples)
        models = {role: part.ref for role, part in spec.roles().items()}
        scoring = _Scoring(benchmark, journal, models)
        for at in range(0, len(samples), _AT_ONCE):
            some = zip(samples[at : at + _AT_ONCE], replies[at : at + _AT_ONCE], strict=True)
            await asyncio.gather(
                *(
                    scoring.score(*sample, epoch, replied)
                    for sample, epochs in some
                    for epoch, replied in enumerate(epochs)
                )
            )
        journal.flush()
        # As in re-scoring, so that no figure differs in its last digit.
        tally = journal.query(partial(tally_of, path=journal.path, epochs=spec.get("epochs")))
        final = await asyncio.to_thread(metrics_of, benchmark, tally, first_scores(journal.path))
        metrics, outcomes = metrics_json(final), tally.outcomes()
        notes += _compared(recorded.expected, metrics)
        header = DataHeader(len(samples), "", source, "", recorded.shared)
        journal.event("imported", source=source, notes=notes)
        journal.set(
            created=status.created,
            loaded=True,
            samples=len(samples),
            spec=spec.to_json(),
            identity=identity(spec, benchmark, ""),
            record=record(spec, benchmark, header),
            shared=recorded.shared,
            imported={"source": source, "notes": notes, "at": time.time()},
            metrics=metrics,
            outcomes=outcomes,
            state=State.COMPLETE,
        )
    finally:
        await journal.close()
    done = replace(
        status,
        state=State.COMPLETE,
        done=status.total,
        outcomes=outcomes,
        failed=outcomes[Outcome.ERROR.value],
        errors=scoring.errors,
        latest=[(row, 0) for row, _ in samples[-_LATEST:]],
        metrics={name: metric for name, metric in metrics.items() if not metric["group"]},
    )
    folder.write_status(replace(done, exit_code=exit_code(done, None)))


def _compared(
    expected: Mapping[str, tuple[float, float]], metrics: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Whether the run arrives at the numbers in the files; notes those that differ."""
    if not expected:
        return []
    unlike = []
    for name, (k, n) in expected.items():
        metric = metrics.get(name) or {"k": 0, "n": 0}
        if abs(metric["k"] - k) > _ROUNDING or metric["n"] != n:
            made = f"{round(metric['k'], 6):g}/{metric['n']:g}"
            unlike.append(f"{name} is {made} here, {k:g}/{n:g} in the file")
    return unlike or ["the metrics read and compared as the original does are those in the file"]


_ROUNDING = 1e-6


@dataclass(slots=True)
class _Scoring:
    """Scores samples from their recorded replies."""

    benchmark: Benchmark
    journal: Journal
    models: Mapping[str, ModelRef]
    errors: dict[str, int] = field(default_factory=dict)

    async def score(
        self, row: int, sample: Sample, epoch: int, replies: Mapping[Place, RecordedReply]
    ) -> None:
        ask = _FromRecords(self.journal, self.models, row, sample, replies, epoch)
        try:
            score = await self.benchmark.solve(sample, ask)
        except MissingReply:
            self._fail(row, sample, epoch, "NoAnswer: none is recorded")
            return
        except Exception as error:
            # As in a run, any exception in solve fails only this sample.
            self._fail(row, sample, epoch, f"{type(error).__name__}: {error}")
            return
        detail = {k: v for k, v in (("parsed", score.parsed), ("note", score.note)) if v}
        self.journal.store_score(row, epoch, sample.tags, score.outcome, score.values, detail)

    def _fail(self, row: int, sample: Sample, epoch: int, error: str) -> None:
        kind = error_kind(error)
        self.errors[kind] = self.errors.get(kind, 0) + 1
        self.journal.store_score(row, epoch, sample.tags, Outcome.ERROR, {}, {"error": error})


class _FromRecords(SequentialAsk):
    """An ``ask`` that answers from the records and writes every call to the journal."""

    def __init__(
        self,
        journal: Journal,
        models: Mapping[str, ModelRef],
        row: int,
        sample: Sample,
        replies: Mapping[Place, RecordedReply],
        epoch: int,
    ) -> None:
        self._epoch = epoch
        self._journal = journal
        self._models = models
        self._row = row
        self._quotes = quotable(sample)
        self._replies = replies

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        recorded = self._replies.get((role, step, repeat))
        if recorded is None:
            raise MissingReply
        model = self._models[role]
        call = (
            Call(model, generate(recorded.prompt)) if recorded.prompt else bind(prompt, model, {})
        )
        key = call_key(self._epoch, role, model, step, repeat)
        reply = Reply(recorded.text, stop_reason="imported", latency_s=recorded.latency_s)
        # They share a queue: once the reply is stored, so is the call.
        self._journal.intend(self._row, key, 0, call, call.content_hash, self._quotes)
        await self._journal.store_reply(self._row, key, 0, reply)
        return reply

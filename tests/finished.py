"""Finished runs for tests, as an engine leaves them, of replies that the test gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from evalbench.engine.benchmark import Asked, Item, Sample, repeat_of, sample_ids
from evalbench.engine.calls import Outcome, Prompt, Reply
from evalbench.engine.config.spec import RunSpec, build_benchmark
from evalbench.engine.data.dataset import DataHeader
from evalbench.engine.execution.ask import bind, call_key
from evalbench.engine.journal import Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.reader import tally_of
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder, make_run
from evalbench.engine.runs.record import identity, record
from evalbench.engine.runs.status import State, exit_code, metrics_json

Say = Callable[[Sample, int, str, str, int], Reply | None]
"""The reply to a sample, epoch, role, step and repeat; None for a call that fails."""


class _Failed(Exception):
    pass


@dataclass
class _Ask:
    journal: Journal
    spec: RunSpec
    row: int
    epoch: int
    sample: Sample
    say: Say

    async def __call__(
        self, role: str, prompt: Prompt, *, step: str = "answer", repeat: int = 0
    ) -> Reply:
        part = self.spec.roles()[role]
        key = call_key(self.epoch, role, part.ref, step, repeat)
        call = bind(prompt, part.ref, part.overrides(), epoch=self.epoch, repeat=repeat)
        quotes = quotable(self.sample)
        self.journal.intend(self.row, key, 0, call, call.content_hash, quotes)
        said = self.say(self.sample, self.epoch, role, step, repeat)
        failed = Reply(outcome=Outcome.ERROR, error="Overloaded: no room")
        self.journal.store_reply(self.row, key, 0, said or failed)
        if said is None:
            raise _Failed("Overloaded: no room")
        return said

    async def many(self, asks: Sequence[Asked]) -> list[Reply]:
        return [await self(a[0], a[1], step=a[2], repeat=repeat_of(a)) for a in asks]


def finished(
    spec: RunSpec, items: Iterable[Item], say: Say, shared: Any = None, revision: str = ""
) -> RunFolder:
    """A complete run of these items."""
    return asyncio.run(_finished(spec, list(items), say, shared, revision))


async def _finished(
    spec: RunSpec, items: list[Item], say: Say, shared: Any, revision: str
) -> RunFolder:
    folder = make_run(spec, total=len(items) * spec.settings.epochs)
    benchmark = build_benchmark(spec, shared)
    samples = list(enumerate(sample_ids(iter(items)), 1))
    create(folder.journal)
    journal = Journal(folder.journal)
    status = folder.status()
    journal.set(created=status.created)
    journal.add_samples(samples)
    for row, sample in samples:
        for epoch in range(spec.settings.epochs):
            try:
                score = await benchmark.solve(sample, _Ask(journal, spec, row, epoch, sample, say))
            except _Failed as error:
                told = {"error": str(error)}
                journal.store_score(row, epoch, sample.tags, Outcome.ERROR, {}, told)
                continue
            detail = {"parsed": score.parsed, "note": score.note}
            journal.store_score(row, epoch, sample.tags, score.outcome, score.values, detail)
    journal.flush()
    tally = journal.query(partial(tally_of, path=journal.path, epochs=spec.settings.epochs))
    metrics = metrics_json(benchmark.metrics(tally))
    journal.set(
        loaded=True,
        samples=len(items),
        spec=spec.to_json(),
        identity=identity(spec, benchmark, "0" * 16),
        record=record(
            spec, benchmark, DataHeader(len(items), "0" * 16, "made/up", revision, shared)
        ),
        shared=shared,
        metrics=metrics,
        outcomes=tally.outcomes(),
        state=State.COMPLETE,
        keys={"candidate": {"provider": "openai", "source": "environment", "name": "SECRET_PLACE"}},
    )
    await journal.close()
    done = replace(
        status,
        state=State.COMPLETE,
        done=status.total,
        outcomes=tally.outcomes(),
        failed=tally.outcomes()["error"],
        metrics={name: held for name, held in metrics.items() if not held["group"]},
    )
    folder.write_status(replace(done, exit_code=exit_code(done, None)))
    return folder

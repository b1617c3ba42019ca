"""Checks whether a resumed run still asks the same questions, before anything is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial

from evalbench.engine.benchmark import Benchmark, Sample
from evalbench.engine.calls import ModelRef, Outcome
from evalbench.engine.errors import RunChanged
from evalbench.engine.execution.ask import MissingReply, ReplayOnly, newest
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.paging import count_scores, unfinished

Roles = Mapping[str, tuple[ModelRef, Mapping[str, object]]]


async def paid_again(
    journal: Journal,
    benchmark: Benchmark,
    roles: Roles,
    epochs: int,
    ask_again: frozenset[Outcome],
    size: int | None = None,
) -> int:
    """How many stored replies of unfinished samples no longer match what would be asked now.

    Replays those samples against the journal and sends nothing. ``size`` is the number of
    samples, if known.
    """
    if size and journal.query(partial(count_scores, ignoring=ask_again)) == size * epochs:
        return 0
    samples = journal.query(lambda s: s.db.execute("SELECT count(*) FROM sample").fetchone()[0])
    if journal.query(partial(count_scores, ignoring=ask_again)) >= samples * epochs:
        return 0
    lost, last = 0, 0
    while page := journal.query(
        partial(
            unfinished,
            path=journal.path,
            after=last,
            epochs=epochs,
            most=64,
            ask_again=ask_again,
            asked_only=True,
        )
    ):
        for item in page:
            last = item.row
            for epoch in item.epochs:
                calls = [call for call in item.calls if call.key.epoch == epoch]
                lost += await _lost(benchmark, roles, item.sample, epoch, calls)
    return lost


async def _lost(
    benchmark: Benchmark, roles: Roles, sample: Sample, epoch: int, calls: list[CallRow]
) -> int:
    known = newest(calls)
    paid = {
        key
        for key, call in known.items()
        if call.reply is not None and call.reply.outcome is not Outcome.ERROR
    }
    ask = ReplayOnly(known, epoch, roles)
    # Any other error from solve will be raised in the run too: that sample fails.
    with contextlib.suppress(MissingReply, Exception):
        await benchmark.solve(sample, ask)
    return len(paid - ask.used) if ask.changed else 0


def refuse(changes: list[str], lost: int, finished: int) -> RunChanged:
    """The error for a resume that would mix two configurations."""
    listed = "\n    ".join(changes) or "the benchmark's prompt templates changed"
    why = f"{lost} {'reply' if lost == 1 else 'replies'} already paid for would be asked again"
    if finished:
        samples = "sample" if finished == 1 else "samples"
        why += f"; {finished} finished {samples} would keep scores made the old way"
    return RunChanged(
        f"this run was started with other settings:\n    {listed}",
        why=why,
        hint="start a new run, or continue with --accept-changes (marks the run as mixed)",
    )

"""Does a resumed run still ask the same thing? Checked before anything is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from typing import Any

from evalbench.engine.ask import CallFailed, MissingReply, ReplayOnly, newest
from evalbench.engine.benchmark import Benchmark, Sample
from evalbench.engine.calls import ModelRef, Outcome
from evalbench.engine.errors import RunChanged
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.reader import Shelf, calls_between
from evalbench.engine.journal.schema import EPOCH_BITS, SLOT_BITS

Identity = Mapping[str, Any]
Roles = Mapping[str, tuple[ModelRef, Mapping[str, object]]]


def differences(stored: Identity, now: Identity, prefix: str = "") -> list[str]:
    """What differs between two identities, one readable line each."""
    lines: list[str] = []
    for name in sorted(set(stored) | set(now)):
        old, new = stored.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            lines += differences(old, new, f"{prefix}{name}.")
        elif old != new:
            lines.append(f"{prefix}{name} was {_show(old)}, is now {_show(new)}")
    return lines


def _show(value: Any) -> str:
    return "not set" if value is None or value in ((), [], {}) else str(value)


async def paid_again(journal: Journal, benchmark: Benchmark, roles: Roles, epochs: int) -> int:
    """How many stored replies of unfinished samples no longer fit what would be asked now.

    Replays those samples against the journal alone; sends nothing.
    """
    path = journal.path

    def read(shelf: Shelf, first: int) -> list[tuple[int, Sample, list[CallRow]]]:
        rows = shelf.db.execute(
            "SELECT s.row, s.hash, s.occurrence, s.tags, s.body FROM sample s WHERE s.row > ?"
            " AND (SELECT count(*) FROM score k WHERE k.id >> ? = s.row AND k.id BETWEEN"
            " s.row << ? AND (s.row + 1 << ?) - 1) < ?"
            " AND EXISTS (SELECT 1 FROM call c WHERE c.id BETWEEN s.row << ? AND"
            " (s.row + 1 << ?) - 1) ORDER BY s.row LIMIT 64",
            (first, *[EPOCH_BITS] * 3, epochs, SLOT_BITS, SLOT_BITS),
        ).fetchall()
        return [
            (row[0], shelf.sample(*row).sample, calls_between(shelf, path, row[0], row[0])[row[0]])
            for row in rows
        ]

    lost, last = 0, 0
    while page := await journal.query(partial(read, first=last)):
        for row, sample, calls in page:
            last = row
            for epoch in {call.key.epoch for call in calls}:
                lost += await _lost(benchmark, roles, sample, epoch, calls)
    return lost


async def _lost(
    benchmark: Benchmark, roles: Roles, sample: Sample, epoch: int, calls: list[CallRow]
) -> int:
    known = newest([call for call in calls if call.key.epoch == epoch])
    paid = {
        key
        for key, call in known.items()
        if call.reply is not None and call.reply.outcome is not Outcome.ERROR
    }
    ask = ReplayOnly(known, epoch, roles)
    with contextlib.suppress(MissingReply, CallFailed):
        await benchmark.solve(sample, ask)
    return len(paid - ask.used) if ask.changed else 0


def refuse(changes: list[str], lost: int, finished: int) -> RunChanged:
    """The error for a resume that would mix two things."""
    told = "\n    ".join(changes) or "the benchmark now asks in other words"
    why = f"{lost} replies already paid for would be asked again"
    if finished:
        why += f"; {finished} finished samples would keep scores made the old way"
    return RunChanged(
        f"this run was begun differently:\n    {told}",
        why=why,
        cure="start a new run, or go on all the same with --accept-changes (marks the run mixed)",
    )

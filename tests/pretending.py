"""A run on disk that tests can put into any state, as an engine would."""

from __future__ import annotations

import os
import socket
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Call, Outcome, Reply, generate
from evalbench.engine.config.spec import make_spec
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.journal.codec import quotable
from evalbench.engine.journal.schema import create
from evalbench.engine.runs.folder import RunFolder, make_run, process_start
from evalbench.engine.runs.status import State

ACCURACY = {"value": 0.25, "low": 0.2, "high": 0.31, "k": 25, "n": 100, "title": "accuracy"}

GONE = "another process"
"""The start of a process that does not live any more."""


class PretendEngine:
    """Writes the status and events of a run; this very process stands for the engine."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        create(folder.journal)

    def status(self, state: State = State.RUNNING, *, alive: bool = True, **fields: Any) -> None:
        """Replace the status."""
        status = replace(
            self.folder.status(),
            state=state,
            host=socket.gethostname(),
            pid=os.getpid(),
            pid_started=process_start(os.getpid()) if alive else GONE,
        )
        self.folder.write_status(replace(status, **fields))

    def event(self, kind: str, count: int = 1, at_ms: int = 1500, **body: Any) -> None:
        """Add an event."""
        with sqlite3.connect(self.folder.journal) as connection:
            connection.execute(
                "INSERT INTO event (at, kind, count, body) VALUES (?, ?, ?, ?)",
                (at_ms, kind, count, orjson.dumps(body)),
            )
        connection.close()

    def grow(self, count: int) -> None:
        """Raise the count of the newest event."""
        with sqlite3.connect(self.folder.journal) as connection:
            connection.execute(
                "UPDATE event SET count = ? WHERE id = (SELECT max(id) FROM event)", (count,)
            )
        connection.close()

    async def answer(
        self,
        row: int,
        question: str = "How much is one and one?",
        *,
        gold: Any = "B",
        read: Any = "B",
        outcome: Outcome = Outcome.OK,
        **tags: str,
    ) -> None:
        """Put a sample with one call and its score into the journal."""
        model = self.folder.spec().candidate
        sample = Sample(f"{row:016x}.1", {"question": question}, gold, tags)
        journal = Journal(self.folder.journal)
        await journal.add_samples([(row, sample)])
        key = CallKey(0, "candidate", str(model), "answer", 0)
        call = Call(model, generate(question))
        await journal.intend(row, key, 0, call, call.content_hash, quotable(sample))
        await journal.store_reply(row, key, 0, Reply(str(read), outcome))
        failed = outcome is Outcome.ERROR
        values = {} if failed else {"accuracy": float(read == gold)}
        detail = {"error": str(read)} if failed else {"parsed": {"letter": read}}
        journal.store_score(row, 0, tags, outcome, values, detail)
        await journal.close()

    async def keep(self, **facts: Any) -> None:
        """Store values of the journal's ``run`` table."""
        journal = Journal(self.folder.journal)
        journal.set(**facts)
        await journal.close()


def pretend(
    benchmark: str = "quickstart",
    model: str = "local/smollm2-135m-instruct",
    *,
    total: int = 400,
    parent: Path | None = None,
    **common: Any,
) -> PretendEngine:
    """A fresh run with a pretended engine."""
    return PretendEngine(make_run(make_spec(benchmark, model, **common), parent, total=total))

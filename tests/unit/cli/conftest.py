"""A run on disk that tests can put into any state, as an engine would."""

from __future__ import annotations

import os
import socket
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalbench.engine.journal.schema import create
from evalbench.engine.runfolder import RunFolder, make_run, process_start
from evalbench.engine.settings import make_spec
from evalbench.engine.status import State

ACCURACY = {"value": 0.25, "low": 0.2, "high": 0.31, "k": 25, "n": 100, "title": "accuracy"}


class PretendEngine:
    """Writes the status and events of a run; this very process stands for the engine."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        create(folder.journal)

    def status(self, state: State = State.RUNNING, *, alive: bool = True, **fields: Any) -> None:
        """Replace the status."""
        status = self.folder.status()
        status.state = state
        status.host = socket.gethostname()
        status.pid = os.getpid()
        status.pid_started = process_start(os.getpid()) if alive else "another process"
        for name, value in fields.items():
            setattr(status, name, value)
        self.folder.write_status(status)

    def event(self, kind: str, count: int = 1, **body: Any) -> None:
        """Add an event."""
        with sqlite3.connect(self.folder.journal) as connection:
            connection.execute(
                "INSERT INTO event (at, kind, count, body) VALUES (?, ?, ?, ?)",
                (1500, kind, count, orjson.dumps(body)),
            )
        connection.close()

    def grow(self, count: int) -> None:
        """Raise the count of the newest event."""
        with sqlite3.connect(self.folder.journal) as connection:
            connection.execute(
                "UPDATE event SET count = ? WHERE id = (SELECT max(id) FROM event)", (count,)
            )
        connection.close()


@pytest.fixture
def engine(home: Path) -> PretendEngine:
    """A fresh run of 400 samples with a pretended engine."""
    spec = make_spec("quickstart", "local/smollm2-135m-instruct", desc="try", tag=["a"])
    return PretendEngine(make_run(spec, total=400))

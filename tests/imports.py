"""Writing imported runs in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalbench.engine.execution.rescoring import rescore
from evalbench.engine.formats.recorded import Recorded, write_run
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State


class Written(NamedTuple):
    """An imported run and all of its metrics."""

    folder: RunFolder
    metrics: Mapping[str, Mapping[str, Any]]

    def counts(self, name: str) -> tuple[float, float]:
        """Numerator and denominator of a metric."""
        metric = self.metrics[name]
        return metric["k"], metric["n"]


AGREES = ["the metrics read and compared as the original does are those in the file"]


def written(recorded: Recorded) -> Written:
    """The run of recorded results, complete, and the same when it is scored anew."""
    folder = asyncio.run(write_run(recorded))
    status = folder.status()
    replies = len(recorded.items) + sum(map(len, recorded.later))
    assert (status.state, status.done) == (State.COMPLETE, replies)
    again = asyncio.run(rescore(folder))
    assert again.changed == 0
    assert again.after == again.before
    assert again.kept == status.failed
    with JournalReader(folder.journal) as journal:
        assert journal.size() == len(recorded.items)
        notes = journal.meta("imported")["notes"]
        assert notes[: len(recorded.notes)] == list(recorded.notes)
        # Of the numbers in the files, too.
        assert notes[len(recorded.notes) :] == (AGREES if recorded.expected else [])
        return Written(folder, journal.meta("metrics"))


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A JSON lines file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def write_json(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(value))
    return path

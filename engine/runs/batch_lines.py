"""The lines of provider batches for one sample: those sent and those received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evalbench.engine.files import lines_of, open_plain
from evalbench.engine.journal.batches import line_of
from evalbench.engine.journal.reader import JournalReader
from evalbench.engine.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class BatchedCall:
    """One call that was sent in a batch.

    Attributes:
        role, model, step: those of the call.
        batch: our name for the batch.
        job: the provider's id; empty before it had one.
        line: line number, from 1.
        request, result: the lines as stored in the run's folder; empty if there is none.
    """

    role: str
    model: str
    step: str
    batch: str
    job: str
    line: int
    request: str
    result: str


def batched_calls(folder: RunFolder, row: int) -> list[BatchedCall]:
    """A sample's calls that were sent in batches. Reads whole files: not for an event loop.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = []
    with JournalReader(folder.journal) as journal:
        for call in journal.calls(row):
            place = journal.query(partial(line_of, call=call.id))
            if place is None:
                continue
            batch, line = place
            item = f"{batch.name}{line:05x}"
            job = batch.body.get("job") or {}
            found.append(
                BatchedCall(
                    call.key.role,
                    call.key.model,
                    call.key.step,
                    batch.name,
                    str(job.get("id") or ""),
                    line + 1,
                    _line_with(folder.batches / f"{batch.name}.requests.jsonl", item),
                    _line_with(folder.batches / f"{batch.name}.results.jsonl", item),
                )
            )
    return found


def _line_with(file: Path, item: str) -> str:
    wanted = item.encode()
    try:
        with open_plain(file) as opened:
            lines = lines_of(opened, file)
            return next((line.decode("utf-8", "replace") for line in lines if wanted in line), "")
    except OSError:
        return ""

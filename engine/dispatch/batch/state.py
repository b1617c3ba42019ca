"""The state of one provider batch. Every step is in the journal before it is taken."""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from typing import Any

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.cost.budget import Reservation
from evalbench.engine.journal.records import BatchRow
from evalbench.engine.record_schemas import BatchStatus

NAME_LENGTH = 10
MOST_ATTEMPTS = 255
"""They are counted in two hexadecimal digits of a name."""


class Stage(StrEnum):
    """Stages of a batch, in order. The last four are final."""

    COLLECTING = "collecting"
    """Its file is being written; a crash discards it, nothing has been sent."""
    PREPARED = "prepared"
    UPLOADED = "uploaded"
    SUBMITTING = "submitting"
    """It is being created; the provider may have it although its id is unknown."""
    SUBMITTED = "submitted"
    RUNNING = "running"
    ENDED = "ended"
    UNFETCHED = "unfetched"
    """It has ended, but its results could not be fetched: its calls may have been answered and
    billed, so they are not sent again unless the user asks for it."""
    FETCHED = "fetched"
    """Its results are in the run's folder."""
    DONE = "done"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"

    @property
    def final(self) -> bool:
        """Whether nothing is left to do."""
        return self in _FINAL

    @property
    def pending(self) -> bool:
        """Whether the provider has it, or may have it."""
        return self in _OUT


_FINAL = (Stage.DONE, Stage.CANCELLED, Stage.EXPIRED, Stage.FAILED)
_OUT = (Stage.SUBMITTING, Stage.SUBMITTED, Stage.RUNNING)


@dataclass(slots=True)
class Batch:
    """One batch: what is stored about it, and what only the engine driving it knows.

    Attributes:
        id: its number in the journal.
        name: unique; the prefix of all its item names.
        role: whose calls these are.
        model: the model's name at the provider.
        stage: see :class:`Stage`.
        requests, bytes: lines and size of its file.
        tokens: estimated tokens of all its prompts.
        uploaded: the provider's answer to the upload of the file.
        attempt: how often it was refused as a whole and had to be created again.
        since: Unix seconds shortly before it was created.
        asked_at: when the provider was last asked to create it; 0 if it refused or was not asked.
        failing_since: since when the provider has reported that this batch or its results do
            not exist; 0 if it does not.
        job: the provider's latest report.
        doubtful: ids of jobs that may be this batch, because the response to its creation was
            lost; ``job`` is None as long as there are any.
        why: why it failed.
        cancelled_at: Unix seconds when cancellation was requested; 0 if it was not.
        cancel_for: ``user``; ``fallback``: the rest is to be asked in realtime;
            ``overdue``: the provider should have ended it long ago.
        answered, failed, again: results read so far: good ones, errors, and those to ask again.
        cost: of the results read, in US dollars.
        saved: how much more they would have cost in realtime.
        worst: maximum cost of what is not answered.
        calls: the call in every line; 0 if it has left the batch.
        reservation: money reserved for what is not answered.
    """

    id: int
    name: str
    role: str
    model: str
    stage: Stage = Stage.COLLECTING
    requests: int = 0
    bytes: int = 0
    tokens: int = 0
    uploaded: dict[str, Any] = field(default_factory=dict)
    attempt: int = 0
    since: float = 0.0
    asked_at: float = 0.0
    failing_since: float = 0.0
    job: BatchJob | None = None
    doubtful: list[str] = field(default_factory=list)
    why: str = ""
    cancelled_at: float = 0.0
    cancel_for: str = ""
    answered: int = 0
    failed: int = 0
    again: int = 0
    cost: Decimal = Decimal(0)
    saved: Decimal = Decimal(0)
    worst: Decimal = Decimal(0)
    calls: array[int] = field(default_factory=lambda: array("q"))
    reservation: Reservation | None = None

    @property
    def job_name(self) -> str:
        """The name of this creation attempt: one that was refused keeps its own."""
        return f"{self.name}{self.attempt:02x}" if self.attempt else self.name

    @property
    def names(self) -> frozenset[str]:
        """Names a user may refer to it by: ours, or the provider's."""
        return frozenset({self.name, self.job.id} if self.job else {self.name})

    @property
    def requests_file(self) -> str:
        """Name of its request file, in the run's ``batches`` folder."""
        return f"{self.name}.requests.jsonl"

    @property
    def results_file(self) -> str:
        """Name of its results file."""
        return f"{self.name}.results.jsonl"

    def item(self, line: int) -> str:
        """The item name of a line."""
        return f"{self.name}{line:05x}"

    def line(self, item: str) -> int | None:
        """The line that an item name refers to; None if it is not from this batch."""
        if not item.startswith(self.name):
            return None
        try:
            line = int(item[NAME_LENGTH:], 16)
        except ValueError:
            return None
        return line if line < self.requests and self.item(line) == item else None

    def row(self) -> BatchRow:
        """Its stored form."""
        body = {name: getattr(self, name) for name in _STORED}
        job = asdict(self.job) if self.job else None
        body["job"] = job and {name: job[name] for name in _STORED_OF_JOB}
        body |= {name: str(getattr(self, name)) for name in _MONEY}
        return BatchRow(self.id, self.name, self.stage.value, body)

    @property
    def done_there(self) -> int | None:
        """Requests that the provider reports as done, directly or as a fraction of the total."""
        job = self.job
        if job is None or job.succeeded is not None or job.progress is None:
            return job.succeeded if job else None
        return round(self.requests * job.progress)

    def shown(self) -> BatchStatus:
        """Its display form, as JSON."""
        job = self.job
        return {
            "name": self.name,
            "role": self.role,
            "model": self.model,
            "stage": self.stage.value,
            "requests": self.requests,
            "bytes": self.bytes,
            "id": job.id if job else "",
            "job": job.state.value if job else "",
            "succeeded": self.done_there,
            "failed_there": job.failed if job else None,
            "answered": self.answered,
            "failed": self.failed,
            "again": self.again,
            "since": self.since,
            "expires": job.expires if job else None,
            "cancelling": bool(self.cancelled_at) and not self.stage.final,
            "cost": str(self.cost),
            "saved": str(self.saved),
            "resend_cost": str(self.worst) if self.stage is Stage.UNFETCHED and self.worst else "",
            "why": self.why,
        }


_STORED = (
    "role",
    "model",
    "requests",
    "bytes",
    "tokens",
    "uploaded",
    "attempt",
    "since",
    "asked_at",
    "failing_since",
    "doubtful",
    "why",
    "cancelled_at",
    "cancel_for",
    "answered",
    "failed",
    "again",
)

_STORED_OF_JOB = tuple(f.name for f in fields(BatchJob) if f.compare)

_MONEY = ("cost", "saved", "worst")


def new_name() -> str:
    """A new unique name."""
    return secrets.token_hex(NAME_LENGTH // 2)


def batch_of(row: BatchRow) -> Batch:
    """A batch from its stored form."""
    body: Mapping[str, Any] = row.body
    job = body["job"]
    batch = Batch(row.id, row.name, body["role"], body["model"], Stage(row.state))
    for name in _STORED:
        # Older versions stored fewer fields.
        setattr(batch, name, body.get(name, getattr(batch, name)))
    if job and not batch.doubtful:
        known = {name: job[name] for name in _STORED_OF_JOB if name in job}
        batch.job = BatchJob(**{**known, "state": JobState(job["state"])})
    elif job and batch.stage is not Stage.UNFETCHED:
        # An older version mistook one of the doubtful jobs for it.
        batch.stage = Stage.SUBMITTED
    for name in _MONEY:
        setattr(batch, name, Decimal(body[name]))
    return batch

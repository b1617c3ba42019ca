"""The status of a run: its state, its status file, its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from evalbench.engine.errors import EvalbenchError
from evalbench.engine.record_schemas import STATUS, BatchStatus, Gauges, TraceStatus

if TYPE_CHECKING:
    from evalbench.engine.scoring.tally import Metric


class State(StrEnum):
    """State of a run. The last six are at rest; WAITING has batches pending at a provider."""

    CREATED = "created"
    RUNNING = "running"
    PAUSING = "pausing"
    STOPPING = "stopping"
    PAUSED = "paused"
    STOPPED = "stopped"
    WAITING = "waiting"
    COMPLETE = "complete"
    FAILED = "failed"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a run in lists and on screens. Times are seconds since the epoch.

    Never changed: ``dataclasses.replace`` makes the next one. While an engine drives the run,
    :class:`evalbench.engine.process.status_file.StatusFile` does.

    ``metrics`` holds the headline and everything ungrouped; the full table is in the journal.
    ``seconds`` is the total over all engines that drove the run. ``spend_usd`` is None if prices
    are unknown; ``possible_usd`` is what interrupted or failed calls may have cost in addition, at
    worst. ``roles`` counts this engine's calls by role (``sent``, ``from_journal``, ``reused``,
    ``in_flight``); ``reused`` counts replies of earlier runs, over all engines; ``replies``
    all replies in the journal, including those of failed calls (None: not counted); ``latest`` has
    the most recent scores as (sample row, epoch), oldest first. ``batches`` has the form of
    :meth:`evalbench.engine.dispatch.batch.state.Batch.shown`, ``traces`` that of
    :meth:`evalbench.engine.telemetry.exporter.Exporter.report`; ``tracing`` is true while a run at
    rest is still sending the last of them. ``hook_running`` is true while a run at rest runs the
    command of ``--on-end``; ``hook_problem`` says how that failed.
    ``title`` is the title of a custom benchmark, ``source`` the path of the file, or of the folder
    of tasks, that it is from.
    ``unreadable`` says why the status file could not be read; it is never in the file.
    """

    run: str
    state: State = State.CREATED
    exit_code: int | None = None
    benchmark: str = ""
    title: str = ""
    source: str = ""
    model: str = ""
    desc: str = ""
    tags: list[str] = field(default_factory=list)
    created: float = 0.0
    updated: float = 0.0
    host: str = ""
    pid: int | None = None
    pid_started: str = ""
    total: int = 0
    done: int = 0
    failed: int = 0
    sent: int = 0
    from_journal: int = 0
    reused: int = 0
    replies: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    rate: float = 0.0
    seconds: float = 0.0
    spend_usd: float | None = None
    possible_usd: float = 0.0
    budget_usd: float | None = None
    mixed: bool = False
    problem: str = ""
    outcomes: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    params: dict[str, dict[str, str]] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=Gauges)
    roles: dict[str, dict[str, int]] = field(default_factory=dict)
    latest: Sequence[Sequence[int]] = field(default_factory=list)
    batches: list[BatchStatus] = field(default_factory=list)
    traces: list[TraceStatus] = field(default_factory=list)
    tracing: bool = False
    hook_running: bool = False
    hook_problem: str = ""
    unreadable: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Any]:
        """A JSON form that :meth:`from_json` reads back."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "unreadable"}

    @classmethod
    def from_json(cls, value: Any) -> Status:
        """A stored status; unknown fields are ignored.

        Raises:
            Misfit: a field has the wrong type or value.
        """
        STATUS(value)
        known = cls.__dataclass_fields__.keys() - {"unreadable"}
        fields: dict[str, Any] = {name: part for name, part in value.items() if name in known}
        fields["state"] = State(fields.get("state", State.CREATED))
        return cls(**fields)

    @property
    def name(self) -> str:
        """The benchmark for display: its own title, if it has one, and its name."""
        if self.title.casefold() in ("", self.benchmark.casefold()):
            return self.benchmark
        return f"{self.title} ({self.benchmark})"

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: the run is complete, and no sample has failed."""
        return self.state is State.COMPLETE and not self.failed

    @property
    def at_rest(self) -> bool:
        """Whether the run has ended for now, according to its status."""
        return self.state in AT_REST


DETAILS = frozenset(
    ("outcomes", "metrics", "errors", "params", "gauges", "roles", "latest", "batches", "traces")
)
"""Fields that may be omitted from a status if there is hardly any disk space."""

AT_REST = frozenset(
    {
        State.PAUSED,
        State.STOPPED,
        State.WAITING,
        State.COMPLETE,
        State.FAILED,
        State.BUDGET,
    }
)
STILL_WAITING = 7
"""Exit code of a run whose batches are still pending."""


def exit_code(status: Status, problem: EvalbenchError | None) -> int:
    """The exit code for a run at rest (see docs/command-line.md)."""
    if status.state is State.COMPLETE:
        return 2 if status.failed else 0
    if status.state is State.BUDGET:
        return 3
    if status.state in (State.PAUSED, State.STOPPED):
        return 4
    if status.state is State.WAITING:
        return STILL_WAITING
    return problem.exit_code if problem else 6


def metrics_json(metrics: Sequence[Metric]) -> dict[str, dict[str, Any]]:
    """Metrics by name, in order."""
    return {
        metric.name: {name: value for name, value in asdict(metric).items() if name != "name"}
        for metric in metrics
    }

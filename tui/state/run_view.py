"""One run as shown on its page, read cheaply: what changed since the last read, in figures.

The status file is read when it has changed, and only then is the journal opened briefly; nothing is
scanned, except once, when the view begins.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from evalbench.engine.errors import JournalError, RunNotFound
from evalbench.engine.hardware.measures import Measures, together
from evalbench.engine.journal import Event, JournalReader
from evalbench.engine.record_schemas import Gauges
from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.headline import Headline
from evalbench.engine.runs.status import Status
from evalbench.engine.terminal_text import one_line
from evalbench.tui.state.answers import Answer, LatestAnswers
from evalbench.tui.state.event_log import EventLog
from evalbench.tui.state.rate_history import RateHistory, TimeLeft
from evalbench.tui.state.run_follower import RunFollower
from evalbench.tui.state.run_list import LIVE, RESUMABLE
from evalbench.tui.state.scores import Metrics, final_metrics

_READ_BACK = 1000
"""Events before the newest one that are read at the beginning."""
_SCANNABLE = 200_000
"""Scores up to which their times are read at the beginning, in a tenth of a second."""

_STRETCHES = 240


class RoleWork(NamedTuple):
    """Calls of one role since the engine started, and in flight."""

    role: str
    sent: int
    from_journal: int
    reused: int
    in_flight: int


class Wait(NamedTuple):
    """Why calls were put off, how often recently, and the latest message."""

    reason: str
    times: int
    what: str


class Gpu(NamedTuple):
    """One GPU. Bytes, percent, degrees Celsius and watts; None for what it does not report."""

    name: str
    used: int | None
    peak: int | None
    total: int | None
    utilisation: int | None
    temperature: int | None
    power: float | None
    power_limit: float | None
    history: Sequence[int] | None
    """Load in the last readings, the newest last."""
    node: str | None = None
    """Its machine in a cluster; None: the engine's."""

    @property
    def title(self) -> str:
        """Its name, with its machine if that is another one."""
        return f"{self.node}: {self.name}" if self.node else self.name


class RunView:
    """Call :meth:`look` repeatedly; the rest is what was seen.

    Attributes:
        folder: the run's folder.
        log: its newest events, oldest first; see :class:`EventLog`.
        answers: the most recently scored, newest first.
        pace: its rate over time.
        metrics: all metrics once the run is at rest, else those of the status.
        resumed: whether another engine worked on it before the last one.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._watch = RunFollower(folder)
        self._log = EventLog()
        self._imported = False
        self.resumed = False
        self._latest = LatestAnswers()
        self._headline = Headline.of_journal(folder.journal, "")
        self._created = self._watch.status.created
        self._start = 0
        self._engine: tuple[int | None, str] | None = None
        self._second = 0
        self._elapsed = 0.0
        self._read_at: tuple[float, float] = (0.0, 0.0)
        self._glanced = False
        self.answers: list[Answer] = []
        self.pace = RateHistory()
        self.metrics: Metrics = {}

    # -- reading -----------------------------------------------------------------

    def look(self) -> bool:
        """Read what is new. True if something that is shown may have changed."""
        state = self.state
        changed = self._watch.look()
        if self._engine is None or changed or state != self.state:
            self._read()
            return True
        # Clocks advance between two changes of the status.
        second, self._second = self._second, int(time.monotonic())
        return self.live and second != self._second

    def glance(self) -> bool:
        """Like :meth:`look`, but reads only the status and the newest events."""
        state = self.state
        changed = self._watch.look() or not self._glanced or state != self.state
        if changed:
            self._glanced = True
            self._created = self.status.created or self._created
            with suppress(JournalError), JournalReader(self.folder.journal) as journal:
                self._read_events(journal)
        return changed or self.live

    def _read(self) -> None:
        status = self.status
        self._created = status.created or self._created
        engine = status.pid, status.pid_started
        with suppress(JournalError), JournalReader(self.folder.journal) as journal:
            if engine != self._engine:
                self._begin(journal)
            self._read_events(journal)
            self._headline.follow(status.metrics)
            self.answers = self._latest.read(journal, status.latest, self._headline)
        self._engine = engine
        if status.updated and self.live:
            down = bool(status.gauges.get("down"))
            self.pace.tell(status.updated - self._created, status.done, down=down)
        self.metrics = (
            final_metrics(self.folder, status.metrics) if status.at_rest else status.metrics
        )

    def _begin(self, journal: JournalReader) -> None:
        """Find out what happened before the view, or this engine, existed."""
        self.pace.forget()
        self._imported = journal.meta("imported") is not None
        started, ended = journal.newest_event("started"), journal.newest_event("ended")
        self._start = started.id if started else 0
        self.resumed = bool(started and journal.newest_event("started", before=started.id))
        if self.live and started and ended and ended.id > started.id:
            # An engine that is still preparing: the previous engine's start is not its own.
            return
        status = self.status
        if status.done > _SCANNABLE:
            return
        begun = started.at_ms if started else 0
        spent = (status.updated - self._created) * 1000 - begun
        every = 1000 * max(1, round(spent / 1000 / _STRETCHES))
        self.pace.restore(journal.score_times(every, begun), every / 1000, status.done)

    def _read_events(self, journal: JournalReader) -> None:
        newest = self._log.newest
        if not newest and (last := journal.newest_event()):
            newest = max(1, last.id - _READ_BACK)
        # Read the newest one again: its count may have grown.
        while page := journal.events(after=newest - 1):
            self._log.add(page)
            self._note_start(page)
            if page[-1].id == newest:
                break
            newest = page[-1].id

    def _note_start(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.kind == "started" and event.id > self._start:
                self.resumed = self.resumed or self._start > 0
                self._start = event.id
                self.pace.forget()

    def _at(self, event: Event) -> float:
        """When an event happened, in seconds since the epoch."""
        return self._created + event.at_ms / 1000

    # -- what was seen -----------------------------------------------------------

    @property
    def status(self) -> Status:
        """The most recently read status."""
        return self._watch.status

    @property
    def state(self) -> str:
        """The state to show."""
        return self._watch.state

    @property
    def live(self) -> bool:
        """Whether an engine drives it."""
        return self.state in LIVE

    @property
    def resumable(self) -> bool:
        """Whether there is anything to resume: an unfinished call, or a failed sample.

        An imported run cannot be resumed.
        """
        failed_some = self.state == "complete" and self.status.failed > 0 and not self._imported
        return self.state in RESUMABLE or failed_some

    @property
    def gauges(self) -> Gauges:
        """The engine's current measurements; empty without an engine."""
        return self.status.gauges if self.live else {}

    def note_killed(self) -> None:
        """Its engine had to be killed to enforce a stop."""
        self._watch.killed = True

    @property
    def problem(self) -> str:
        """Why it did not complete, if known."""
        return self._watch.problem()

    @property
    def log(self) -> Sequence[Event]:
        """See the class."""
        return list(self._log)

    def clock_time(self, event: Event) -> str:
        """When an event happened, in local time."""
        return time.strftime("%H:%M:%S", time.localtime(self._at(event)))

    @property
    def elapsed(self) -> float:
        """Total seconds that engines worked on it; includes the current one.

        Counted as in the status: from the first call, without the loading of a model before it.
        """
        seconds = self.status.seconds
        if not self.live or not seconds:
            return seconds
        # The time since the status was read, by a clock that nobody sets.
        if self._read_at[0] != self.status.updated:
            self._read_at = self.status.updated, time.monotonic()
        self._elapsed = max(self._elapsed, seconds + time.monotonic() - self._read_at[1])
        return self._elapsed

    @property
    def left(self) -> TimeLeft | None:
        """The remaining time; None while unknown."""
        status = self.status
        return self.pace.left(status.total - status.done, status.rate) if self.live else None

    @property
    def roles(self) -> list[RoleWork]:
        """Calls by role; those of all roles together if they are not reported separately."""
        status = self.status
        if not status.roles:
            return [RoleWork("candidate", status.sent, status.from_journal, status.reused, 0)]
        return [
            RoleWork(role, *(counts.get(name, 0) for name in RoleWork._fields[1:]))
            for role, counts in status.roles.items()
        ]

    @property
    def waits(self) -> list[Wait]:
        """Reasons for waiting among the newest events, the most frequent first."""
        counts: dict[str, int] = {}
        what: dict[str, str] = {}
        for event in self._log:
            if event.kind == "wait":
                reason = one_line(str(event.body.get("reason", "")))
                counts[reason] = counts.get(reason, 0) + event.count
                what[reason] = one_line(str(event.body.get("what", "")))
        ranked = sorted(counts, key=lambda reason: -counts[reason])
        return [Wait(reason, counts[reason], what[reason]) for reason in ranked]

    @property
    def changed_params(self) -> list[tuple[str, str, str]]:
        """(name, fate, reason) of every parameter that was not sent as requested."""
        return [
            (name, note.get("fate", ""), one_line(note.get("reason", "")))
            for name, note in self.status.params.items()
            if note.get("fate") != "sent"
        ]

    @property
    def measures(self) -> Mapping[str, Measures]:
        """Measurements of each local model, by name: from past engines, or from the current one."""
        if now := self.gauges.get("measures"):
            return {"": Measures.from_json(now)}
        return together(e.body for e in self._log if e.kind == "model-unloaded")

    @property
    def gpus(self) -> list[Gpu]:
        """The GPUs of the machine that a local model runs on."""
        read: Sequence[Mapping[str, Any]] = self.gauges.get("gpus") or ()
        cards: list[dict[str, Any]] = [{n: card.get(n) for n in Gpu._fields} for card in read]
        return [Gpu(**card) for card in cards]

    def budget_asked(self) -> float | None:
        """The budget in the run's spec, in US dollars."""
        try:
            budget = self.folder.spec().settings.budget
        except RunNotFound:
            return None
        return None if budget is None else float(budget)

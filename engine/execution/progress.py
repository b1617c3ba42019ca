"""Progress of a run: its scores and its calls, counted as they arrive."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from functools import partial

from evalbench.engine.calls import Outcome, ParamNote, Reply
from evalbench.engine.execution.ask import BoundModel
from evalbench.engine.journal import Journal
from evalbench.engine.journal.epoch_means import EpochMeans
from evalbench.engine.journal.reader import (
    RowDecoder,
    Totals,
    count_samples,
    epoch_means,
    reused_replies,
    tally_of,
    totals,
)
from evalbench.engine.scoring.tally import Tally

_RATE_WINDOW_S = 20.0
_LATEST = 8

_FATES = ("sent", "dropped", "refused")
"""What can happen to a requested parameter; the last of these seen on any call is shown."""


class RunProgress:
    """Progress so far. Calls and errors are those of this engine process only.

    Attributes:
        tally: all scores so far, updated live.
        before: totals over all replies of earlier engines.
        total: samples × epochs.
        roles: calls per role by how they were answered: ``sent``, ``from_journal``, or
            ``reused`` from an earlier run.
        reused: replies reused from earlier runs, over all engines.
        input_tokens, output_tokens: of all paid replies, over all engines.
        errors: failed samples by kind of error.
        notes: what happened to each requested parameter.
        latest: (row, epoch) of the most recent scores, oldest first.
        solved: whether any sample succeeded, in this engine or an earlier one.
        first_sent, last_score: times on the monotonic clock.
    """

    def __init__(self, models: Mapping[str, BoundModel], epochs: int) -> None:
        """Start at zero.

        Args:
            models: the model of each role.
            epochs: how often each sample is asked.
        """
        self._models = models
        self._epochs = epochs
        self.tally = Tally()
        self.before = Totals()
        self.total = 0
        self.sent = 0
        self.from_journal = 0
        self.reused = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.first_sent: float | None = None
        self.last_score: float | None = None
        self.errors: dict[str, int] = {}
        self.notes: dict[str, dict[str, str]] = {}
        self._noted: tuple[ParamNote, ...] = ()
        self.roles = {role: {"sent": 0, "from_journal": 0, "reused": 0} for role in models}
        self.latest: deque[tuple[int, int]] = deque(maxlen=_LATEST)
        self.solved = False
        self._recent: deque[tuple[float, int]] = deque()
        self._epochs_of: dict[int, list[tuple[Outcome, Mapping[str, float]]]] = {}

    def read(self, journal: Journal, expected: int | None = None) -> None:
        """Add what the journal has from earlier engines.

        Args:
            journal: the run's journal.
            expected: number of samples, if known; they may still be loading.
        """
        path = journal.path

        def read(decoder: RowDecoder) -> tuple[Tally, int, int, Totals]:
            size = count_samples(decoder) if expected is None else expected
            reused = sum(reused_replies(decoder, path).values())
            return tally_of(decoder, path), size, reused, totals(decoder, path)

        self.tally, size, self.reused, self.before = journal.query(read)
        self.total = size * self._epochs
        self.input_tokens, self.output_tokens = self.before[:2]
        self.solved = self.done > 0
        if self._epochs > 1:
            self.tally.epochs = self._epochs
            known = journal.query(partial(epoch_means, path=path, epochs=self._epochs))
            self.tally.means, self._epochs_of = known.means, known.begun

    def keep(self, journal: Journal) -> None:
        """Hand over what the journal's sums do not show, right before it is closed."""
        if self.tally.means is not None:
            journal.keep_epoch_means(EpochMeans(self._epochs, self.tally.means, self._epochs_of))

    @property
    def done(self) -> int:
        """Samples × epochs that have a score or failed."""
        return sum(self.tally.rows.values())

    @property
    def failed(self) -> int:
        """Samples × epochs that failed."""
        return self.tally.outcomes()[Outcome.ERROR.value]

    @property
    def seconds(self) -> float:
        """Seconds from the first call sent until now, or to the score of the last sample.

        In this engine. Calls waiting for a model to load do not count as sent.
        """
        ready = [part.dispatcher.ready_at for part in self._models.values()]
        if self.first_sent is None or None in ready:
            return 0.0
        begun = max(self.first_sent, *(at for at in ready if at is not None))
        now = time.monotonic()
        if self.last_score is not None and self.done >= self.total:
            now = self.last_score
        return max(0.0, now - begun)

    def rate(self) -> float:
        """Samples finished per second, over the last 20 s or since an outage ended.

        An outage inside that window would make the remaining time far too long.
        """
        now, done = time.monotonic(), self.done
        if any(part.dispatcher.gauges().get("down") for part in self._models.values()):
            self._recent.clear()
        self._recent.append((now, done))
        while len(self._recent) > 2 and now - self._recent[0][0] > _RATE_WINDOW_S:
            self._recent.popleft()
        then, before = self._recent[0]
        return (done - before) / (now - then) if now > then else 0.0

    def count_reply(self, role: str, reply: Reply) -> None:
        """Count one call of a role that was answered now, or by a reply of an earlier run."""
        if reply.reused:
            self.reused += 1
        else:
            self.sent += 1
            self.input_tokens += reply.usage.input_tokens or 0
            self.output_tokens += reply.usage.output_tokens or 0
        self._count(role, reply, "reused" if reply.reused else "sent")

    def count_stored_reply(self, role: str, reply: Reply) -> None:
        """Count one call of a role whose reply was in the journal."""
        self.from_journal += 1
        self._count(role, reply, "from_journal")

    def _count(self, role: str, reply: Reply, how: str) -> None:
        self.roles[role][how] += 1
        if reply.params is self._noted:  # as of nearly all calls
            return
        self._noted = reply.params
        for note in reply.params:
            known = self.notes.get(note.name)
            if known is None or _FATES.index(note.fate) >= _FATES.index(known["fate"]):
                self.notes[note.name] = {"fate": note.fate, "reason": note.reason}

    def count_score(
        self,
        row: int,
        epoch: int,
        tags: Mapping[str, str],
        outcome: Outcome,
        values: Mapping[str, float],
    ) -> None:
        """Count the score of one sample in one epoch."""
        self.tally.add(tags, outcome, values)
        if self._epochs > 1:
            self._count_epoch(row, tags, (outcome, values))
        self.last_score = time.monotonic()
        self.latest.append((row, epoch))

    def _count_epoch(
        self, row: int, tags: Mapping[str, str], score: tuple[Outcome, Mapping[str, float]]
    ) -> None:
        """Collect the epochs of a sample; add it to the tally's means once all are in."""
        scores = self._epochs_of.setdefault(row, [])
        scores.append(score)
        if len(scores) == self._epochs and self.tally.means is not None:
            self.tally.means.add_sample(tags, self._epochs_of.pop(row))

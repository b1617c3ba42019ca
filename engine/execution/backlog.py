"""The samples of a run that have no score yet: those that were never asked, and parked ones."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable
from functools import partial
from typing import NamedTuple

from evalbench.engine.benchmark import Sample
from evalbench.engine.calls import Reply
from evalbench.engine.journal import CallRow, Journal
from evalbench.engine.journal.paging import SampleCalls, Unfinished, unfinished

_PAGE = 64
_MOST_AT_HAND = 256
"""Samples kept in memory while they wait for their turn after replies to them arrived."""


class Job(NamedTuple):
    """One sample to be solved in one epoch.

    Attributes:
        row: of the sample in the journal.
        epoch: from 0.
        sample: what is asked about.
        calls: all that the journal has of it in this epoch.
        woken: its replies came while it was parked.
    """

    row: int
    epoch: int
    sample: Sample
    calls: list[CallRow]
    woken: bool


class Backlog:
    """Hands out samples without a score: parked ones whose replies came first, then new ones.

    Attributes:
        exhausted: every sample of the journal was handed out once, and no more will be added.
    """

    def __init__(self, journal: Journal, epochs: int, rows: Collection[int] | None) -> None:
        """Begin before the first sample.

        Args:
            journal: of the run.
            epochs: how often each sample is asked.
            rows: hand out these samples only; None: all.
        """
        self._journal = journal
        self._epochs = epochs
        self._rows = rows
        self.exhausted = False
        self._loading: asyncio.Future[None] | None = None
        self._jobs: deque[Job] = deque()
        self._last_row = 0
        self._dry = False
        self._parked: set[tuple[int, int]] = set()
        self._woken: set[tuple[int, int]] = set()
        self._at_hand: dict[tuple[int, int], tuple[Sample, dict[int, CallRow]]] = {}

    def begin(self, loading: asyncio.Future[None] | None, *, finished: bool) -> None:
        """Say what there is to do.

        Args:
            loading: done once the journal has all samples; None: it has them.
            finished: every sample has its scores. Looking for others takes a walk over all.
        """
        self._loading = loading
        self.exhausted = finished

    @property
    def parked(self) -> bool:
        """Whether any sample waits for replies."""
        return bool(self._parked)

    @property
    def woken(self) -> bool:
        """Whether any parked sample can go on."""
        return bool(self._woken & self._parked)

    def next(self) -> Job | None:
        """The next sample to solve; None while there is none."""
        return self._jobs.popleft() if self.read() else None

    def read(self) -> int:
        """Have the next samples at hand, if there are any just now. Returns how many are."""
        if not self._jobs and not self._read_woken():
            self._read_new()
        return len(self._jobs)

    def look_again(self) -> None:
        """Where the journal had no more samples, some may have been added since."""
        self._dry = False

    def _read_new(self) -> None:
        if self._dry or self.exhausted:
            return
        all_there = self._loading is None or self._loading.done()
        page = self._page(self._last_row, self._rows)
        self._dry = not page
        self.exhausted = self._dry and all_there
        for item in page:
            self._last_row = item.row
            self._add(item, item.epochs, woken=False)

    def _read_woken(self) -> bool:
        """Have samples at hand whose replies came in; False when there are none."""
        wanted = sorted(self._woken & self._parked)[:_PAGE]
        if not wanted:
            return False
        self._woken.difference_update(wanted)
        self._parked.difference_update(wanted)
        for row, epoch in [place for place in wanted if place in self._at_hand]:
            sample, asked = self._at_hand.pop((row, epoch))
            self._jobs.append(Job(row, epoch, sample, list(asked.values()), True))
            wanted.remove((row, epoch))
        if wanted:
            for item in self._page(0, {row for row, _ in wanted}):
                epochs = [epoch for epoch in item.epochs if (item.row, epoch) in wanted]
                self._add(item, epochs, woken=True)
        return True

    def _page(self, after: int, rows: Collection[int] | None) -> list[Unfinished]:
        path = self._journal.path
        return self._journal.query(
            partial(unfinished, path=path, after=after, epochs=self._epochs, most=_PAGE, rows=rows)
        )

    def _add(self, item: Unfinished, epochs: Iterable[int], *, woken: bool) -> None:
        for epoch in epochs:
            calls = [call for call in item.calls if call.key.epoch == epoch]
            self._jobs.append(Job(item.row, epoch, item.sample, calls, woken))

    # -- parked samples -----------------------------------------------------------

    def park(self, row: int, epoch: int) -> None:
        """Put a sample aside until a reply to it arrives."""
        self._parked.add((row, epoch))

    def keep(self, sample: SampleCalls) -> None:
        """Have a parked sample at hand, as replies to it are about to arrive."""
        for epoch in {call.key.epoch for call in sample.calls}:
            place = sample.row, epoch
            room = place in self._at_hand or len(self._at_hand) < _MOST_AT_HAND
            # One that is at work may store calls that were not read.
            if room and place in self._parked:
                calls = {call.id: call for call in sample.calls if call.key.epoch == epoch}
                self._at_hand[place] = sample.sample, calls

    def wake(self, call: CallRow, reply: Reply) -> None:
        """Let a sample go on that got a reply."""
        place = call.row, call.key.epoch
        if place in self._at_hand:
            self._at_hand[place][1][call.id] = call.answered(reply)
        self._woken.add(place)

    def wake_unanswered(self, row: int, epoch: int) -> None:
        """Let a sample go on that will get no reply to a call; it is read anew."""
        self._at_hand.pop((row, epoch), None)
        self._woken.add((row, epoch))

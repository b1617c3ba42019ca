"""Samples of a run that have no score yet: new ones and parked ones."""

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
"""Parked samples kept in memory until it is their turn, once their replies have arrived."""


class Job(NamedTuple):
    """One sample to solve in one epoch.

    Attributes:
        row: the sample's row in the journal.
        epoch: zero-based.
        sample: the sample itself.
        calls: all calls that the journal has for it in this epoch.
        woken: its replies arrived while it was parked.
    """

    row: int
    epoch: int
    sample: Sample
    calls: list[CallRow]
    woken: bool


class Backlog:
    """Hands out unscored samples: parked ones with replies first, then new ones.

    Attributes:
        exhausted: every sample has been handed out once and no more will be added.
    """

    def __init__(self, journal: Journal, epochs: int, rows: Collection[int] | None) -> None:
        """Start before the first sample.

        Args:
            journal: the run's journal.
            epochs: how often each sample is asked.
            rows: hand out only these samples; None for all.
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
        """Set what there is to do.

        Args:
            loading: done once the journal has all samples; None if it already has them.
            finished: every sample is scored. If not, all are scanned for the rest.
        """
        self._loading = loading
        self.exhausted = finished

    @property
    def parked(self) -> int:
        """How many samples are waiting for replies."""
        return len(self._parked)

    @property
    def woken(self) -> bool:
        """Whether any parked sample can continue."""
        return bool(self._woken & self._parked)

    @property
    def next_is_woken(self) -> bool:
        """Whether the next loaded sample was parked, and has replies now."""
        return bool(self._jobs) and self._jobs[0].woken

    def next(self) -> Job | None:
        """The next sample to solve; None if there is none yet."""
        return self._jobs.popleft() if self.read() else None

    def read(self) -> int:
        """Load the next samples, if there are any. Returns how many are loaded."""
        if not self._jobs and not self._read_woken():
            self._read_new()
        return len(self._jobs)

    def look_again(self) -> None:
        """Check again for samples after reaching the end: more may have been added."""
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
        """Load parked samples whose replies have arrived; False if there are none."""
        woken = sorted(self._woken & self._parked)
        at_hand = [place for place in woken if place in self._at_hand]
        wanted = at_hand or woken[:_PAGE]
        self._woken.difference_update(wanted)
        self._parked.difference_update(wanted)
        if at_hand:
            for row, epoch in at_hand:
                sample, calls = self._at_hand.pop((row, epoch))
                self._jobs.append(Job(row, epoch, sample, list(calls.values()), True))
        elif wanted:
            for item in self._page(0, {row for row, _ in wanted}):
                epochs = [epoch for epoch in item.epochs if (item.row, epoch) in wanted]
                self._add(item, epochs, woken=True)
        return bool(wanted)

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
        """Set a sample aside until a reply to one of its calls arrives."""
        self._parked.add((row, epoch))

    def keep(self, samples: Iterable[SampleCalls]) -> None:
        """Keep parked samples in memory because replies to them are about to arrive."""
        for row, sample, calls in samples:
            by_place: dict[tuple[int, int], dict[int, CallRow]] = {}
            for call in calls:
                by_place.setdefault((row, call.key.epoch), {})[call.id] = call
            for place, of_place in by_place.items():
                room = place in self._at_hand or len(self._at_hand) < _MOST_AT_HAND
                # A sample being worked on may store calls that were not read here.
                if room and place in self._parked:
                    self._at_hand[place] = sample, of_place

    def wake(self, call: CallRow, reply: Reply) -> None:
        """Let a sample continue now that it has a reply."""
        place = call.row, call.key.epoch
        if place in self._at_hand:
            self._at_hand[place][1][call.id] = call.answered(reply)
        self._woken.add(place)

    def wake_unanswered(self, row: int, epoch: int) -> None:
        """Let a sample continue whose call will get no reply; re-read it from the journal."""
        self._at_hand.pop((row, epoch), None)
        self._woken.add((row, epoch))

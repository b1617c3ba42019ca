"""Progress as plain lines, for files, pipes and terminals without cursor movement."""

from __future__ import annotations

import time
from collections.abc import Sequence

from evalbench.engine.compat import override
from evalbench.engine.journal import Event
from evalbench.engine.terminal_text import one_line
from evalbench.tui.cli.closing import print_closing
from evalbench.tui.cli.follow import View
from evalbench.tui.cli.output import Out
from evalbench.tui.state import figures
from evalbench.tui.state.event_words import (
    activity_words,
    event_words,
    full_words,
    holdup_words,
    step_words,
)
from evalbench.tui.state.run_follower import RunFollower, eta
from evalbench.tui.state.spending import spend_line

_EVERY_S = 10.0
_STEP = 0.05
_LEAST_S = 1.0
_SAME_WAIT_S = 60.0


class Plain(View):
    """A :class:`evalbench.tui.cli.follow.View` of plain lines.

    A run's progress is printed every 5 %, but at most once per second and at least every 10 s.
    """

    def __init__(self, out: Out, *, verbose: bool = False) -> None:
        self._out = out
        self._verbose = verbose
        self._several = False
        self._printed: dict[str, tuple[float, float]] = {}
        self._activity: dict[str, str] = {}

    @override
    def note(self, text: str) -> None:
        self._out.line(text)

    @override
    def preparing(self, what: str, done: int, total: int | None) -> None:
        last, _ = self._printed.get(what, (-_EVERY_S, 0))
        if time.monotonic() - last >= _EVERY_S:
            self._printed[what] = time.monotonic(), 0
            self._out.line(one_line(step_words(what, done, total)))

    @override
    def begin(self, watches: Sequence[RunFollower]) -> None:
        self._several = len(watches) > 1
        for watch in watches:
            status = watch.status
            self._out.line(
                f"run {watch.id}: {one_line(status.name)} × {one_line(status.model)},"
                f" {figures.counted(status.total, 'sample')}"
            )
            self._printed[watch.id] = time.monotonic(), 0

    @override
    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        for event in events:
            if self._verbose:
                self._say(watch, full_words(event))
            elif (words := event_words(event)) and not self._said_lately(watch, event):
                self._say(watch, words)
        activity = activity_words(watch.status.gauges.get("progress"))
        if activity.partition(":")[0] != self._activity.get(watch.id, ""):
            self._activity[watch.id] = activity.partition(":")[0]
            if activity:
                self._say(watch, activity)
                _, share = self._printed[watch.id]
                self._printed[watch.id] = time.monotonic(), share
        if not watch.ended:
            self._progress(watch, activity)

    def _said_lately(self, watch: RunFollower, event: Event) -> bool:
        """Whether the same wait was printed less than a minute ago; its count rises meanwhile."""
        if event.kind != "wait":
            return False
        what = f"{watch.id} {event.body.get('what')}"
        last, _ = self._printed.get(what, (-_SAME_WAIT_S, 0.0))
        if time.monotonic() - last < _SAME_WAIT_S:
            return True
        self._printed[what] = time.monotonic(), 0.0
        return False

    def _progress(self, watch: RunFollower, activity: str) -> None:
        status = watch.status
        now = time.monotonic()
        share = status.done / status.total if status.total else 0.0
        when, before = self._printed[watch.id]
        if now - when < (_LEAST_S if share - before >= _STEP else _EVERY_S):
            return
        self._printed[watch.id] = now, share
        if activity:
            self._say(watch, activity)
            return
        done = f"{figures.count(status.done)}/{figures.count(status.total)}"
        parts = [
            f"{figures.percent(share):>5}  {done}",
            figures.rate(status.rate),
        ]
        if (left := eta(status)) is not None:
            parts.append(f"{figures.duration(left)} left")
        if status.gauges.get("down"):
            parts.append(holdup_words(status.gauges))
        for name, metric in list(status.metrics.items())[:1]:
            if metric.get("value") is not None:
                parts.append(f"{one_line(metric.get('title') or name)} {figures.score(metric)}")
        if status.spend_usd:
            parts.append(spend_line(status))
        if status.failed:
            parts.append(f"{figures.count(status.failed)} failed")
        self._say(watch, " · ".join(parts))

    def _say(self, watch: RunFollower, text: str) -> None:
        self._out.line(f"{watch.id.rpartition('-')[2]}: {text}" if self._several else text)

    @override
    def ended(self, watch: RunFollower) -> None:
        print_closing(self._out, watch)

    @override
    def detached(self, watches: Sequence[RunFollower]) -> None:
        for watch in watches:
            pid = watch.folder.live_pid(watch.status)
            self._out.line(f"{watch.id} keeps running in process {pid}")
            self._out.line(f"watch it: evalbench attach {watch.id}")
            self._out.line(f"end it:   evalbench stop {watch.id}")

    @override
    def close(self) -> None:
        """Do nothing."""

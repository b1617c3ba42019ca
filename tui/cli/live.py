"""A live block on a terminal that shows the active runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Group
from rich.live import Live as RichLive
from rich.text import Text

from evalbench.engine.compat import override
from evalbench.engine.journal import Event
from evalbench.engine.runs.status import State
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

_BAR = 80
_REDRAW_S = 1.0
_EVENT_STAYS_S = 15.0
_STATE_STYLES = {
    "running": "green",
    "complete": "green",
    "created": "dim",
    "failed": "red",
    "interrupted": "red",
    "unreadable": "red",
}


class Live(View):
    """A :class:`evalbench.tui.cli.follow.View` that redraws one block in place.

    It is drawn at most once per second and when a run ends, which keeps it below 2 KB/s at 80
    columns.
    """

    def __init__(self, out: Out, *, tied: bool = False, verbose: bool = False) -> None:
        self._out = out
        self._console = out.console()
        self._tied = tied
        self._verbose = verbose
        self._live: RichLive | None = None
        self._watches: list[RunFollower] = []
        self._last_log_line: dict[str, tuple[float, str]] = {}
        self._due = 0.0
        self._begun = time.monotonic()

    @override
    def note(self, text: str) -> None:
        self._out.line(text) if self._live is None else self._live.console.print(Text(text))

    @override
    def preparing(self, what: str, done: int, total: int | None) -> None:
        if self._is_due():
            self._draw(Group(_line(step_words(what, done, total)), *self._bar(done, total)))

    @override
    def begin(self, watches: Sequence[RunFollower]) -> None:
        self._watches = list(watches)
        self._begun = time.monotonic()
        self._draw(self._block())

    @override
    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        for event in events:
            if self._verbose:
                self.note(full_words(event))
            elif words := event_words(event):
                self._last_log_line[watch.id] = time.monotonic(), words
        if self._is_due():
            self._draw(self._block())

    @override
    def ended(self, watch: RunFollower) -> None:
        self.close()
        print_closing(self._out, watch)
        self._watches.remove(watch)
        if self._watches:
            self._draw(self._block())

    @override
    def detached(self, watches: Sequence[RunFollower]) -> None:
        self.close()
        for watch in watches:
            self._out.line(f"{watch.id} keeps running")
            self._out.line(f"watch it: evalbench attach {watch.id}")
            self._out.line(f"end it:   evalbench stop {watch.id}")

    @override
    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _is_due(self) -> bool:
        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + _REDRAW_S
        return True

    def _draw(self, block: Group) -> None:
        if self._live is None:
            self._live = RichLive(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(block, refresh=True)

    # -- what the block shows --------------------------------------------------

    def _block(self) -> Group:
        working = [watch for watch in self._watches if watch.status.state != "created"]
        waiting = len(self._watches) - len(working)
        parts: list[Text] = []
        for watch in working or self._watches[:1]:
            parts += self._run(watch)
        if waiting and working:
            parts.append(_line(f"{waiting} more wait for their turn", "dim"))
        what = "stop it" if self._tied else "leave it running, or stop it"
        if all(watch.state == State.STOPPING for watch in self._watches):
            what = "give calls in flight no more time"
        parts.append(_line(f"{self._watches[0].id}", "dim"))
        parts.append(_line(f"Ctrl-C: {what}", "dim"))
        return Group(*parts)

    def _run(self, watch: RunFollower) -> list[Text]:
        status = watch.status
        head = _line(f"{one_line(status.name)} × {one_line(status.model)}", "bold")
        head.append(f"  {watch.state}", _STATE_STYLES.get(watch.state, "yellow"))
        parts = [head, *self._bar(status.done, status.total)]
        facts = [f"{figures.count(status.done)}/{figures.count(status.total)}"]
        if status.rate:
            facts.append(figures.rate(status.rate))
        if (left := eta(status)) is not None:
            facts.append(f"{figures.duration(left)} left")
        if in_flight := status.gauges.get("in_flight"):
            facts.append(f"{in_flight} in flight")
        facts.append(figures.duration(time.monotonic() - self._begun))
        parts.append(_line(" · ".join(facts)))
        if spent := spend_line(status):
            parts.append(_line(spent))
        for name, metric in list(status.metrics.items())[:1]:
            if metric.get("value") is not None:
                parts.append(
                    Text.assemble(
                        f"{one_line(metric.get('title') or name)} ",
                        (figures.value(metric), "bold"),
                        f"  {figures.interval(metric)}",
                        f"  {figures.count(metric['k'])}/{figures.count(metric['n'])}",
                        no_wrap=True,
                        overflow="ellipsis",
                    )
                )
        if status.done:
            parts.append(_line(figures.outcome_line(status.outcomes)))
        if activity := activity_words(status.gauges.get("progress")):
            parts.append(_line(activity, "yellow"))
        for words in (holdup_words(status.gauges), self._recent(watch)):
            if words:
                parts.append(_line(words, "yellow"))
        return parts

    def _recent(self, watch: RunFollower) -> str:
        when, words = self._last_log_line.get(watch.id, (0.0, ""))
        return words if time.monotonic() - when < _EVENT_STAYS_S else ""

    def _bar(self, done: int, total: int | None) -> list[Text]:
        if not total:
            return []
        width = min(self._console.width, _BAR)
        full, empty = "#." if self._console.options.ascii_only else "█░"
        filled = round(width * min(done, total) / total)
        return [Text.assemble((full * filled, "green"), (empty * (width - filled), "dim"))]


def _line(text: str, style: str = "") -> Text:
    """One line that is cut off, never wrapped, so that the block keeps its height."""
    return Text(one_line(text), style=style, no_wrap=True, overflow="ellipsis")

"""Following runs on the command line: changes in their folders, and requests by signal."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Protocol

from evalbench.engine.journal import Event
from evalbench.engine.process.stopping import Stop
from evalbench.engine.terminal_text import clean
from evalbench.tui.cli import menu
from evalbench.tui.cli.output import stderr
from evalbench.tui.cli.signals import Signals
from evalbench.tui.state.run_follower import RunFollower

_POLL_S = 0.1


class View(Protocol):
    """A display for runs: a live block, plain lines, or JSON lines."""

    def note(self, text: str) -> None:
        """Print a message that belongs to no run."""

    def preparing(self, what: str, done: int, total: int | None) -> None:
        """Data or a model is being prepared, before there is a run."""

    def begin(self, watches: Sequence[RunFollower]) -> None:
        """These runs are followed from now on."""

    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        """Something about a run changed."""

    def ended(self, watch: RunFollower) -> None:
        """A run came to rest, or lost its engine."""

    def detached(self, watches: Sequence[RunFollower]) -> None:
        """These runs continue without being followed."""

    def close(self) -> None:
        """Nothing more will be shown for now: release the terminal."""


def follow(
    watches: Sequence[RunFollower], view: View, signals: Signals, *, owner: bool, tied: bool = False
) -> int:
    """Show runs until all have ended; returns the highest of their exit codes.

    Args:
        watches: the runs, each driven by an engine.
        view: the display.
        signals: entered, not raising.
        owner: whether this command started the runs, so that without a terminal SIGINT and SIGTERM
            stop them. Otherwise they only end the watching.
        tied: whether the runs end with this command anyway (``--foreground``).
    """
    going = list(watches)
    stops = _Stops(view)
    view.begin(watches)
    try:
        while True:
            for watch in list(going):
                if watch.look() or watch.ended or watch.stale():
                    view.show(watch, watch.events())
                if watch.ended and not (watch.tracing or watch.hook_running):
                    going.remove(watch)
                    view.ended(watch)
                    if watch.lost:
                        stderr().line(f"error: {clean(watch.problem())}")
            if not going:
                return max(watch.exit_code for watch in watches)
            if stops.begun:
                stops.go_on(going, insist=_insisted(signals))
            else:
                match _wish(signals, view, going, owner=owner, tied=tied):
                    case "detach":
                        view.detached(going)
                        return 0
                    case "stop":
                        stops.begin(going)
            time.sleep(_POLL_S)
    finally:
        view.close()


class _Stops:
    """Runs that were asked to stop."""

    def __init__(self, view: View) -> None:
        self.begun: dict[str, Stop] = {}
        self._view = view

    def begin(self, watches: Sequence[RunFollower]) -> None:
        """Ask the engines."""
        self._view.note("stopping: calls in flight get a few seconds")
        self.begun = {watch.id: Stop(watch.folder) for watch in watches}

    def go_on(self, watches: Sequence[RunFollower], *, insist: bool) -> None:
        """Escalate for runs that are still active, at once or after their timeout."""
        for watch in watches:
            stop = self.begun[watch.id]
            if words := stop.insist() if insist else stop.look():
                self._view.note(words)
            watch.killed = stop.killed


def _insisted(signals: Signals) -> bool:
    """Whether a stop was requested again while stopping."""
    number = signals.take()
    return number is not None and number != signal.SIGHUP


def _wish(
    signals: Signals, view: View, going: Sequence[RunFollower], *, owner: bool, tied: bool
) -> menu.Choice:
    """What the oldest pending signal requests."""
    number = signals.take()
    if number is None:
        return "watch"
    if number == signal.SIGINT and menu.on_terminal():
        view.close()
        return menu.ask(signals, tied=tied, still_running=lambda: _any_going(going))
    if tied or (owner and number != signal.SIGHUP):
        return "stop"
    return "detach"


def _any_going(going: Sequence[RunFollower]) -> bool:
    for watch in going:
        watch.look()
    return not all(watch.ended for watch in going)

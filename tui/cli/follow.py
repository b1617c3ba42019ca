"""Following runs on the command line: what changed in their folders, and what signals ask for."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Protocol

from evalbench.engine.journal import Event
from evalbench.engine.process.stopping import Stop
from evalbench.tui.cli import menu
from evalbench.tui.cli.output import stderr
from evalbench.tui.cli.signals import Signals
from evalbench.tui.state.clean import clean
from evalbench.tui.state.run_follower import RunFollower

_POLL_S = 0.1


class View(Protocol):
    """How runs are shown: a live block, plain lines, or JSON lines."""

    def note(self, text: str) -> None:
        """Say something that belongs to no run."""

    def preparing(self, what: str, done: int, total: int | None) -> None:
        """Data or a model is being made ready, before there is a run."""

    def begin(self, watches: Sequence[RunFollower]) -> None:
        """These runs are followed from now on."""

    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        """Something about a run changed."""

    def ended(self, watch: RunFollower) -> None:
        """A run came to rest, or lost its engine."""

    def detached(self, watches: Sequence[RunFollower]) -> None:
        """These runs go on without being followed."""

    def close(self) -> None:
        """Nothing more will be shown for now: give the terminal back."""


def follow(
    watches: Sequence[RunFollower], view: View, signals: Signals, *, owner: bool, tied: bool = False
) -> int:
    """Show runs until all have ended; returns the highest of their exit codes.

    Args:
        watches: the runs; an engine drives them.
        view: shows them.
        signals: entered, not raising.
        owner: this command started the runs, so without a terminal SIGINT and
            SIGTERM stop them. Otherwise they only end the watching.
        tied: the runs end with this command anyway (``--foreground``).
    """
    going = list(watches)
    stops = _Stops(view)
    view.begin(watches)
    try:
        while True:
            for watch in list(going):
                if watch.look() or watch.ended or watch.stale():
                    view.show(watch, watch.events())
                if watch.ended and not watch.tracing:
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
    """The runs that were told to stop."""

    def __init__(self, view: View) -> None:
        self.begun: dict[str, Stop] = {}
        self._view = view

    def begin(self, watches: Sequence[RunFollower]) -> None:
        """Ask the engines."""
        self._view.note("stopping: calls in flight get a few seconds")
        self.begun = {watch.id: Stop(watch.folder) for watch in watches}

    def go_on(self, watches: Sequence[RunFollower], *, insist: bool) -> None:
        """Go further with those that still run, at once or where their time is over."""
        for watch in watches:
            stop = self.begun[watch.id]
            if words := stop.insist() if insist else stop.look():
                self._view.note(words)
            watch.killed = stop.killed


def _insisted(signals: Signals) -> bool:
    """Whether somebody wants the end of what is stopping already."""
    number = signals.take()
    return number is not None and number != signal.SIGHUP


def _wish(
    signals: Signals, view: View, going: Sequence[RunFollower], *, owner: bool, tied: bool
) -> menu.Choice:
    """What the oldest pending signal asks for."""
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

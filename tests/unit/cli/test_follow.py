"""Seeing what changes in a run's folder, and following it to its rest."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from evalbench.engine.journal import Event
from evalbench.engine.runs.status import State, Status
from evalbench.tui.cli import plain
from evalbench.tui.cli.follow import follow
from evalbench.tui.cli.output import stdout
from evalbench.tui.cli.signals import Cancelled, Signals
from evalbench.tui.state.run_follower import RunFollower, eta, last_event
from tests.pretending import PretendEngine


class Recorder:
    """A view that remembers what it was told, and lets the engine go on at every look."""

    def __init__(self, *script: object) -> None:
        self.told: list[str] = []
        self._script = list(script)

    def note(self, text: str) -> None:
        self.told.append(f"note {text}")

    def preparing(self, what: str, done: int, total: int | None) -> None:
        self.told.append("preparing")

    def begin(self, watches: Sequence[RunFollower]) -> None:
        self.told.append("begin")

    def show(self, watch: RunFollower, events: Sequence[Event]) -> None:
        self.told += [event.kind for event in events]
        if self._script:
            step = self._script.pop(0)
            assert callable(step)
            step()

    def ended(self, watch: RunFollower) -> None:
        self.told.append(f"ended {watch.state}")

    def detached(self, watches: Sequence[RunFollower]) -> None:
        self.told.append("detached")

    def close(self) -> None:
        self.told.append("close")


def test_a_status_is_read_once(engine: PretendEngine) -> None:
    engine.status(done=1)
    watch = RunFollower(engine.folder)
    assert watch.look()
    assert not watch.look()
    engine.status(done=2)
    assert watch.look()
    assert watch.status.done == 2


def test_events_come_once_and_again_when_their_count_grew(engine: PretendEngine) -> None:
    engine.event("old")
    watch = RunFollower(engine.folder, after=last_event(engine.folder))
    assert watch.events() == []
    engine.event("wait", reason="RateLimited")
    engine.event("wait", reason="Overloaded")
    assert [event.body["reason"] for event in watch.events()] == ["RateLimited", "Overloaded"]
    assert watch.events() == []
    engine.grow(5)
    assert [(event.kind, event.count) for event in watch.events()] == [("wait", 5)]
    engine.event("ended")
    assert [event.kind for event in watch.events()] == ["ended"]


def test_events_before_there_is_a_journal_are_none(engine: PretendEngine) -> None:
    engine.folder.journal.unlink()
    assert RunFollower(engine.folder).events() == []
    assert last_event(engine.folder) == 0


def test_a_run_without_its_engine_is_interrupted(engine: PretendEngine) -> None:
    engine.status(alive=False)
    engine.folder.engine_log.write_text("first\nout of memory\n")
    watch = RunFollower(engine.folder)
    watch.look()
    assert (watch.ended, watch.state, watch.exit_code) == (True, "interrupted", 6)
    assert "out of memory" in watch.problem()
    engine.folder.engine_log.write_text("\n")
    assert "ended without a message: it was killed" in watch.problem()


def test_following_ends_with_the_run_and_its_exit_code(engine: PretendEngine) -> None:
    engine.status()
    view = Recorder(
        lambda: engine.event("model-loaded"),
        lambda: engine.status(State.COMPLETE, exit_code=2),
    )
    with Signals() as signals:
        assert follow([RunFollower(engine.folder)], view, signals, owner=True) == 2
    assert view.told == ["begin", "model-loaded", "ended complete", "close"]


def test_lines_tell_what_a_worker_waits_for_instead_of_no_progress(
    engine: PretendEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(plain, "time", SimpleNamespace(monotonic=lambda: now[0]))
    view = plain.Plain(stdout())
    watch = RunFollower(engine.folder)
    engine.status(total=72)
    watch.look()
    view.begin([watch])
    for passed, seconds in ((1, 0), (1, 1), (8, 9), (2, 11), (10, 21), (10, None)):
        now[0] += passed
        starting = {"what": "starting vLLM", "done": seconds, "total": None, "unit": "s"}
        engine.status(total=72, gauges={"progress": {} if seconds is None else starting})
        watch.look()
        view.show(watch, [])
    printed = capsys.readouterr().out.splitlines()[1:]
    assert printed == [
        "starting vLLM",
        "starting vLLM: 11 s",
        "starting vLLM: 21 s",
        "  0 %  0/72 · 0.0/s",
    ]


def test_a_stop_is_passed_on_and_waited_for(engine: PretendEngine) -> None:
    engine.status()

    def stopped() -> None:
        assert engine.folder.take_commands() == [{"do": "stop"}]
        engine.status(State.STOPPED, exit_code=4)

    view = Recorder(lambda: signal.raise_signal(signal.SIGTERM), stopped)
    with Signals() as signals:
        assert follow([RunFollower(engine.folder)], view, signals, owner=True) == 4
    assert [told for told in view.told if told.startswith("note")] == [
        "note stopping: calls in flight get a few seconds"
    ]


@pytest.mark.parametrize(("owner", "number"), [(True, signal.SIGHUP), (False, signal.SIGTERM)])
def test_leaving_touches_nothing(
    engine: PretendEngine, owner: bool, number: signal.Signals
) -> None:
    engine.status()
    view = Recorder(lambda: signal.raise_signal(number))
    with Signals() as signals:
        assert follow([RunFollower(engine.folder)], view, signals, owner=owner) == 0
    assert view.told == ["begin", "detached", "close"]
    assert engine.folder.take_commands() == []


def test_signals_are_given_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        assert signals.waiting()
        assert signals.take() == signal.SIGTERM
        assert signals.take() is None
    assert signal.getsignal(signal.SIGTERM) == before


def test_before_the_start_a_stop_raises_and_a_hangup_waits() -> None:
    with Signals() as signals:
        signals.raising = True
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(Cancelled):
            signal.raise_signal(signal.SIGINT)
        assert signals.take() == signal.SIGHUP


def test_time_left_is_unknown_without_a_rate() -> None:
    assert eta(Status("x", total=100, done=50, rate=5)) == 10
    assert eta(Status("x", total=100, done=50)) is None
    assert eta(Status("x", total=100, done=100, rate=5)) is None

"""Runs that are stopped from the app: asked, then ended where they do not stop."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from evalbench.engine.process import stopping
from evalbench.engine.runs.status import State
from evalbench.tui.state import stop_requests
from evalbench.tui.state.stop_requests import Stops
from tests.pretending import PretendEngine, pretend


@pytest.fixture
def engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> PretendEngine:
    """A live run whose engine takes no request; signals are noted, the last one ends it."""
    made = pretend(total=4)
    made.status()
    made.sent = []  # type: ignore[attr-defined]

    def kill(pid: int, number: int) -> None:
        made.sent.append(number)  # type: ignore[attr-defined]
        if number == signal.SIGKILL:
            made.status(alive=False)

    monkeypatch.setattr(stopping, "_signal", kill)
    monkeypatch.setattr(stop_requests, "_REPEAT_S", 0.0)
    return made


def test_a_second_request_ends_it_and_a_third_kills_it(engine: PretendEngine) -> None:
    asked = Stops()
    assert "waiting for its calls in flight" in asked.stop(engine.folder)
    assert list(asked.look()) == []
    assert "ending the engine" in asked.stop(engine.folder)
    assert not asked.killed(engine.folder)
    assert "was killed" in asked.stop(engine.folder)
    assert asked.killed(engine.folder)
    assert asked.stop(engine.folder) == ""
    assert engine.sent == [signal.SIGTERM, signal.SIGKILL]  # type: ignore[attr-defined]


def test_a_key_that_is_held_down_asks_once(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_requests, "_REPEAT_S", 60.0)
    asked = Stops()
    assert asked.stop(engine.folder)
    assert asked.stop(engine.folder) == asked.stop(engine.folder) == ""
    assert engine.sent == []  # type: ignore[attr-defined]


def test_a_run_that_rests_is_left_alone_and_can_be_stopped_again(engine: PretendEngine) -> None:
    asked = Stops()
    assert asked.stop(engine.folder)
    engine.status(State.STOPPED)
    assert list(asked.look()) == []
    assert asked.stop(engine.folder) == ""
    engine.status(State.RUNNING)
    assert "waiting for its calls in flight" in asked.stop(engine.folder)
    assert engine.sent == []  # type: ignore[attr-defined]

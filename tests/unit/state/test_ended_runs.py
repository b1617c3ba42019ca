"""Runs that end while nobody looks, and the terminal's title."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evalbench.engine.runs.status import State
from evalbench.tui.attention import call
from evalbench.tui.state.ended_runs import Ends, end_words, title_words
from evalbench.tui.state.run_list import RunLine, run_line
from tests.pretending import ACCURACY, PretendEngine, pretend


@pytest.fixture
def engine(home: Path) -> PretendEngine:
    made = pretend("mmlu", "openai/gpt-5.2", total=200)
    made.status(State.RUNNING, done=199)
    return made


def line_of(engine: PretendEngine) -> RunLine:
    return run_line(engine.folder, engine.folder.status())


def test_a_run_that_ends_is_told_once(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("evalbench.tui.state.ended_runs.time.monotonic", lambda: now)
    told = Ends()
    assert told.look([line_of(engine)]) == []
    now = 130.0
    assert told.look([line_of(engine)]) == []
    engine.status(State.COMPLETE, done=200, failed=2, metrics={"accuracy": ACCURACY})
    [ended] = told.look([line_of(engine)])
    assert end_words(ended) == "mmlu × openai/gpt-5.2: complete, 25.0 % (20.0–31.0), 2 failed"
    assert told.look([line_of(engine)]) == []


def test_what_was_short_or_at_rest_already_is_not_told(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("evalbench.tui.state.ended_runs.time.monotonic", lambda: now)
    told = Ends()
    told.look([line_of(engine)])
    now = 105.0
    engine.status(State.COMPLETE)
    assert told.look([line_of(engine)]) == []
    assert Ends().look([line_of(engine)]) == []


def test_an_end_hook_that_fails_is_told_once(engine: PretendEngine) -> None:
    engine.status(State.COMPLETE, hook_problem="of an earlier time")
    told = Ends()
    assert told.failed_hooks([line_of(engine)]) == []
    engine.status(State.RUNNING, hook_problem="")
    assert told.failed_hooks([line_of(engine)]) == []
    engine.status(State.COMPLETE, hook_problem="it ended with exit code 3")
    [failed] = told.failed_hooks([line_of(engine)])
    assert failed.hook_problem == "it ended with exit code 3"
    assert told.failed_hooks([line_of(engine)]) == []


def test_the_title_says_how_far_it_is(engine: PretendEngine) -> None:
    line = line_of(engine)
    assert title_words([line], engine.folder.path) == "99 % · mmlu × openai/gpt-5.2"
    assert title_words([line], None) == "evalbench · 1 running, 99 %"
    engine.status(State.COMPLETE, done=200)
    line = line_of(engine)
    assert title_words([line], engine.folder.path) == "complete · mmlu × openai/gpt-5.2"
    assert title_words([line], None) == "evalbench"


@pytest.mark.parametrize(
    ("tmux", "notification"),
    [
        ("", b"\x1b]9;done, 25 %\x1b\\\x1b]777;notify;evalbench;done, 25 %\x1b\\"),
        (
            "/tmp/tmux-0/default,1,0",
            b"\x1bPtmux;\x1b\x1b]9;done, 25 %\x1b\x1b\\"
            b"\x1b\x1b]777;notify;evalbench;done, 25 %\x1b\x1b\\\x1b\\",
        ),
    ],
)
def test_the_bell_rings_and_a_notification_goes_through_tmux(
    tmux: str, notification: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``allow-passthrough`` of tmux(1) takes it: wrapped, every escape doubled."""
    monkeypatch.setenv("TMUX", tmux)
    sent: list[str] = []
    app: Any = SimpleNamespace(
        is_headless=False, _driver=SimpleNamespace(write=sent.append, flush=lambda: None)
    )
    call(app, "done; 25 %")
    assert "".join(sent).encode() == b"\x07" + notification

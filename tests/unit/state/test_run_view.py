"""One run as its page sees it: read cheaply, in every state, from its folder alone."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalbench.engine.calls import Outcome
from evalbench.engine.runs.status import State
from evalbench.tui.screens.run_panels import head_lines
from evalbench.tui.state.event_words import log_words
from evalbench.tui.state.live_settings import InvalidValue, read_budget, read_concurrency
from evalbench.tui.state.run_view import RunView
from tests.pretending import ACCURACY, PretendEngine, pretend


@pytest.fixture
def engine(home: Path) -> PretendEngine:
    return pretend("synthetic", "scripted/good", total=400)


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks and providers of the test plug-ins are installed."""
    from evalbench.engine.config import registry
    from tests.e2e.commandline import PLUGINS

    monkeypatch.syspath_prepend(str(PLUGINS))
    registry._found.cache_clear()


def viewed(engine: PretendEngine) -> RunView:
    view = RunView(engine.folder)
    view.look()
    return view


def words(view: RunView) -> list[str]:
    return [log_words(event) for event in view.log]


# -- states ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "alive", "shown", "live", "resumable"),
    [
        (State.CREATED, True, "created", True, False),
        (State.RUNNING, True, "running", True, False),
        (State.PAUSING, True, "pausing", True, False),
        (State.STOPPING, True, "stopping", True, False),
        (State.RUNNING, False, "interrupted", False, True),
        (State.PAUSED, True, "paused", False, True),
        (State.STOPPED, True, "stopped", False, True),
        (State.FAILED, True, "failed", False, True),
        (State.BUDGET, True, "budget", False, True),
        (State.COMPLETE, True, "complete", False, False),
    ],
)
def test_what_a_state_allows(
    engine: PretendEngine, state: State, alive: bool, shown: str, live: bool, resumable: bool
) -> None:
    engine.status(state, alive=alive)
    view = viewed(engine)
    assert (view.state, view.live, view.resumable) == (shown, live, resumable)


def test_a_complete_run_with_failed_samples_can_be_resumed(engine: PretendEngine) -> None:
    engine.status(State.COMPLETE, failed=3)
    assert viewed(engine).resumable


async def test_of_an_imported_run_nobody_can_be_asked(engine: PretendEngine) -> None:
    await engine.keep(imported={"source": "elsewhere.json", "notes": []})
    engine.status(State.COMPLETE, failed=3)
    assert not viewed(engine).resumable


def test_a_run_that_goes_on_after_an_interruption_is_live_again(engine: PretendEngine) -> None:
    engine.status(alive=False)
    view = viewed(engine)
    assert view.state == "interrupted"
    engine.status(alive=True)
    end = time.monotonic() + 10
    while view.state != "running":
        view.look()
        assert time.monotonic() < end
    assert view.live


def test_nothing_is_measured_without_an_engine(engine: PretendEngine) -> None:
    gauges = {"in_flight": 4, "gpus": [{"name": "card"}]}
    engine.status(gauges=gauges)
    assert viewed(engine).gauges == gauges
    assert [card.name for card in viewed(engine).gpus] == ["card"]
    engine.status(alive=False)
    assert viewed(engine).gauges == {}
    assert viewed(engine).gpus == []


# -- reading cheaply -------------------------------------------------------------------


def test_the_journal_is_not_opened_while_the_status_stays(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.status()
    view = viewed(engine)
    opened: list[str] = []
    from evalbench.tui.state import run_view

    monkeypatch.setattr(run_view, "JournalReader", lambda path: opened.append(path))
    for _ in range(20):
        view.look()
    assert opened == []


def test_nothing_of_it_is_kept_open(engine: PretendEngine) -> None:
    engine.status()
    view = viewed(engine)
    held = [file.path for file in psutil.Process().open_files()]
    assert view.log == []
    assert not [path for path in held if path.startswith(str(engine.folder.path))]


def test_a_journal_that_is_not_there_yet_is_no_fault(engine: PretendEngine) -> None:
    engine.status(latest=[(1, 0)])
    engine.folder.journal.unlink()
    view = viewed(engine)
    assert (view.log, view.answers) == ([], [])


def test_times_of_scores_are_read_once_and_only_of_this_engine(engine: PretendEngine) -> None:
    import sqlite3

    status = engine.folder.status()
    now = 1000 * round(time.time() - status.created + 100)
    status = replace(status, created=status.created - 100)
    engine.folder.write_status(status)
    engine.event("started", at_ms=now - 20_000)
    with sqlite3.connect(engine.folder.journal) as journal:
        journal.execute("INSERT INTO name VALUES (1, '{}')")
        for number in range(60):
            # Twenty long before this engine, forty in its first eight seconds.
            at = 1000 if number < 20 else now - 20_000 + 200 * (number - 20)
            journal.execute("INSERT INTO score VALUES (?, ?, 1, 0, 1, 1)", (number + 1 << 10, at))
    journal.close()
    engine.status(done=60)
    history = viewed(engine).pace.history(60)
    assert sum(history) == pytest.approx(40, abs=6)
    assert max(history) == pytest.approx(5, abs=2)
    assert history[-3:] == [0.0, 0.0, 0.0]


# -- events ----------------------------------------------------------------------------


def test_the_log_tells_everything_and_grows(engine: PretendEngine) -> None:
    engine.status()
    engine.event("started", pid=12, host="here")
    engine.event("wait", reason="RateLimited", what="too fast", asked=2.0)
    view = viewed(engine)
    assert words(view) == [
        "engine started: process 12 on here",
        "waiting: too fast (asked to wait 2.0 s)",
    ]
    engine.grow(7)
    engine.event("command", do="pause")
    engine.event("ended", state="paused", exit_code=4)
    engine.status(State.PAUSED)
    view.look()
    assert words(view)[1:] == [
        "waiting: too fast (asked to wait 2.0 s) ×7",
        "asked to pause",
        "paused, exit code 4",
    ]
    assert [(wait.reason, wait.times) for wait in view.waits] == [("RateLimited", 7)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"do": "stop"}, "asked to stop"),
        ({"do": "concurrency", "value": 12}, "concurrency set to 12"),
        ({"do": "concurrency", "value": None}, "concurrency set to adaptive"),
        ({"do": "budget", "value": 5}, "budget set to $5.00"),
        ({"do": "budget", "value": None}, "budget removed"),
        ({"do": "dance", "value": "[/x]\x1b[2J"}, "do dance, value [/x]"),
    ],
)
def test_requests_are_told_when_they_are_carried_out(
    engine: PretendEngine, body: dict[str, Any], said: str
) -> None:
    engine.status()
    engine.event("command", **body)
    assert words(viewed(engine)) == [said]


def test_only_the_newest_events_are_kept(engine: PretendEngine) -> None:
    engine.status()
    for number in range(500):
        engine.event("odd", number=number)
    view = viewed(engine)
    assert len(view.log) == 300
    engine.event("odd", number=500)
    engine.status(done=1)
    view.look()
    assert words(view)[-1] == "odd: number 500"
    assert len(view.log) == 300


# -- answers ---------------------------------------------------------------------------


async def test_the_latest_answers_are_read_newest_first(engine: PretendEngine) -> None:
    await engine.answer(1, "One\nand\x1b[2J one?", gold="B", read="B")
    await engine.answer(2, "Two?", gold="C", read="A")
    await engine.answer(3, "Three?", read="ConnectionFailed: cut", outcome=Outcome.ERROR)
    engine.status(metrics={"accuracy": ACCURACY}, latest=[(1, 0), (2, 0), (3, 0), (9, 0)])
    answers = viewed(engine).answers
    assert [(a.row, a.outcome, a.question, a.gold, a.read) for a in answers] == [
        (3, "failed", "Three?", "B", "ConnectionFailed: cut"),
        (2, "parsed", "Two?", "C", "A"),
        (1, "parsed", "One and one?", "B", "B"),
    ]
    assert [answer.verdict.glyph for answer in answers] == ["!", "✗", "✓"]


# -- figures ---------------------------------------------------------------------------


def test_calls_are_told_by_role(engine: PretendEngine) -> None:
    engine.status(sent=5, from_journal=2, reused=4)
    assert viewed(engine).roles == [("candidate", 5, 2, 4, 0)]
    judge = {"sent": 3, "from_journal": 0, "reused": 6, "in_flight": 1}
    engine.status(roles={"candidate": {"sent": 5}, "judge/a/b": judge})
    assert viewed(engine).roles == [("candidate", 5, 0, 0, 0), ("judge/a/b", 3, 0, 6, 1)]


def test_only_parameters_that_were_changed_are_told(engine: PretendEngine) -> None:
    dropped = {"fate": "dropped", "reason": "not\ntaken"}
    engine.status(params={"top_p": {"fate": "sent", "reason": ""}, "temperature": dropped})
    assert viewed(engine).changed_params == [("temperature", "dropped", "not taken")]


async def test_a_run_at_rest_has_all_its_metrics(engine: PretendEngine) -> None:
    grouped = {"accuracy": ACCURACY, "accuracy/group=a": {**ACCURACY, "group": "By group"}}
    await engine.keep(metrics=grouped)
    engine.status(metrics={"accuracy": ACCURACY})
    assert list(viewed(engine).metrics) == ["accuracy"]
    engine.status(State.COMPLETE)
    assert list(viewed(engine).metrics) == list(grouped)


def test_time_goes_on_between_two_looks_at_the_status(engine: PretendEngine) -> None:
    engine.status(seconds=5.0)
    view = viewed(engine)
    end = time.monotonic() + 10
    while not view.look():
        assert time.monotonic() < end
    assert view.elapsed > 5


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_clock_that_is_set_meanwhile_changes_no_duration(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    engine.status(seconds=5.0)
    view = viewed(engine)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + jump)
    assert 5 <= view.elapsed < 60
    engine.status(seconds=6.0)
    view.look()
    assert 6 <= view.elapsed < 60


def test_the_clock_leaves_out_a_models_loading_before_and_after_the_end(
    engine: PretendEngine,
) -> None:
    engine.folder.write_status(replace(engine.folder.status(), created=time.time() - 90))
    engine.event("started", at_ms=1000)
    engine.status(State.RUNNING)
    view = viewed(engine)
    assert view.elapsed == 0
    assert head_lines(view)[0] == [("▸ running", "good")]
    engine.status(State.RUNNING, seconds=2.0)
    view.look()
    assert 2 <= view.elapsed < 60
    engine.status(State.COMPLETE, seconds=2.5)
    view.look()
    assert view.elapsed == 2.5


def test_pace_of_a_resumed_run_begins_with_its_engine(engine: PretendEngine) -> None:
    engine.folder.write_status(replace(engine.folder.status(), created=time.time() - 86_400))
    engine.event("started", at_ms=1000)
    engine.event("ended", at_ms=9000, state="paused", exit_code=4)
    engine.status(State.CREATED)
    view = viewed(engine)
    assert view.elapsed < 60
    assert view.pace.history(60) == []
    engine.event("started", at_ms=86_395_000)
    engine.status(done=3, seconds=4.0)
    view.look()
    assert 4 <= view.elapsed < 60
    assert view.resumed


def test_the_clock_of_a_resumed_run_goes_on_from_where_it_stood(engine: PretendEngine) -> None:
    engine.event("started", at_ms=1000)
    engine.status(State.RUNNING, seconds=640.0)
    view = viewed(engine)
    assert not view.resumed
    assert 640 <= view.elapsed < 700
    engine.event("started", at_ms=700_000)
    engine.status(State.RUNNING, seconds=641.0)
    view.look()
    assert view.resumed
    assert viewed(engine).resumed
    assert 641 <= view.elapsed < 700


def test_a_run_at_rest_tells_how_long_engines_worked_on_it(engine: PretendEngine) -> None:
    engine.status(State.COMPLETE, seconds=93.2)
    assert viewed(engine).elapsed == 93.2
    assert viewed(engine).left is None


# -- what is typed ---------------------------------------------------------------------


@pytest.mark.parametrize(("typed", "calls"), [("1", 1), (" 12 ", 12), ("AUTO", None)])
def test_calls_in_flight_as_typed(typed: str, calls: int | None) -> None:
    assert read_concurrency(typed) == calls


@pytest.mark.parametrize("typed", ["", "0", "-3", "1.5", "many", "10001", "١٢x"])
def test_nonsense_is_no_number_of_calls(typed: str) -> None:
    with pytest.raises(InvalidValue, match="a whole number from 1 to 10,000"):
        read_concurrency(typed)


@pytest.mark.parametrize(("typed", "dollars"), [("5", 5.0), (" $ 0.75", 0.75), ("None", None)])
def test_a_budget_as_typed(engine: PretendEngine, typed: str, dollars: float | None) -> None:
    assert read_budget(typed, engine.folder.status()) == dollars


@pytest.mark.parametrize("typed", ["", "0", "-1", "nan", "inf", "five", "1e999"])
def test_nonsense_is_no_budget(engine: PretendEngine, typed: str) -> None:
    with pytest.raises(InvalidValue, match="an amount in US dollars"):
        read_budget(typed, engine.folder.status())


def test_a_budget_below_what_is_spent_is_refused(engine: PretendEngine) -> None:
    engine.status(spend_usd=1.5, possible_usd=0.5)
    with pytest.raises(InvalidValue, match=r"\$2.00 are spent or possibly billed already"):
        read_budget("1.99", engine.folder.status())

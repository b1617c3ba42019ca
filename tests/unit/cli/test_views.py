"""The three ways of showing a run: live block, plain lines, JSON lines."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest

from evalbench.engine.runs.status import State
from evalbench.tui.cli.jsonlines import JsonLines
from evalbench.tui.cli.live import Live
from evalbench.tui.cli.output import Out
from evalbench.tui.cli.plain import Plain
from evalbench.tui.state.run_follower import RunFollower
from tests.e2e.schema import check_line
from tests.pretending import ACCURACY, PretendEngine
from tests.unit.cli.terminal import Terminal

OUTCOMES = {"ok": 97, "truncated": 0, "refused": 2, "filtered": 0, "unparsed": 0, "error": 1}
WORKING: dict[str, Any] = {
    "done": 100,
    "failed": 1,
    "rate": 50.0,
    "metrics": {"accuracy": ACCURACY},
    "outcomes": OUTCOMES,
    "gauges": {"in_flight": 4},
}


class Clock:
    """Stands for ``time`` in a module under test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for name in ("live", "plain", "jsonlines"):
        monkeypatch.setattr(f"evalbench.tui.cli.{name}.time", made)
    return made


def _seen(engine: PretendEngine) -> RunFollower:
    watch = RunFollower(engine.folder)
    watch.look()
    return watch


# -- plain lines ---------------------------------------------------------------


def test_plain_progress_is_told_by_steps_and_by_time(engine: PretendEngine, clock: Clock) -> None:
    text = io.StringIO()
    view = Plain(Out(text))
    engine.status()
    watch = _seen(engine)
    view.begin([watch])

    def look(**status: Any) -> str:
        text.truncate(text.seek(0))
        engine.status(**status)
        watch.look()
        view.show(watch, [])
        return text.getvalue()

    clock.now += 0.5
    assert look(**WORKING) == ""
    clock.now += 0.6
    assert look(**WORKING) == (
        " 25 %  100/400 · 50.0/s · 6.0 s left · accuracy 25.0 % (20.0–31.0) · 1 failed\n"
    )
    clock.now += 2
    assert look(done=101) == ""
    assert look(done=121).startswith(" 30 %  121/400")
    clock.now += 10
    assert look(done=121).startswith(" 30 %  121/400")
    clock.now += 10
    down = {"down": True, "paused_s": 4.0, "paused_why": "provider down: no capacity"}
    assert look(rate=0.0, gauges=down).startswith(
        " 30 %  121/400 · 0.0/s · paused for 4.0 s: provider down: no capacity · accuracy"
    )
    clock.now += 30
    probing = {**down, "paused_s": 0.0}
    assert " · provider down: no capacity · " in look(rate=0.0, gauges=probing)


def test_plain_lines_of_several_runs_are_told_apart(engine: PretendEngine) -> None:
    text = io.StringIO()
    view = Plain(Out(text))
    engine.status()
    watch = _seen(engine)
    view.begin([watch, watch])
    engine.event("wait", reason="RateLimited", what="too fast", asked=2.0, count=3)
    view.show(watch, watch.events())
    short = engine.folder.id.rpartition("-")[2]
    assert f"{short}: waiting: too fast (asked to wait 2.0 s)" in text.getvalue()
    # Not for every try.
    for _ in range(5):
        engine.event("wait", reason="RateLimited", what="too fast", asked=2.0, count=3)
        view.show(watch, watch.events())
    assert text.getvalue().count("too fast") == 1


def test_plain_activity_is_told_once_for_each_step(engine: PretendEngine) -> None:
    text = io.StringIO()
    view = Plain(Out(text))
    engine.status()
    watch = _seen(engine)
    view.begin([watch])
    for what, done in (("downloading", 1), ("downloading", 2), ("converting", 0)):
        progress = {"what": what, "done": done * 1e6, "total": 9e6, "unit": "B"}
        engine.status(gauges={"progress": progress})
        watch.look()
        view.show(watch, [])
    assert text.getvalue().splitlines()[1:] == [
        "downloading: 1.0 MB of 9.0 MB",
        "converting: 0 B of 9.0 MB",
    ]


def test_plain_preparing_is_told_every_ten_seconds(clock: Clock) -> None:
    text = io.StringIO()
    view = Plain(Out(text))
    for seconds in (0, 1, 10):
        clock.now += seconds
        view.preparing("preparing samples", int(clock.now), None)
    assert text.getvalue().splitlines() == ["preparing samples: 1,000", "preparing samples: 1,011"]


def test_the_closing_tells_why_what_and_what_next(engine: PretendEngine) -> None:
    text = io.StringIO()
    view = Plain(Out(text))
    problem = "the key is not accepted\n  why: 401\n  try: set another"
    engine.status(
        State.FAILED,
        exit_code=5,
        problem=problem,
        seconds=12.3,
        mixed=True,
        **WORKING,
    )
    watch = _seen(engine)
    view.begin([watch])
    text.truncate(text.seek(0))
    view.ended(watch)
    shown = text.getvalue()
    assert shown.splitlines()[1:5] == [
        "failed: quickstart × local/smollm2-135m-instruct, 100 of 400 samples in 12 s",
        "problem: the key is not accepted",
        "  why: 401",
        "  try: set another",
    ]
    assert "accuracy  25.0 %  20.0–31.0  25 / 100" in shown
    assert "parsed 97.0 % (97) · refused 2.0 % (2) · failed 1.0 % (1)" in shown
    assert "mixed" in shown
    assert f"next      evalbench resume {watch.id}" in shown
    assert f"          evalbench show {watch.id}" in shown


# -- JSON lines ------------------------------------------------------------------


def test_json_lines_are_as_documented_and_not_more_than_needed(
    engine: PretendEngine, clock: Clock
) -> None:
    text = io.StringIO()
    view = JsonLines(Out(text))
    view.note("a remark")
    view.preparing("samples", 20_000, None)
    view.preparing("samples", 40_000, None)
    engine.status(**WORKING)
    watch = _seen(engine)
    view.begin([watch])
    engine.event("wait", reason="RateLimited")
    for _ in range(3):
        view.show(watch, watch.events())
    clock.now += 1.1
    view.show(watch, [])
    engine.status(done=120)
    watch.look()
    view.show(watch, [])
    view.detached([watch])
    engine.status(State.COMPLETE, exit_code=0)
    watch.look()
    view.show(watch, [])
    view.ended(watch)
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    for line in lines:
        check_line(line)
    kinds = [line["event"] for line in lines]
    assert kinds == [
        "note", "prepare", "start", "wait", "progress", "progress", "detached", "end",
    ]  # fmt: skip
    progress = lines[4]
    assert progress["eta_s"] == 6.0
    assert progress["metrics"]["accuracy"]["k"] == 25
    assert lines[3]["at"] == pytest.approx(watch.status.created + 1.5, abs=0.01)


# -- live block --------------------------------------------------------------------


def _block(view: Live, out: Out) -> str:
    """The block as it would be drawn next."""
    view.close()
    console = out.console()
    with console.capture() as shown:
        console.print(view._block())
    return re.sub(r"\x1b\[[\d;]*m", "", shown.get())


@pytest.mark.parametrize("columns", [80, 40])
def test_the_block_has_one_line_for_each_fact(
    engine: PretendEngine, clock: Clock, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    out = Out(Terminal())
    view = Live(out)
    gauges = {"in_flight": 4, "paused_s": 12.0, "paused_why": "RateLimited"}
    engine.status(**{**WORKING, "gauges": gauges})
    watch = _seen(engine)
    view.begin([watch])
    clock.now += 12
    engine.event("model-loaded", device="cpu", dtype="float32")
    view.show(watch, watch.events())
    lines = _block(view, out).splitlines()
    assert len(lines) == 9
    assert all(len(line) <= columns for line in lines)
    assert lines[0].startswith("quickstart × local/smollm2-135m-instruct"[: columns - 1])
    assert lines[1] == "█" * (columns // 4) + "░" * (columns - columns // 4)
    assert lines[2].startswith("100/400 · 50.0/s · 6.0 s left")
    if columns == 80:
        assert lines[2].endswith("4 in flight · 12 s")
        assert lines[3] == "accuracy 25.0 %  20.0–31.0  25/100"
        assert lines[5] == "paused for 12 s: RateLimited"
        assert lines[6] == "model loaded: cpu, float32"
        assert lines[7] == watch.id


def test_the_block_says_that_a_run_waits_for_money(engine: PretendEngine, clock: Clock) -> None:
    out = Out(Terminal())
    view = Live(out)
    engine.status(**{**WORKING, "gauges": {"in_flight": 4, "short_of_budget": True}})
    watch = _seen(engine)
    view.begin([watch])
    view.show(watch, [])
    waits = "budget reached: waiting for the other runs, or for a higher one"
    assert waits in _block(view, out).splitlines()


def test_the_block_is_drawn_at_most_once_a_second(engine: PretendEngine, clock: Clock) -> None:
    stream = Terminal()
    out = Out(stream)
    view = Live(out)
    engine.status(**WORKING)
    watch = _seen(engine)
    view.begin([watch])
    view.show(watch, [])
    drawn = stream.tell()
    for _ in range(50):
        view.show(watch, [])
    assert stream.tell() == drawn
    clock.now += 1.1
    view.show(watch, [])
    assert 0 < stream.tell() - drawn < 2000
    view.close()


def test_text_from_outside_cannot_draw(engine: PretendEngine) -> None:
    stream = Terminal()
    view = Live(Out(stream))
    metric = {**ACCURACY, "title": "acc\x1b[2Juracy[bold]\x07"}
    engine.status(**{**WORKING, "metrics": {"accuracy": metric}})
    watch = _seen(engine)
    view.begin([watch])
    engine.event("wait", reason="x", what="\x1b[31m[red]evil[/red]\n\n")
    view.show(watch, watch.events())
    view.close()
    shown = stream.getvalue()
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert "accuracy[bold]" in shown
    assert "[red]evil[/red]" in shown
    assert "\x1b[31m[red]" not in shown


def test_queued_runs_are_counted_not_drawn(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Out(Terminal())
    view = Live(out)
    engine.status(**WORKING)
    working = _seen(engine)
    engine.status(State.CREATED)
    waiting = _seen(engine)
    view.begin([working, waiting])
    shown = _block(view, out)
    assert shown.count("quickstart ×") == 1
    assert "1 more wait for their turn" in shown

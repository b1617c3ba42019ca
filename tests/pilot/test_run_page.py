"""The page of a run: every state at every size, every action, and little that is redrawn."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from evalbench.engine.calls import Outcome
from evalbench.engine.process import stopping
from evalbench.engine.runs.grid import Grid, join_grid
from evalbench.engine.runs.status import State
from evalbench.tui import app as app_module
from evalbench.tui import attention
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import run
from evalbench.tui.screens.dialogs import Trouble
from evalbench.tui.screens.run import RunPage
from evalbench.tui.screens.sample import SamplePage
from evalbench.tui.screens.samples import SamplesPage
from evalbench.tui.state import ended_runs
from evalbench.tui.state.cli_child import CommandFailed
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.widgets.table import Table
from tests.e2e.commandline import CommandLine, plain_environment
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.pretending import ACCURACY, PretendEngine, pretend

SIZES = [(80, 24), (120, 40), (200, 60)]
OUTCOMES = {"ok": 97, "truncated": 1, "refused": 2, "filtered": 0, "unparsed": 3, "error": 4}
WORK: dict[str, Any] = {
    "done": 107,
    "failed": 4,
    "rate": 12.5,
    "sent": 120,
    "input_tokens": 16_050,
    "output_tokens": 107,
    "metrics": {"accuracy": {**ACCURACY, "bound_low": 0.24, "bound_high": 0.28}},
    "outcomes": OUTCOMES,
    "errors": {"Overloaded": 3, "BadRequest": 1},
    "spend_usd": 0.125,
    "possible_usd": 0.002,
    "budget_usd": 0.4,
    "gauges": {"in_flight": 4, "concurrency": 8, "fixed": True},
}


@pytest.fixture
async def engine(home: Path) -> PretendEngine:
    """A run of 400 samples, three of them answered."""
    made = pretend("synthetic", "scripted/good", total=400)
    made.event("started", pid=4711, host="here")
    await made.answer(1, "Which [/letter]?", gold="A", read="A")
    await made.answer(2, "Which second?", gold="B", read="C")
    await made.answer(3, "Which third?", gold="B", read="Overloaded: x", outcome=Outcome.ERROR)
    made.status(**WORK, latest=[(1, 0), (2, 0), (3, 0)])
    return made


@asynccontextmanager
async def opened(
    engine: PretendEngine, size: tuple[int, int] = (120, 40), *, low_bandwidth: bool = False
) -> AsyncIterator[Pilot[int]]:
    """The app on a run, as ``evalbench attach`` opens it."""
    app = EvalbenchApp(Preferences(), run=engine.folder, low_bandwidth=low_bandwidth)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunPage), "the page of the run")
        await pilot.pause()
        yield pilot


def commands(engine: PretendEngine) -> list[dict[str, Any]]:
    """Requests that were left for the engine."""
    files = sorted((engine.folder.path / "commands").glob("*.json"))
    return [json.loads(file.read_bytes()) for file in files]


def allowed(pilot: Pilot[int], action: str) -> bool:
    return bool(pilot.app.screen.check_action(action, ()))


ACTIONS = ("pause", "stop", "resume", "concurrency", "budget")


# -- what is shown ---------------------------------------------------------------------


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
async def test_the_essentials_are_shown_at_every_size(
    engine: PretendEngine, size: tuple[int, int]
) -> None:
    async with opened(engine, size) as pilot:
        screen = await until_shown(pilot, "Which [/letter]?")
    assert "synthetic × scripted/good" in screen
    assert "▸ running" in screen
    assert "107/400 samples, 4 failed" in screen
    assert "25.0 %  20.0–31.0  accuracy" in screen
    assert "25 / 100" in screen
    assert ("bounds 24.0–28.0" if size[1] < 32 else "24.0–28.0 if failed wrong–right") in screen
    for word, share, count in (("parsed", 90.7, 97), ("refused", 1.9, 2), ("failed", 3.7, 4)):
        assert any(
            word in line and f"{share} %" in line and str(count) in line
            for line in screen.splitlines()
        )
    assert "candidate  120 sent" in screen
    assert "12.5/s" in screen
    assert "spent $0.1250 of $0.4000" in screen
    assert "about $0.4673 in all: over budget" in screen
    assert "4 of 8 in flight" in screen
    assert "engine started: process 4711 on here" in screen
    assert "3 × Overloaded" in screen
    assert all(len(line) <= size[0] for line in screen.splitlines())


async def test_why_it_waits_and_what_was_not_sent_as_asked(engine: PretendEngine) -> None:
    engine.event("wait", 9, reason="RateLimited", what="Limit 500 per minute", asked=2.0)
    gauges = {"in_flight": 1, "concurrency": 2, "fixed": False, "waiting": 3, "retries": 17}
    params = {"temperature": {"fate": "dropped", "reason": "it takes none"}}
    engine.status(gauges=gauges, params=params)
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "9 × RateLimited")
        assert "1 of 2 in flight, adaptive" in screen
        assert "3 waiting to be retried" in screen
        assert "17 sent again so far" in screen
        assert "temperature dropped: it takes none" in screen
        engine.status(gauges={**gauges, "paused_s": 3.0, "paused_why": "no requests left"})
        await until_shown(pilot, "paused for 3.0 s: no requests")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"limited_by": "rate", "rate_limit": 4.93}, "limited by the adaptive rate: 4.9/s"),
        ({"limited_by": "headroom"}, "limited by requests or tokens left"),
        ({"limited_by": "qps", "rate_limit": 0.25}, "limited by --qps: 15.0/min"),
        ({"limited_by": "tpm", "rate_limit": 2.0}, "limited by --tpm: 2.0/s"),
        ({"limited_by": "budget", "unfunded": 5}, "limited by the budget: 5 waiting"),
    ],
    ids=lambda one: "" if isinstance(one, str) else one["limited_by"],
)
async def test_what_limits_the_calls_in_flight(
    engine: PretendEngine, limit: dict[str, Any], words: str
) -> None:
    engine.status(gauges={"in_flight": 3, "concurrency": 64, "fixed": False, **limit})
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, words)
        assert "3 in flight" in screen
        assert "of 64" not in screen


async def test_cards_are_shown_where_there_are_any(engine: PretendEngine) -> None:
    card = {
        "name": "Card 9000", "used": 3 << 30, "peak": 6 << 30, "total": 8 << 30,
        "utilisation": 87, "temperature": 64, "power": 120.5, "power_limit": 170.0,
        "history": [0, 50, 100],
    }  # fmt: skip
    silent = {**dict.fromkeys(card), "name": "Silent card"}
    memory = {"rss": 1 << 30, "used": 2 << 30, "reserved": 4 << 30, "kv_cache": 0.031}
    gauges = {"in_flight": 700, "memory": memory, "idle": 0.25}
    engine.status(gauges={**gauges, "gpus": [card, silent]})
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "Card 9000")
        assert "Card 9000  peak 6.4 GB" in screen
        assert "3.2 GB of 8.6 GB" in screen
        assert "┃" in screen
        assert "87 % busy · 64 °C · 120 of 170 W  ▁▅█" in screen
        assert "worker memory 1.1 GB · 25 % idle" in screen
        assert "key/value cache 3 % full" in screen
        assert "on the card 2.1 GB, 4.3 GB reserved" in screen
        assert "Silent card" in screen
        assert "None" not in screen
        engine.status(gauges={"in_flight": 700})
        await until(pilot, lambda: "GPU" not in shown(pilot.app), "the panel's end")


async def test_workers_and_cards_are_told_with_their_node(engine: PretendEngine) -> None:
    blank = dict.fromkeys(
        ("peak", "utilisation", "temperature", "power", "power_limit", "history"), None
    )
    card = {**blank, "name": "Card 9000", "used": 3.2e9, "total": 8.6e9, "node": "node-b"}
    loading = {"what": "loading the model", "done": 0, "total": None, "unit": ""}
    workers = [
        {"worker": "node-a gpu 0", "in_flight": 64, "answers": 900, "idle": 0.02},
        {"worker": "node-b gpu 0", "in_flight": 0, "answers": 0, "progress": loading},
    ]
    engine.status(gauges={"in_flight": 700, "workers": workers, "gpus": [card]})
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "node-b: Card 9000")
        assert "node-a gpu 0: 64 in flight, 900 answe" in screen
        assert "node-b gpu 0: loading the model" in screen


async def test_a_model_that_is_being_loaded(engine: PretendEngine) -> None:
    progress = {"what": "loading the model", "done": 120e6, "total": 270e6, "unit": "B"}
    engine.status(done=0, rate=0.0, gauges={"in_flight": 9, "progress": progress})
    async with opened(engine) as pilot:
        await until_shown(pilot, "loading the model: 120.0 MB of 270.0")


async def test_what_was_sent_before_a_run_was_resumed_is_told_apart(engine: PretendEngine) -> None:
    engine.event("started", at_ms=900_000, pid=4712, host="here")
    gauges = {"in_flight": 13, "concurrency": 9, "fixed": False}
    engine.status(done=399, total=400, sent=19, replies=395, gauges=gauges)
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "candidate  19 sent since resuming")
        assert "395 calls in all" in screen
        assert "16,050 tokens in, 107 out in all" in screen
        assert "13 in flight, limit lowered to 9" in screen
        assert "99 %  399/400 samples" in screen


# A query that outlives its journal warns when it is collected.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
async def test_names_of_metrics_are_told_apart_and_numbers_whole(engine: PretendEngine) -> None:
    titles = ("Accuracy [/as] read by strict/1", "Accuracy [/as] read by first/1")
    metrics = {title: {**ACCURACY, "title": title} for title in titles}
    await engine.keep(metrics=metrics)
    engine.status(State.COMPLETE, done=400, metrics=metrics)
    for size in SIZES:
        async with opened(engine, size) as pilot:
            screen = await until_shown(pilot, "25.0 %  20.0–31.0")
            # The first name, which is that of the score, is whole: if need be in the panel's title,
            # or where there is more room in a line of its own.
            assert titles[0] in screen[: screen.index("25 / 100")]
            for told in ("str", "fir"):
                row = re.compile(rf"Accuracy \[/as\] read by {told}.*25 / 100")
                await until(pilot, lambda: row.search(shown(pilot.app)), told)  # noqa: B023


async def test_judges_are_told_apart(engine: PretendEngine) -> None:
    calls = {"sent": 8, "from_journal": 2, "in_flight": 3}
    engine.status(roles={"candidate": calls, "judge/acme/grader": {**calls, "sent": 5}})
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "5 sent, 3 in flight  judge/acme/grader")
        assert "8 sent, 3 in flight  candidate" in screen
        assert screen.count("2 taken from the journal") == 2


async def test_what_changes_is_shown_as_it_changes(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await until_shown(pilot, "107/400")
        engine.event("command", do="concurrency", value=3)
        engine.status(done=207, gauges={"in_flight": 3, "concurrency": 3, "fixed": True})
        await until_shown(pilot, "207/400")
        screen = await until_shown(pilot, "concurrency set to 3")
        assert "3 of 3 in flight" in screen


@pytest.mark.share(3)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("state", "alive", "more", "told"),
    [
        (State.CREATED, True, {"done": 0}, "created"),
        (State.PAUSING, True, {}, "pausing"),
        (State.STOPPING, True, {}, "stopping"),
        (State.PAUSED, True, {}, "press r to resume: only calls without a reply are sent"),
        (State.STOPPED, True, {}, "press r to resume"),
        (State.BUDGET, True, {}, "press b to raise the budget and continue"),
        (State.RUNNING, False, {}, "its engine ended without a message"),
        (State.FAILED, True, {"problem": "bad key\n  try: evalbench keys set"}, "try: evalbench"),
    ],
)
async def test_every_state_says_what_it_is_and_the_way_on(
    engine: PretendEngine,
    size: tuple[int, int],
    state: State,
    alive: bool,
    more: dict[str, Any],
    told: str,
) -> None:
    engine.status(state, alive=alive, seconds=93.0, **more)
    async with opened(engine, size) as pilot:
        screen = await until_shown(pilot, told)
        if alive and state is not State.BUDGET:
            assert state.value in screen


@pytest.mark.parametrize("size", SIZES)
async def test_a_complete_run_shows_all_its_metrics(
    engine: PretendEngine, size: tuple[int, int]
) -> None:
    grouped = {f"a/{n}": {**ACCURACY, "title": f"group {n}", "group": "By group"} for n in range(9)}
    await engine.keep(metrics={"accuracy": ACCURACY, **grouped})
    async with opened(engine, size) as pilot:
        await until_shown(pilot, "▸ running")
        engine.status(State.COMPLETE, done=400, seconds=93.0)
        screen = await until_shown(pilot, "✓ complete in 1:33")
        screen = await until_shown(pilot, "By group")
        assert "group 0" in screen
        assert "25 / 100" in screen
        assert pilot.app.screen.query_one("#scores", Table).has_focus
        # Whatever does not fit is reached by going on to the next table.
        await pilot.press("tab", "tab")
        await until_shown(pilot, "engine started: process 4711 on here")


async def test_the_page_fits_itself_to_another_size(engine: PretendEngine) -> None:
    async with opened(engine, (200, 60)) as pilot:
        await until_shown(pilot, "16,050 tokens in, 107 out")
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "tokens in" not in shown(pilot.app), "the short form")
        screen = shown(pilot.app)
        assert "4 of 8 in flight" in screen
        assert "events" in screen
        await pilot.resize_terminal(200, 60)
        await until_shown(pilot, "16,050 tokens in, 107 out")


async def test_text_from_outside_is_only_text(home: Path) -> None:
    made = pretend("synthetic", "scripted/good", desc="[/b]")
    evil = "[/foo][@click=app.leave]x[/]\x1b[2J\x00\u202e" + "y" * 100_000
    await made.answer(1, evil, gold=evil, read=evil)
    made.event("wait", reason=evil, what=evil)
    made.event("problem", what=evil)
    metric = {**ACCURACY, "title": evil}
    made.status(
        State.FAILED,
        problem=evil,
        latest=[(1, 0)],
        metrics={"a": metric},
        errors={evil: 3},
        params={evil: {"fate": "dropped", "reason": evil}},
    )
    async with opened(made) as pilot:
        screen = await until_shown(pilot, "[/foo][@click=app.leave]x[/]")
        assert "\x1b" not in screen
        assert "\x00" not in screen


# -- what can be done ------------------------------------------------------------------


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("state", "alive", "can"),
    [
        (State.CREATED, True, {"pause", "stop", "concurrency", "budget"}),
        (State.RUNNING, True, {"pause", "stop", "concurrency", "budget"}),
        (State.PAUSING, True, {"stop", "concurrency", "budget"}),
        (State.STOPPING, True, {"stop", "concurrency", "budget"}),
        (State.RUNNING, False, {"resume"}),
        (State.PAUSED, True, {"resume"}),
        (State.STOPPED, True, {"resume"}),
        (State.FAILED, True, {"resume"}),
        (State.BUDGET, True, {"resume", "budget"}),
        (State.COMPLETE, True, {"resume"}),
    ],
)
async def test_only_what_a_state_allows_can_be_done(
    engine: PretendEngine, state: State, alive: bool, can: set[str]
) -> None:
    engine.status(state, alive=alive)
    async with opened(engine) as pilot:
        assert {action for action in ACTIONS if allowed(pilot, action)} == can


async def test_a_budget_needs_known_prices(engine: PretendEngine) -> None:
    engine.status(spend_usd=None, budget_usd=None)
    async with opened(engine) as pilot:
        assert not allowed(pilot, "budget")


@pytest.mark.parametrize(
    ("key", "request_left", "said"),
    [
        ("p", {"do": "pause"}, "pausing after the calls in flight"),
        ("s", {"do": "stop"}, "stopping 2"),
    ],
)
async def test_pausing_and_stopping(
    engine: PretendEngine, key: str, request_left: dict[str, Any], said: str
) -> None:
    async with opened(engine) as pilot:
        await pilot.press(key)
        await until_shown(pilot, said)
        assert commands(engine) == [request_left]


async def test_an_engine_that_does_not_stop_is_ended(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []

    def kill(pid: int, number: int) -> None:
        sent.append(number)
        if number == signal.SIGKILL:
            engine.status(alive=False)

    monkeypatch.setattr(stopping, "_signal", kill)
    monkeypatch.setattr(stopping, "UNANSWERED_S", 0.0)
    monkeypatch.setattr(stopping, "TERMINATED_S", 0.0)
    async with opened(engine) as pilot:
        await pilot.press("s")
        await until_shown(pilot, "its engine did not stop when asked and was killed")
    assert sent == [signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize(("typed", "value"), [("12", 12), ("auto", None)])
async def test_calls_in_flight_are_changed(
    engine: PretendEngine, typed: str, value: int | None
) -> None:
    async with opened(engine) as pilot:
        await pilot.press("c")
        await until_shown(pilot, "Maximum concurrent calls")
        field = pilot.app.screen.query_one(Input)
        assert field.value == "8"
        field.value = "lots"
        await pilot.press("enter")
        await until_shown(pilot, "✗ a whole number from 1 to 10,000, or auto")
        assert commands(engine) == []
        field.value = typed
        await pilot.press("enter")
        await until(pilot, lambda: commands(engine), "the request")
        assert commands(engine) == [{"do": "concurrency", "value": value}]


async def test_the_budget_is_changed_and_nonsense_refused_in_place(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await pilot.press("b")
        await until_shown(pilot, "Budget for the whole run, in US dollars")
        field = pilot.app.screen.query_one(Input)
        assert field.value == "0.4"
        for typed, refusal in (("much", "✗ an amount in"), ("0.1", "✗ $0.1270 are spent")):
            field.value = typed
            await pilot.press("enter")
            await until_shown(pilot, refusal)
        field.value = "$2.5"
        await pilot.press("enter")
        await until(pilot, lambda: commands(engine), "the request")
        assert commands(engine) == [{"do": "budget", "value": 2.5}]


async def test_the_budget_of_a_grid_says_so(engine: PretendEngine) -> None:
    join_grid(engine.folder, Grid("one", Decimal("0.4")))
    async with opened(engine) as pilot:
        await pilot.press("b")
        await until_shown(pilot, "Budget for all runs of the grid, in US dollars")


@pytest.mark.parametrize("key", ["b", "c"])
async def test_a_question_that_is_left_changes_nothing(engine: PretendEngine, key: str) -> None:
    async with opened(engine) as pilot:
        await pilot.press(key)
        await until_shown(pilot, "escape: cancel")
        await pilot.press("escape")
        await until_shown(pilot, "107/400")
        assert commands(engine) == []


async def test_the_command_that_watches_it_is_copied(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await pilot.press("y")
        await until_shown(pilot, "the command copied")
        assert pilot.app.clipboard == f"evalbench attach {engine.folder.id}"


def sample_number(pilot: Pilot[int]) -> int:
    """Of the sample on the screen."""
    page = pilot.app.screen
    assert isinstance(page, SamplePage)
    return page.number


async def test_an_answer_is_opened_by_key_and_by_mouse(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await until_shown(pilot, "Which second?")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SamplePage), "the sample")
        assert sample_number(pilot) == 2
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the run")
        await pilot.click("#answers", offset=(20, 3))
        await pilot.click("#answers", offset=(20, 3))
        await until(pilot, lambda: isinstance(pilot.app.screen, SamplePage), "the sample")
        assert sample_number(pilot) == 1


async def test_an_answer_that_was_chosen_does_not_move_away(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await until_shown(pilot, "Which third?")
        await pilot.press("down")
        await engine.answer(4, "Which fourth?")
        engine.status(done=108, latest=[(1, 0), (2, 0), (3, 0), (4, 0)])
        screen = await until_shown(pilot, "108/400")
        assert "Which fourth?" not in screen
        await pilot.press("home")
        await until_shown(pilot, "Which fourth?")


@pytest.mark.parametrize("size", SIZES)
async def test_charts_are_a_key_away(engine: PretendEngine, size: tuple[int, int]) -> None:
    for row in range(4, 9):
        await engine.answer(row, f"Q{row}", group="ab"[row % 2])
    with sqlite3.connect(engine.folder.journal) as journal:
        journal.execute("UPDATE score SET at = 1000 * (id >> 10)")
        journal.execute("UPDATE reply SET at = 1000 * (id >> 20)")
    journal.close()
    engine.event("wait", 3, 2000, reason="RateLimited", what="slow down")
    async with opened(engine, size) as pilot:
        # Where there is room for them, the first ones are on the page itself.
        if size[1] >= 40:
            screen = await until_shown(pilot, "Time to the reply")
            assert ("Errors by kind" in screen) is (size[0] >= 150)
            assert all(len(line) <= size[0] for line in screen.splitlines())
        else:
            assert "Time to the reply" not in await until_shown(pilot, "Which second?")
        await pilot.press("v")
        screen = await until_shown(pilot, "accuracy ──")
        assert "░ 95 %" in screen
        assert all(len(line) <= size[0] for line in screen.splitlines())
        await pilot.press("end")
        assert "RateLimited 3 retried" in await until_shown(pilot, "By group ──")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the run")


async def test_all_samples_are_a_key_away(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, SamplesPage), "the samples")


async def test_leaving_leaves_the_run_alone(engine: PretendEngine) -> None:
    async with opened(engine) as pilot:
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running, "the end of the app")
    assert pilot.app.return_value == 0
    assert commands(engine) == []


# -- a real run ------------------------------------------------------------------------


@pytest.fixture
def command_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.1")
    line = CommandLine(home, plain_environment() | {"SCRIPTED_LATENCY": "0.1"})
    yield line
    line.clean_up()


async def test_a_run_is_stopped_and_goes_on_on_the_same_page(command_line: CommandLine) -> None:
    command_line("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--detach")
    folder = command_line.only_run()
    app = EvalbenchApp(Preferences(), run=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "▸ running")
        await until(pilot, lambda: folder.status().done, "a score")
        await pilot.press("s")
        await until_shown(pilot, "– stopped")
        await until_shown(pilot, "asked to stop")
        before = folder.status().done
        await pilot.press("r")
        await until_shown(pilot, "▸ running")
        await until(pilot, lambda: folder.status().done > before, "further scores")
        assert len([page for page in app.screen_stack if isinstance(page, RunPage)]) == 1
        await pilot.press("c")
        await until_shown(pilot, "Maximum concurrent calls")
        app.screen.query_one(Input).value = "50"
        await pilot.press("enter")
        await until_shown(pilot, "concurrency set to 50")
        await until_shown(pilot, "✓ complete")


async def test_a_spent_budget_is_raised_and_the_run_goes_on(command_line: CommandLine) -> None:
    words = ("--price", "3000/15000", "--budget", "20", "--limit", "50", "--yes")
    ended = command_line("run", "synthetic", "--model", "scripted/good", *words)
    assert ended.code == 3
    folder = command_line.only_run()
    app = EvalbenchApp(Preferences(), run=folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "– budget reached")
        await pilot.press("b")
        await until_shown(pilot, "the run continues with it")
        app.screen.query_one(Input).value = "100"
        await pilot.press("enter")
        await until_shown(pilot, "✓ complete")
    assert folder.status().done == 50
    assert folder.spec().get("budget") == 100


# -- how much is drawn -----------------------------------------------------------------


class Clock:
    """Stands for ``time`` in the page."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("low_bandwidth", "pause_s"), [(False, 0.9), (True, 2.0)])
async def test_it_is_not_drawn_more_often_than_the_line_bears(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch, low_bandwidth: bool, pause_s: float
) -> None:
    clock = Clock()
    monkeypatch.setattr(run, "time", clock)
    async with opened(engine, low_bandwidth=low_bandwidth) as pilot:
        page = pilot.app.screen
        assert isinstance(page, RunPage)
        await until_shown(pilot, "107/400")
        engine.status(done=108)
        clock.now += pause_s - 0.1
        page.tick()
        await pilot.pause()
        assert "107/400" in shown(pilot.app)
        clock.now += 0.2
        await until_shown(pilot, "108/400")
        # Another state is shown at once.
        engine.status(State.PAUSED, done=109)
        await until_shown(pilot, "– paused")


async def test_its_report_is_a_command_and_where_it_lies_is_said(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    answers: list[list[dict[str, Any]] | CommandFailed] = [
        [{"event": "reported", "files": ["/[/foo]/report.html"]}],
        CommandFailed("no room", why="the disk is full", hint="make room"),
    ]

    async def run_command(*words: str, **_: Any) -> list[dict[str, Any]]:
        asked.append(words)
        answer = answers.pop(0)
        if isinstance(answer, CommandFailed):
            raise answer
        return answer

    monkeypatch.setattr(run, "run_command", run_command)
    async with opened(engine) as pilot:
        await pilot.press("w")
        await until_shown(pilot, "the report is in /[/foo]/report.html")
        await pilot.press("w")
        await until(pilot, lambda: isinstance(pilot.app.screen, Trouble), "what went wrong")
        await until_shown(pilot, "the disk is full")
    assert asked == [("report", str(engine.folder.path))] * 2


async def test_its_progress_and_end_are_told_outside_the_page(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the terminal's title and with the bell, also while the page lies right above Home."""
    titles: list[str] = []
    calls: list[str] = []
    monkeypatch.setattr(attention, "tell_title", lambda app, text: titles.append(text))
    monkeypatch.setattr(attention, "call", lambda app, text: calls.append(text))
    monkeypatch.setattr(app_module, "_ATTENTION_S", 0.0)
    monkeypatch.setattr(ended_runs, "WORTH_S", 0.01)
    engine.status(State.RUNNING, done=100)
    app = EvalbenchApp(Preferences(welcomed=True), run=engine.folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "25 % · synthetic × scripted/good" in titles, "25 %")
        engine.status(State.RUNNING, done=300)
        await until(pilot, lambda: "75 % · synthetic × scripted/good" in titles, "75 %")
        assert not calls
        engine.status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
        await until(pilot, lambda: calls, "the bell")
        await until(pilot, lambda: "complete" in titles[-1], "the last title")
    assert calls == ["synthetic × scripted/good: complete, 25.0 % (20.0–31.0), 4 failed"]


async def test_what_is_left_of_a_limit_agrees_with_its_number(engine: PretendEngine) -> None:
    limits = {"requests": [1, 60], "tokens": [1_200, 90_000], "calls": [1, None]}
    engine.status(**{**WORK, "gauges": {**WORK["gauges"], "headroom": limits}})
    async with opened(engine) as pilot:
        screen = await until_shown(pilot, "1 of 60 requests left")
        assert "1,200 of 90 k tokens left" in screen
        assert "1 call left" in screen


async def test_an_end_hook_that_fails_is_told_on_the_page_and_elsewhere_once(
    engine: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "_ATTENTION_S", 0.0)
    told = "the --on-end command ended with exit code 3: [no] bell"
    async with opened(engine) as pilot:
        engine.status(State.COMPLETE, **WORK)
        await until_shown(pilot, "complete")
        engine.status(State.COMPLETE, **WORK, hook_problem=told)
        await until_shown(pilot, told)
        assert not pilot.app._notifications
        await pilot.app.action_home()  # type: ignore[attr-defined]
        engine.status(State.COMPLETE, **WORK, hook_problem="")
        await until(pilot, lambda: not _hook_problems(pilot), "the list without it")
        engine.status(State.COMPLETE, **WORK, hook_problem=told)
        await until_told(pilot, f"synthetic × scripted/good: {told}")
        due = pilot.app._attention_due  # type: ignore[attr-defined]
        await until(pilot, lambda: pilot.app._attention_due > due, "the next look")  # type: ignore[attr-defined]
        assert not pilot.app._notifications


def _hook_problems(pilot: Pilot[int]) -> list[str]:
    return [line.hook_problem for line in pilot.app.runs() if line.hook_problem]  # type: ignore[attr-defined]


async def test_a_key_that_does_nothing_now_says_why(engine: PretendEngine) -> None:
    engine.status(State.COMPLETE, alive=False, done=400, failed=0, errors={}, spend_usd=None)
    async with opened(engine) as pilot:
        await until_shown(pilot, "complete")
        for key, words in (
            ("f", "no sample failed"),
            ("r", "nothing to resume: the run is complete"),
            ("p", "no engine drives the run: the run is complete"),
            ("t", "the run has no provider batches"),
            ("b", "no budget without known prices"),
        ):
            await pilot.press(key)
            await until_told(pilot, words)

"""Every page and dialog whose looks are kept as snapshots. Add one: a function under ``@shot``."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from evalbench.engine.calls import Outcome
from evalbench.engine.config import registry
from evalbench.engine.errors import UsageError
from evalbench.engine.hardware.system import SystemReading
from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.commands import COMMANDS
from evalbench.tui.palette import Palette
from evalbench.tui.screens import key_entry, keys, probe, starting
from evalbench.tui.screens.batches import BatchesPage
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.compare import ComparePage
from evalbench.tui.screens.custom_benchmark import OwnPage
from evalbench.tui.screens.dialogs import Confirm, Enter, Trouble
from evalbench.tui.screens.help import HelpPage
from evalbench.tui.screens.home import HomePage
from evalbench.tui.screens.home_preview import Preview
from evalbench.tui.screens.jump import Jump
from evalbench.tui.screens.key_entry import KeyWork, Looking
from evalbench.tui.screens.keys import KeysPage
from evalbench.tui.screens.leaderboard import LeaderboardPage
from evalbench.tui.screens.machine import MachinePage
from evalbench.tui.screens.models import ModelsPage
from evalbench.tui.screens.new import NewRunPage
from evalbench.tui.screens.page import Page
from evalbench.tui.screens.probe import Probe
from evalbench.tui.screens.providers import ProvidersPage
from evalbench.tui.screens.run import RunPage
from evalbench.tui.screens.run_charts import RunChartsPage
from evalbench.tui.screens.sample import BatchLines, RawPage, SamplePage
from evalbench.tui.screens.samples import SamplesPage
from evalbench.tui.screens.server_form import ServerPage
from evalbench.tui.screens.settings import PressKey, SettingsPage
from evalbench.tui.screens.side_by_side import SideBySidePage
from evalbench.tui.screens.starting import Starting
from evalbench.tui.screens.welcome import Welcome
from evalbench.tui.state.cli_child import Line
from evalbench.tui.state.key_places import KeyPlaces, ask_key_places
from evalbench.tui.state.machine import Holder, Machine, MachineReading
from evalbench.tui.state.preferences import save_preferences
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.state.run_list import RunLine
from evalbench.tui.widgets.chart_grid import ChartGrid
from evalbench.tui.widgets.lines import Lines
from evalbench.tui.widgets.table import Column
from tests.pilot.driving import shown, until, until_shown
from tests.pilot.judged import judged_run
from tests.pretending import ACCURACY, pretend
from tests.scored_runs import MODELS, right_or_wrong, score_run

DAY_S = 86400.0

SIZES = ((80, 24), (120, 40), (200, 60))


Before = Callable[[pytest.MonkeyPatch], Awaitable[None]]


@dataclass(frozen=True)
class Shot:
    """One picture: what is on disk before the app starts, and what is done in it then.

    Attributes:
        name: of the files, without size.
        before: makes runs and settings in the home folder; may patch the world.
        then: brings the app to what is looked at; must wait until all of it is there.
        of: what is on top then.
    """

    name: str
    before: Before
    then: Callable[[Pilot[int]], Awaitable[None]]
    of: type[Screen[Any]]


SHOTS: dict[str, Shot] = {}


async def nothing(_patch: pytest.MonkeyPatch) -> None:
    """An empty home."""


def shot(
    name: str,
    of: type[Screen[Any]],
    before: Before = nothing,
) -> Callable[[Callable[[Pilot[int]], Awaitable[None]]], Shot]:
    """Registers a picture."""

    def register(then: Callable[[Pilot[int]], Awaitable[None]]) -> Shot:
        SHOTS[name] = Shot(name, before, then, of)
        return SHOTS[name]

    return register


def the_app(pilot: Pilot[int]) -> EvalbenchApp:
    """By its own type."""
    app = pilot.app
    assert isinstance(app, EvalbenchApp)
    return app


async def settled(pilot: Pilot[int]) -> None:
    """Home shows the run under its cursor, where there is one and there is room."""
    (home,) = (one for one in pilot.app.screen_stack if isinstance(one, HomePage))

    def shows_it() -> bool:
        line = home._current() if home.has_class("-tall") else None
        previews = list(home.query(Preview))
        if not previews:
            return False
        view = previews[0]._view
        return (view and view.folder.path) == (line and line.folder.path)

    await until(pilot, shows_it, "the preview")


# -- runs ----------------------------------------------------------------------------


async def runs_of_every_state(_patch: pytest.MonkeyPatch) -> None:
    """One run in each state, made half a day apart so that ages do not change meanwhile."""
    metrics = {"accuracy": ACCURACY}
    states: list[tuple[State, bool, dict[str, Any]]] = [
        (State.CREATED, True, {"done": 0}),
        (State.RUNNING, True, {"done": 120, "rate": 3.5, "metrics": metrics, "spend_usd": 0.21}),
        (State.PAUSING, True, {"done": 130, "metrics": metrics, "spend_usd": 0.4}),
        (State.RUNNING, False, {"done": 77, "metrics": metrics, "spend_usd": 0.1}),
        (State.PAUSED, True, {"done": 200, "metrics": metrics, "spend_usd": 1.25}),
        (State.BUDGET, True, {"done": 300, "metrics": metrics, "spend_usd": 5.0}),
        (State.STOPPED, True, {"done": 10, "spend_usd": None}),
        (State.FAILED, True, {"done": 3, "failed": 3, "problem": "the key was refused"}),
        (State.COMPLETE, True, {"done": 400, "failed": 2, "metrics": metrics, "spend_usd": 2.5}),
    ]
    for number, (state, alive, fields) in enumerate(states):
        model = ("openai/gpt-5.2", "local/smollm2-135m-instruct", "anthropic/claude-opus-4-8")
        engine = pretend(model=model[number % 3], desc=f"run {number}")
        engine.status(
            state, alive=alive, created=time.time() - (number + 1.5) * DAY_S, total=400, **fields
        )
        # Lists go by the folders' names, which begin with the second they were made in.
        engine.folder.path.rename(engine.folder.path.with_name(f"20260101-00000{9 - number}-run"))


async def turn_to(pilot: Pilot[int], page: type[Page], key: str) -> None:
    """Press a key and wait for the page that it opens to have the keyboard."""
    app = pilot.app
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, page) and app.screen.focused, page.__name__)


async def filter_by(pilot: Pilot[int], words: str) -> None:
    """Type into the filter of the page."""
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input), "the filter")
    entry = pilot.app.screen.query_one("#filter", Input)
    await pilot.press(*words)
    await until(pilot, lambda: entry.value == words, "all letters")


@shot("home-empty", HomePage)
async def _(pilot: Pilot[int]) -> None:
    await pilot.pause()


@shot("home", HomePage, runs_of_every_state)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("down")


@shot("home-filter", HomePage, runs_of_every_state)
async def _(pilot: Pilot[int]) -> None:
    await filter_by(pilot, "pa")


@shot("help", HelpPage)
async def _(pilot: Pilot[int]) -> None:
    await turn_to(pilot, HelpPage, "f1")


@shot("help-filter", HelpPage)
async def _(pilot: Pilot[int]) -> None:
    await turn_to(pilot, HelpPage, "f1")
    await filter_by(pilot, "run")


@shot("own", OwnPage)
async def _(pilot: Pilot[int]) -> None:
    await the_app(pilot).action_own()


@shot("settings", SettingsPage)
async def _(pilot: Pilot[int]) -> None:
    await turn_to(pilot, SettingsPage, "f6")


@shot("settings-keys", SettingsPage)
async def _(pilot: Pilot[int]) -> None:
    the_app(pilot).prefer(keymap={"home.open": "f7", "home.stop": ""})
    await turn_to(pilot, SettingsPage, "f6")
    await pilot.press("tab", "tab", "down")


@shot("palette", Palette)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("ctrl+p", *"set")


# -- comparing -----------------------------------------------------------------------


async def _three_runs(_patch: pytest.MonkeyPatch) -> None:
    marks = ("++-+-" * 16, "+++-+" * 16, "-!-+-" * 16)
    for number, (own, model) in enumerate(zip(marks, MODELS, strict=True)):
        more: dict[str, Any] = {"temperature": 0.7} if number == 1 else {}
        folder = await score_run(right_or_wrong(own), model, groups=11, **more)
        created = time.time() - (number + 1.5) * DAY_S
        folder.write_status(replace(folder.status(), created=created))
        folder.path.rename(folder.path.with_name(f"20260101-00000{number}-run"))


async def _compare(pilot: Pilot[int], runs: int) -> None:
    await until_shown(pilot, "3 runs")
    for _ in range(runs):
        await pilot.press("space")
    await until_shown(pilot, f"{runs} marked")
    await turn_to(pilot, ComparePage, "c")
    await until_shown(pilot, "scored differently")


@shot("home-marked", HomePage, _three_runs)
async def _(pilot: Pilot[int]) -> None:
    await until_shown(pilot, "3 runs")
    await pilot.press("down", "space")
    await until_shown(pilot, "1 marked")


@shot("compare", ComparePage, _three_runs)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("down")
    await _compare(pilot, 2)


@shot("side-by-side", SideBySidePage, _three_runs)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("down")
    await _compare(pilot, 2)
    await turn_to(pilot, SideBySidePage, "enter")
    await until_shown(pilot, "1 of 48 scored differently")


@shot("compare-three", ComparePage, _three_runs)
async def _(pilot: Pilot[int]) -> None:
    await _compare(pilot, 3)
    await pilot.press("w")
    await until_shown(pilot, "o opens B's sample")


# -- models, keys, a new run ---------------------------------------------------------


async def two_providers(patch: pytest.MonkeyPatch) -> None:
    """As if only these were installed, with what was chosen last."""
    patch.setattr(registry, "provider_names", lambda: ["local", "scripted"])
    patch.setattr(registry, "benchmark_names", lambda: ["mmlu", "quickstart", "synthetic"])
    save_preferences(benchmark="synthetic", model="scripted/good")


async def _batches(_patch: pytest.MonkeyPatch) -> None:
    engine = pretend(model="openai/gpt-4.1-mini")
    made = {
        "role": "candidate", "model": "gpt-4.1-mini", "requests": 500, "bytes": 1_200_000,
        "job": "running", "failed_there": 0, "again": 0, "expires": None, "cancelling": False,
        "since": time.time() - 7 * 3600, "cost": "0", "why": "", "succeeded": None, "answered": 0,
        "failed": 0,
    }  # fmt: skip
    told = [
        {"name": "1a2b3c4d5e", "stage": "done", "id": "batch_1", "answered": 498, "failed": 2},
        {"name": "2b3c4d5e6f", "stage": "running", "id": "batch_2", "succeeded": 120},
        {"name": "3c4d5e6f7a", "stage": "prepared", "id": "", "since": 0.0},
    ]
    engine.status(State.WAITING, alive=False, done=498, batches=[made | one for one in told])
    engine.folder.path.rename(engine.folder.path.with_name("20260101-000000-run"))


@shot("batches", BatchesPage, _batches)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("f12")
    await until_shown(pilot, "2b3c4d5e6f")
    await pilot.press("x")
    await until_shown(pilot, "1a2b3c4d5e")


@shot("batches-empty", BatchesPage)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("f12")
    await until_shown(pilot, "No pending batches")


@shot("models", ModelsPage, two_providers)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("f4")
    await until_shown(pilot, "scripted · 2 models")
    await until(pilot, lambda: "asking" not in shown(pilot.app), "all answers")


async def _few_keys(patch: pytest.MonkeyPatch) -> None:
    """As if only these providers were installed."""

    async def some() -> dict[str, KeyPlaces]:
        every = await ask_key_places()
        return {name: every[name] for name in ("anthropic", "groq", "ollama", "openai", "xai")}

    patch.setattr(keys, "ask_key_places", some)


@shot("keys", KeysPage, _few_keys)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("f5")
    await until_shown(pilot, "none; needed")


@shot("providers", ProvidersPage)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("p")
    await until_shown(pilot, "of them yours")


@shot("server", ServerPage)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("p")
    await until_shown(pilot, "of them yours")
    await pilot.press("a")
    await until_shown(pilot, "base-url")


@shot("new", NewRunPage, two_providers)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("f3")
    await until_shown(pilot, "estimated from 200")


# -- dialogs -------------------------------------------------------------------------


@shot("welcome", Welcome)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(Welcome())


async def _at_work(patch: pytest.MonkeyPatch) -> None:
    """Commands that do not come to an end."""

    async def endless(*_words: str, on_line: Callable[[Line], None] | None = None, **_: Any) -> Any:
        if on_line:
            told = {"event": "prepare", "what": "mmlu: questions", "done": 3, "total": 8}
            on_line({**told, "unit": ""})
            on_line({"event": "note", "text": "the keychain waits for a dialog to be answered"})
        await asyncio.Event().wait()

    patch.setattr(starting, "run_command", endless)
    patch.setattr(key_entry, "run_command", endless)


@shot("starting", Starting, _at_work)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(Starting(("run", "mmlu")))
    await until_shown(pilot, "3 of 8")


@shot("key-work", KeyWork, _at_work)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(KeyWork("Trying the groq key", ("test", "groq")))
    await until_shown(pilot, "waits for a dialog")


async def _no_answer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Looking, "_look", lambda _dialog: None)


@shot("looking", Looking, _no_answer)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(Looking())
    await until_shown(pilot, "Looking for")


async def _probed(patch: pytest.MonkeyPatch) -> None:
    """A model that answers a probe."""
    params = {
        "max_tokens": {"fate": "sent", "reason": ""},
        "temperature": {"fate": "dropped", "reason": "the model does not take it"},
    }
    told = {
        "text": "Paris is the capital of France, and [bold]has been for long.\nIs that all?",
        "outcome": "ok", "stop_reason": "stop", "provider_model": "gpt-5.2-2026-01-01",
        "input_tokens": 20, "output_tokens": 131, "reasoning_tokens": 100, "cost_usd": 0.0021,
        "latency_s": 1.42, "params": params,
    }  # fmt: skip

    async def answered(*_words: str) -> list[dict[str, Any]]:
        return [told]

    patch.setattr(probe, "run_command", answered)


@shot("probe", Probe, _probed)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(Probe("openai/gpt-5.2", ("openai/gpt-5.2",)))
    await until_shown(pilot, "dropped")


@shot("choose", Choose, runs_of_every_state)
async def _(pilot: Pilot[int]) -> None:
    columns = (Column("group"), Column("", 14), Column("samples", 9, right=True))
    choices = [
        Choice(str(number), (name, ("subject", "dim"), f"{number * 37 % 90}"), name)
        for number, name in enumerate(("anatomy", "astronomy", "law", "logic", "[/] virology"))
    ]
    hint = "Type to filter"
    await pilot.app.push_screen(Choose("Show one group", columns, choices, chosen="2", hint=hint))
    await until_shown(pilot, "● law")


@shot("batch-lines", BatchLines)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(BatchLines([]))
    await until_shown(pilot, "was sent in a batch")


@shot("confirm", Confirm, runs_of_every_state)
async def _(pilot: Pilot[int]) -> None:
    note = "quickstart × openai/gpt-5.2, 120/400 samples. This cannot be undone."
    await pilot.app.push_screen(Confirm("Delete that run?", yes="Delete", note=note))


@shot("enter", Enter)
async def _(pilot: Pilot[int]) -> None:
    await pilot.app.push_screen(Enter("Budget in dollars", value="5", note="5.00 now, 1.25 spent"))


@shot("press-key", PressKey)
async def _(pilot: Pilot[int]) -> None:
    command = next(command for command in COMMANDS if command.id == "home.open")
    await pilot.app.push_screen(PressKey(command, {}, add=False))
    await pilot.press("ctrl+h")


@shot("trouble", Trouble)
async def _(pilot: Pilot[int]) -> None:
    the_app(pilot).tell_trouble(
        UsageError(
            "the run cannot be resumed",
            why="its data changed: [bold]mmlu[/] has 14,042 samples now",
            hint="evalbench resume --accept-changes",
        )
    )


# -- a run ---------------------------------------------------------------------------

RUN_WORK: dict[str, Any] = {
    "created": 1_790_000_000.0,
    "done": 107,
    "failed": 4,
    "rate": 12.5,
    "seconds": 93.0,
    "sent": 120,
    "from_journal": 3,
    "input_tokens": 16_050,
    "output_tokens": 107,
    "metrics": {"accuracy": {**ACCURACY, "bound_low": 0.24, "bound_high": 0.28}},
    "outcomes": {"ok": 97, "truncated": 1, "refused": 2, "unparsed": 3, "error": 4},
    "errors": {"Overloaded": 3, "BadRequest": 1},
    "spend_usd": 0.125,
    "possible_usd": 0.002,
    "budget_usd": 0.4,
    "params": {"temperature": {"fate": "dropped", "reason": "the model does not take it"}},
    "latest": [(row, 0) for row in range(1, 9)],
}


async def one_run(state: State, *, alive: bool = True, **more: Any) -> None:
    """A run that was at work for a while."""
    engine = pretend(model="openai/gpt-5.2")
    grouped = {
        f"accuracy/{subject}": {**ACCURACY, "title": subject, "group": "By subject"}
        for subject in ("anatomy", "astronomy", "law", "logic", "virology")
    }
    await engine.keep(created=RUN_WORK["created"], metrics=RUN_WORK["metrics"] | grouped)
    for row in range(1, 9):
        gold, read = "ABCD"[row % 4], "ABCD"[row * 7 % 4]
        outcome = Outcome.ERROR if row == 5 else Outcome.OK
        question = f"Which of these is number {row}, and why is it so [far] down?"
        await engine.answer(row, question, gold=gold, read=read, outcome=outcome)
    engine.event("started", pid=4711, host="here")
    engine.event("wait", 9, reason="RateLimited", what="Limit 500 per minute", asked=2.0)
    engine.event("sample-failed", 3, error="Overloaded")
    engine.event("command", do="concurrency", value=8)
    engine.status(state, alive=alive, **RUN_WORK | more)
    write_at(engine.folder.path / "status.json", RUN_WORK["created"] + 26)
    spread_out(engine.folder.journal)
    engine.folder.path.rename(engine.folder.path.with_name("20260101-000000-run"))


def write_at(path: Path, moment: float) -> None:
    """Set when a status was written: the charts of a live run end there."""
    path.write_bytes(orjson.dumps(orjson.loads(path.read_bytes()) | {"updated": moment}))


def spread_out(path: Path) -> None:
    """Put three seconds between the answers in a journal."""
    with sqlite3.connect(path) as journal:
        journal.execute("UPDATE score SET at = 3000 * (id >> 10)")
        journal.execute("UPDATE reply SET at = 3000 * (id >> 20), output = 40, cost = 1000000000")
        journal.execute("UPDATE call SET sent = 3000 * (id >> 20) - 300 * (id >> 20)")
    journal.close()


async def open_it(pilot: Pilot[int]) -> None:
    """The page of the only run, with its charts where there is room for them."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the page of the run")
    await until_shown(pilot, "quickstart × openai/gpt-5.2")
    grid = pilot.app.screen.query_one(ChartGrid)
    await until(pilot, lambda: not grid.display or grid.query(Lines), "the charts")


_LIMITED = {"in_flight": 4, "concurrency": 8, "fixed": False, "waiting": 3, "retries": 17,
            "headroom": {"requests": [212, 500], "tokens": [88_000, None]}}  # fmt: skip
_CARD = {
    "name": "NVIDIA RTX 9000", "used": 3 << 30, "peak": 6 << 30, "total": 8 << 30,
    "utilisation": 87, "temperature": 64, "power": 120.5, "power_limit": 170.0,
}  # fmt: skip


async def _live(_patch: pytest.MonkeyPatch) -> None:
    await one_run(State.RUNNING, gauges=_LIMITED)


async def _on_cards(_patch: pytest.MonkeyPatch) -> None:
    gauges = {"in_flight": 700, "memory": {"rss": 812_345_678}, "gpus": [_CARD, _CARD]}
    await one_run(
        State.RUNNING,
        gauges=gauges,
        spend_usd=0.0,
        possible_usd=0.0,
        budget_usd=None,
        params={},
    )


async def _complete(_patch: pytest.MonkeyPatch) -> None:
    await one_run(State.COMPLETE, done=400)


async def _failed(_patch: pytest.MonkeyPatch) -> None:
    await one_run(
        State.FAILED,
        problem="the key is not accepted\n  why: 401\n  try: evalbench keys set openai",
    )


shot("run-live", RunPage, _live)(open_it)
shot("run-cards", RunPage, _on_cards)(open_it)
shot("run-complete", RunPage, _complete)(open_it)
shot("run-failed", RunPage, _failed)(open_it)


@shot("run-charts", RunChartsPage, _complete)
async def _(pilot: Pilot[int]) -> None:
    await open_it(pilot)
    await pilot.press("v")
    await until_shown(pilot, "░ 95 %")


@shot("jump", Jump, _complete)
async def _(pilot: Pilot[int]) -> None:
    await open_it(pilot)
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, Jump), "the letters")


@shot("leaderboard", LeaderboardPage, runs_of_every_state)
async def _(pilot: Pilot[int]) -> None:
    await turn_to(pilot, LeaderboardPage, "l")
    await until_shown(pilot, "1 model, 1 benchmark")


async def _busy_machine(patch: pytest.MonkeyPatch) -> None:
    """A card that a worker and a stranger share."""
    await _live(patch)
    cores = (0.9, 0.25, 0.5, 0.0)
    card = {
        **_CARD, "history": [n * 13 % 90 for n in range(60)], "clock": 1980, "clock_limit": 2100,
        "memory_clock": 3201, "processes": {"4711": 2 << 30, "4712": 1 << 30},
    }  # fmt: skip
    half = [n * 7 % 100 / 100 for n in range(60)]

    def read(_machine: Machine, runs: Sequence[RunLine]) -> MachineReading:
        line = runs[0]
        holders = (
            Holder(4700, "engine", line, 180 << 20, 0.42, None),
            Holder(4711, "worker", line, 2 << 30, 1.03, 2 << 30),
            Holder(4712, "trainer [/]", None, None, None, 1 << 30),
        )
        load = 2.25, 1.5, 0.75
        system = SystemReading(cores, load, 12_500_000_000, 32_000_000_000, 1 << 20, 4 << 30)
        return MachineReading(system, [card], "", holders, half, half)

    patch.setattr(Machine, "read", read)


@shot("machine", MachinePage, _busy_machine)
async def _(pilot: Pilot[int]) -> None:
    await turn_to(pilot, MachinePage, "m")
    await until_shown(pilot, "held by worker")


@shot("samples", SamplesPage, _complete)
async def _(pilot: Pilot[int]) -> None:
    await open_it(pilot)
    await pilot.press("a")
    await until_shown(pilot, "is number 8")


@shot("sample", SamplePage, _complete)
async def _(pilot: Pilot[int]) -> None:
    await open_it(pilot)
    await pilot.press("a")
    await until_shown(pilot, "is number 8")
    await pilot.press("down", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, SamplePage), "the sample")
    await until_shown(pilot, "is number 2")


@shot("sample-raw", RawPage, _complete)
async def _(pilot: Pilot[int]) -> None:
    await open_it(pilot)
    await pilot.press("a")
    await until_shown(pilot, "is number 8")
    await pilot.press("enter")
    await until_shown(pilot, "is number 1")
    await pilot.press("r")
    await until_shown(pilot, "## request")


async def _judged(_patch: pytest.MonkeyPatch) -> None:
    engine = await judged_run()
    spread_out(engine.folder.journal)
    engine.folder.path.rename(engine.folder.path.with_name("20260101-000000-run"))


@shot("run-judged", RunPage, _judged)
async def _(pilot: Pilot[int]) -> None:
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the page of the run")
    await until_shown(pilot, "Krippendorff's alpha")

"""Home: the list of runs, narrowed, opened, resumed, stopped and deleted; and the ways out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from bench import made_run
from evalbench.engine.runs.folder import Lock, RunFolder
from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import home, starting
from evalbench.tui.screens.choose import Choose
from evalbench.tui.screens.compare import ComparePage
from evalbench.tui.screens.dialogs import Confirm, Enter, Trouble
from evalbench.tui.screens.home import HomePage
from evalbench.tui.state.preferences import Preferences
from evalbench.tui.state.run_choices import Choice
from evalbench.tui.widgets.table import Column, Table
from evalbench.tui.widgets.text import Plain
from tests.pilot.driving import shown, until, until_shown, until_told
from tests.pretending import ACCURACY, PretendEngine, pretend


def an_app(**more: Any) -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True), **more)


def named(engine: PretendEngine, name: str) -> PretendEngine:
    """The run under another name; lists go by the name, the latest first."""
    path = engine.folder.path.with_name(name)
    engine.folder.path.rename(path)
    engine.folder = RunFolder(path)
    return engine


@pytest.fixture
def runs() -> dict[str, PretendEngine]:
    """A complete, a paused and a running run; the complete one on top."""
    made = {
        "running": named(pretend(model="openai/gpt-5.2"), "1-running"),
        "paused": named(pretend(model="groq/llama-4-maverick"), "2-paused"),
        "complete": named(pretend(desc="the good one"), "3-complete"),
    }
    made["running"].status(State.RUNNING, done=20)
    made["paused"].status(State.PAUSED, done=100)
    made["complete"].status(State.COMPLETE, done=400)
    return made


async def test_keys_arrive_in_a_browser_whose_focus_comes_late(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    # Textual's driver for browsers says so before anything is shown.
    app.set_reactive(EvalbenchApp.app_focus, False)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "3 runs")
        await until_shown(pilot, "n New run")
        assert app.focused is None
        await pilot.press("j")
        await until(pilot, lambda: app.screen.query_one(Table).cursor == 1, "the second run")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of runs whose page was opened, instead of the page."""
    ids: list[str] = []

    async def open_run(_app: EvalbenchApp, folder: RunFolder) -> None:
        ids.append(folder.id)

    monkeypatch.setattr(EvalbenchApp, "open_run", open_run)
    return ids


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_with_no_run_it_says_what_to_press() -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await until_shown(pilot, "No runs yet. Press n to start one.")
        assert "0 runs" in screen
        await press(pilot, "o", "r", "s", "d", "enter")
        assert isinstance(app.screen, HomePage)


async def test_runs_with_state_and_count(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        lines = (await until_shown(pilot, "3 runs, 1 running")).splitlines()
    assert [line.split()[1:3] for line in lines[3:6]] == [
        ["✓", "complete"],
        ["–", "paused"],
        ["▸", "running"],
    ]
    assert "20/400" in lines[5]


async def test_a_new_run_and_a_changed_one_appear_by_themselves(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        table = app.screen.query_one(Table)
        await press(pilot, "down")
        runs["running"].status(State.RUNNING, done=250)
        await until_shown(pilot, "250/400")
        named(pretend(), "4-new").status(State.RUNNING)
        await until_shown(pilot, "4 runs, 2 running")
        # The cursor stays on its run.
        assert table.cursor == 2


async def test_a_filter_asked_for_while_the_page_is_drawn(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, HomePage), "the home page")
        page = app.screen
        assert isinstance(page, HomePage)
        # A slow machine draws the page again before the line of the first time is whole.
        page.on_screen_resume()
        await asyncio.gather(page.action_filter(), page.action_filter())
        await until(pilot, lambda: app.screen.query_one("#filter", Input).has_focus, "the field")
        assert len(app.screen.query("#filter-line")) == 1


async def test_filtering_as_one_types(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "slash", *"llama paus")
        screen = shown(app)
        assert "paused" in screen
        assert "complete" not in screen
        await press(pilot, "enter")
        assert app.screen.query_one(Table).has_focus
        assert "complete" not in shown(app)
        await press(pilot, "escape")
        assert "complete" in shown(app)
        assert not app.screen.query_one("#filter", Input).value


async def test_words_of_the_description_and_no_match(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "slash", *"good one")
        assert "complete" in shown(app)
        await press(pilot, *"[/b]")
        assert "No matching runs. Press escape to show all." in shown(app)
        await press(pilot, "enter", "d", "o", "r")
        assert isinstance(app.screen, HomePage)
        # A mistake is marked as one; it hides nothing.
        await press(pilot, "escape", "slash", *"score<many")
        screen = await until_shown(pilot, "✗ score< takes a number, not many")
        assert "complete" in screen


@pytest.mark.parametrize("key", ["enter", "o"])
async def test_opening_by_key(runs: dict[str, PretendEngine], opened: list[str], key: str) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "down", key)
        await until(pilot, lambda: opened, "the run's page")
    assert opened == ["2-paused"]


async def test_opening_by_mouse(runs: dict[str, PretendEngine], opened: list[str]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click("#runs", offset=(20, 3))
        assert not opened
        await pilot.click("#runs", offset=(20, 3))
        await until(pilot, lambda: opened, "the run's page")
    assert opened == ["1-running"]


async def test_resuming_what_can_be_resumed(
    runs: dict[str, PretendEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    async def start(_app: EvalbenchApp, words: tuple[str, ...]) -> None:
        asked.append(words)

    monkeypatch.setattr(starting, "start", start)
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "r")
        assert not asked
        await until_told(pilot, "nothing to resume: the run is complete")
        await press(pilot, "s")
        await until_told(pilot, "nothing to stop: the run is complete")
        await press(pilot, "down", "r")
        await until(pilot, lambda: asked, "the request")
        await press(pilot, "down", "r")
    assert asked == [("resume", "2-paused")]


async def test_stopping_leaves_a_request_in_the_runs_folder(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "s", "down", "s", "down", "s")
    requests = {
        name: [orjson.loads(file.read_bytes()) for file in _requests(engine.folder)]
        for name, engine in runs.items()
    }
    assert requests["complete"] == requests["paused"] == []
    assert "stop" in str(requests["running"])


def _requests(folder: RunFolder) -> list[Path]:
    return sorted((folder.path / "commands").glob("*.json"))


async def test_deleting_asks_first(
    runs: dict[str, PretendEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = runs["complete"].folder.path
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "d")
        assert isinstance(app.screen, Confirm)
        assert "Delete 3-complete?" in shown(app)
        # No is the default, and escape is no.
        await press(pilot, "enter")
        await press(pilot, "d", "escape")
        await press(pilot, "d", "n")
        assert path.exists()
        await press(pilot, "delete", "y")
        await until_shown(pilot, "2 runs, 1 running")
        # For a while it can be had back.
        await press(pilot, "u")
        await until_shown(pilot, "3 runs, 1 running")
        assert path.exists()
        monkeypatch.setattr(home, "_UNDO_S", 0.0)
        await press(pilot, "home", "delete", "y")
        await until(pilot, lambda: not path.exists(), "the folder's end")


async def test_marked_runs_are_deleted_together_and_at_the_latest_when_the_app_closes(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "space", "space", "d")
        await until_shown(pilot, "Delete the 2 marked runs?")
        await press(pilot, "y")
        await until_shown(pilot, "1 run, 1 running")
        assert runs["paused"].folder.path.exists()
    assert not runs["paused"].folder.path.exists()
    assert not runs["complete"].folder.path.exists()
    assert runs["running"].folder.path.exists()


async def test_the_list_is_filtered_and_ordered(runs: dict[str, PretendEngine]) -> None:
    runs["complete"].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    runs["paused"].status(State.PAUSED, done=100, spend_usd=2.5, tags=["paper"])
    app = an_app()

    def listed() -> list[str]:
        page = app.screen
        assert isinstance(page, HomePage)
        return [line.folder.id for line in page._shown]

    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "3 runs, 1 running")
        await press(pilot, "slash")
        entry = app.screen.query_one("#filter", Input)
        for text, ids in (
            ("state:paused", ["2-paused"]),
            ("tag:paper", ["2-paused"]),
            ("cost>1", ["2-paused"]),
            ("score>20", ["3-complete"]),
            ("-score>20", ["2-paused", "1-running"]),
            ("done<50 -tag:paper", ["1-running"]),
        ):
            entry.value = text
            await until(pilot, lambda: listed() == ids, text)  # noqa: B023
            await until_shown(pilot, f"{len(ids)} of 3 runs")
        entry.value = "stat:paused"
        await until_shown(pilot, "no stat: here; did you mean state")
        await press(pilot, "escape")
        assert listed() == ["3-complete", "2-paused", "1-running"]
        # By state, then the other way round; a click on a head does it too.
        await press(pilot, "S")
        assert listed() == ["3-complete", "2-paused", "1-running"]
        await press(pilot, "R")
        assert listed() == ["1-running", "2-paused", "3-complete"]
        await until_shown(pilot, "state ▾")
        at = shown(app).splitlines()[2].index("done")
        await pilot.click("#runs", offset=(at, 1))
        assert listed() == ["3-complete", "2-paused", "1-running"]
        await until_shown(pilot, "done ▾")
        # The picture of the score is sorted like the score.
        await pilot.resize_terminal(120, 30)
        await until(pilot, lambda: "0–100 %" in shown(app).splitlines()[1], "the column's head")
        at = shown(app).splitlines()[1].index("0–100 %")
        await pilot.click("#runs", offset=(at, 0))
        await until_shown(pilot, "score ▾")


async def test_the_run_under_the_cursor_is_shown_beside_the_list(
    runs: dict[str, PretendEngine],
) -> None:
    runs["complete"].event("started", pid=4711, host="here")
    runs["complete"].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    runs["paused"].status(State.PAUSED, done=100, problem="somebody paused it")
    for size in ((120, 40), (200, 60)):
        app = an_app()
        async with app.run_test(size=size) as pilot:
            await until_shown(pilot, "25.0 %  20.0–31.0")
            await until_shown(pilot, "engine started: process 4711 on here")
            await press(pilot, "down")
            await until_shown(pilot, "somebody paused it")
            assert "engine started" not in shown(app)
            await pilot.resize_terminal(80, 24)
            await until(pilot, lambda: "somebody paused" not in shown(app), "the list alone")  # noqa: B023


async def test_a_running_runs_line_and_its_preview_are_of_one_moment(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "down", "down")
        await until_shown(pilot, "20/400 samples")
        runs["running"].status(State.RUNNING, done=250)
        page = app.screen
        assert isinstance(page, HomePage)
        page.tick()
        await pilot.pause()
        assert shown(app).count("250/400") == 2


async def test_a_score_and_the_progress_of_a_run_are_drawn(runs: dict[str, PretendEngine]) -> None:
    runs["complete"].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "0–100 %")
        rows = {line.split()[2]: line for line in shown(app).splitlines()[3:6]}
        # 25.0 % (20.0–31.0), and 20 of 400 samples.
        assert "··●━······" in rows["complete"]
        assert "━─────────" in rows["running"]
        assert "━" not in rows["paused"]


@pytest.mark.parametrize("width", [60, 65])
async def test_the_score_is_shown_on_the_narrowest_screen(
    runs: dict[str, PretendEngine], width: int
) -> None:
    runs["complete"].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    app = an_app()
    async with app.run_test(size=(width, 20)) as pilot:
        await until_shown(pilot, "25.0 % (20.0–31.0)")


async def test_columns_are_as_wide_as_what_is_in_them_and_leave_the_rest_to_models() -> None:
    name = "anthropic/claude-haiku-4-5"
    pretend("mmlu", name).status(
        State.COMPLETE, done=400, metrics={"accuracy": ACCURACY}, spend_usd=0.25, budget_usd=2.0
    )
    app = an_app()
    for width, there in ((80, ("complete", "25.0 % (20.0–31.0)")), (120, ("400/400", "$0.2500"))):
        async with app.run_test(size=(width, 24)) as pilot:
            screen = await until_shown(pilot, name)
            assert all(words in screen for words in there)
        app = an_app()


async def test_wide_letters_count_as_the_cells_they_take() -> None:
    # Eighteen characters in 27 cells.
    pretend("mmlu", "openai/日本語のモデル名前四五").status(State.COMPLETE, done=400)
    pretend("mmlu", "openai/b").status(State.COMPLETE, done=400)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "openai/日本語のモデル名前四五")


async def test_comparing_says_what_to_mark(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "3 runs")
        await press(pilot, "c")
        await until_told(pilot, "comparing takes two runs: mark a run with space")
        await press(pilot, "space", "up", "c")
        await until_told(pilot, "comparing takes two runs: move to another run and press c")
        assert isinstance(app.screen, HomePage)
        await press(pilot, "down", "c")
        await until(pilot, lambda: isinstance(app.screen, ComparePage), "the comparison")


async def test_marked_runs_are_tagged_and_tags_are_removed(
    runs: dict[str, PretendEngine],
) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "3 runs")
        await press(pilot, "space", "space", "t", *"paper,[/x]", "enter")
        tagged = ("complete", "paused")
        for name in tagged:
            folder = runs[name].folder
            await until(pilot, lambda: folder.status().tags == ["paper", "[/x]"], name)  # noqa: B023
        await press(pilot, "space", "up", "t")
        await until_shown(pilot, "Now: [/x], paper.")
        await press(pilot, *"a b -paper", "enter")
        folder = runs["complete"].folder
        await until(pilot, lambda: folder.status().tags == ["[/x]", "a b"], "another tag")


async def test_several_runs_are_exported_to_a_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "runs").mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        await asyncio.to_thread(made_run.make, home / "runs", 5)
    monkeypatch.chdir(tmp_path)
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "2 runs")
        await press(pilot, "space", "space", "x")
        screen = await until_shown(pilot, "a row for each sample, safe to open in a spreadsheet")
        # What is for the runs of another benchmark is not offered.
        assert "FastChat" not in screen
        await press(pilot, *"csv", "enter")
        await until_shown(pilot, "A folder, from")
        await press(pilot, "enter")
        await until_told(pilot, "2 files written")
        assert len(list((tmp_path / "exported-runs").glob("*.csv"))) == 2


async def test_a_line_that_is_cut_is_shown_in_full_under_the_cursor() -> None:
    long = "words of a description that no screen of eighty columns has room for " * 2
    choices = [Choice("short", ("short", "word"), "short"), Choice("long", ("long", long), "long")]
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = Choose("Pick", (Column("name", 18), Column("for")), choices)
        await app.push_screen(dialog)
        await until_shown(pilot, "short")
        whole = dialog.query_one("#whole", Plain)
        assert not str(whole.content)
        await press(pilot, "down")
        await until(pilot, lambda: long.strip() in str(whole.content), "all of it")
        await press(pilot, "up")
        await until(pilot, lambda: not str(whole.content), "nothing more to say")


async def test_a_run_is_exported(home: Path, tmp_path: Path) -> None:
    (home / "runs").mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(made_run.make, home / "runs", 5)
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "1 run")
        await press(pilot, "x")
        await until_shown(pilot, "a row for each sample, safe to open in a spreadsheet")
        await press(pilot, *"csv", "enter")
        await until(pilot, lambda: isinstance(app.screen, Enter), "the question where to")
        entry = app.screen.query_one(Input)
        assert entry.value.endswith(".csv")
        entry.value = str(tmp_path / "out.csv")
        await press(pilot, "enter")
        await until_told(pilot, "1 file written")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 6


async def test_a_wide_home_shows_the_machine_and_calls_in_flight(
    runs: dict[str, PretendEngine],
) -> None:
    runs["running"].status(State.RUNNING, done=20, gauges={"in_flight": 3, "concurrency": 8})
    app = an_app()
    async with app.run_test(size=(200, 60)) as pilot:
        await until_shown(pilot, "3 of 8")
        await until_shown(pilot, "memory")
        limited = {"in_flight": 3, "concurrency": 8, "limited_by": "rate", "rate_limit": 4.93}
        runs["running"].status(State.RUNNING, done=20, gauges=limited)
        await until_shown(pilot, "limited by the adaptive rate: 4.9/s")
        assert "3 of 8" not in shown(app)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "calls in flight" not in shown(app), "a narrower page")


async def test_a_leaderboard_of_models_and_benchmarks(runs: dict[str, PretendEngine]) -> None:
    runs["complete"].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    better = ACCURACY | {"value": 0.5, "low": 0.45, "high": 0.55}
    runs["paused"].status(
        State.COMPLETE, done=400, metrics={"accuracy": better}, spend_usd=0.25, budget_usd=2.0
    )
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        screen = await until_shown(pilot, "2 models, 1 benchmark")
        lines = screen.splitlines()
        assert "quickstart ▾" in lines[1]
        assert lines[2].split()[:4] == ["1", "groq/llama-4-maverick", "50.0", "%"]
        assert lines[3].split()[:3] == ["2", "local/smollm2-135m-instruct", "25.0"]
        assert "2-paused" in screen
        # What it cost, without the share of its budget.
        assert "$0.2500 · " in screen
        await press(pilot, "enter")
        await until_shown(pilot, "quickstart × groq/llama-4-maverick")


async def test_a_leaderboard_is_exported_as_it_is_shown(
    runs: dict[str, PretendEngine], tmp_path: Path
) -> None:
    for name in ("complete", "paused"):
        runs[name].status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        await until_shown(pilot, "2 models, 1 benchmark")
        await press(pilot, "slash", *"model:smol", "enter")
        await until_shown(pilot, "1 model, 1 benchmark")
        await press(pilot, "x")
        await until_shown(pilot, "Export this leaderboard to a file")
        app.screen.query_one("#value", Input).value = str(tmp_path / "board.txt")
        await press(pilot, "enter")
        await until_shown(pilot, "the name has to end in .html, .md, .csv or .json")
        app.screen.query_one("#value", Input).value = str(tmp_path / "board.csv")
        await press(pilot, "enter")
        await until_told(pilot, "written to ")
    head, *lines = (tmp_path / "board.csv").read_text().splitlines()
    assert head.startswith("benchmark,model,rank_low")
    assert [line.split(",")[1] for line in lines] == ["local/smollm2-135m-instruct"]


async def test_an_empty_leaderboard_says_that_there_is_nothing_to_export(home: Path) -> None:
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        await until_shown(pilot, "No complete run has a score yet")
        await press(pilot, "x")
        await until_told(pilot, "no run is shown")


async def test_names_in_wide_glyphs_are_whole_on_a_leaderboard() -> None:
    model = "compatible/" + "模" * 20
    run = named(pretend(model=model), "1-wide")
    run.status(State.COMPLETE, done=400, metrics={"accuracy": ACCURACY})
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        assert f"{model} " in await until_shown(pilot, "1 model, 1 benchmark")


async def test_files_of_one_name_have_columns_of_their_own(tmp_path: Path) -> None:
    for folder in ("easy", "hard"):
        (tmp_path / folder).mkdir()
        file = tmp_path / folder / "sums.toml"
        file.write_text('data = "s.csv"\nprompt = "{{ q }}"\ngold = "n"\nscorer = "exact"\n')
        pretend("custom", options={"file": str(file)}).status(
            State.COMPLETE, done=400, metrics={"accuracy": ACCURACY}
        )
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        screen = await until_shown(pilot, "1 model, 2 benchmarks")
        heads = screen.splitlines()[1].split()
        assert heads == ["model", "easy/sums.toml", "▾", "hard/sums.toml"]
        assert "place 1 by the intervals" in screen


async def test_the_benchmark_that_orders_a_leaderboard_comes_first() -> None:
    names = ("gsm8k", "mmlu", "quickstart")
    for name in names:
        pretend(name, "openai/gpt-5.2").status(
            State.COMPLETE, done=400, metrics={"accuracy": ACCURACY}
        )
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "l")
        screen = await until_shown(pilot, "1 model, 3 benchmarks, 1 not shown: S")
        assert screen.splitlines()[1].split() == ["model", "gsm8k", "▾", "mmlu"]
        await press(pilot, "S", "S")
        screen = await until_shown(pilot, "quickstart ▾")
        assert screen.splitlines()[1].split() == ["model", "quickstart", "▾", "gsm8k"]
        await pilot.click(Table, offset=(66, 0))
        screen = await until_shown(pilot, "gsm8k ▾")
        assert screen.splitlines()[1].split() == ["model", "gsm8k", "▾", "mmlu"]
        await pilot.resize_terminal(120, 30)
        await until(pilot, lambda: "not shown" not in shown(app), "all of them")
        assert "quickstart" in shown(app)


async def test_a_leaderboard_takes_the_filter_of_home() -> None:
    for benchmark, model, tag in (
        ("gsm8k", "openai/gpt-5.2", "paper"),
        ("mmlu", "groq/llama-4-maverick", "paper"),
        ("mmlu", "openai/gpt-5.2", "draft"),
    ):
        pretend(benchmark, model, tag=(tag,)).status(
            State.COMPLETE, done=400, metrics={"accuracy": ACCURACY}
        )
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "l")
        assert "newest complete run" in await until_shown(pilot, "2 models, 2 benchmarks")
        await press(pilot, "S")
        await until_shown(pilot, "gsm8k ▾")
        await press(pilot, "slash", *"tag:paper")
        await until(pilot, lambda: shown(app).count("25.0 %") == 2, "the paper's scores")
        assert "newest run that matches" in shown(app)
        await press(pilot, "x")
        await until_shown(pilot, "No matching runs")
        # The chosen order outlives a filter that matches nothing.
        await press(pilot, "backspace")
        await until_shown(pilot, "gsm8k ▾")
        await press(pilot, *" age<many")
        await until_shown(pilot, "age< takes a number, not many")
        await press(pilot, "escape")
        await until(pilot, lambda: shown(app).count("25.0 %") == 3, "all scores")
        await press(pilot, "slash", *"tag:draft", "enter", "enter")
        await until_shown(pilot, "mmlu × openai/gpt-5.2")


async def test_a_run_is_edited_and_run_again() -> None:
    pretend("synthetic", "scripted/good", options={"size": 50}, limit=7)
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "1 run")
        await press(pilot, "e")
        await until_shown(pilot, "--limit 7 --size 50")


async def test_a_run_at_work_is_not_deleted(runs: dict[str, PretendEngine]) -> None:
    path = runs["running"].folder.path
    lock = Lock(runs["running"].folder)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "end", "d", "y")
        await until(pilot, lambda: isinstance(app.screen, Trouble), "the refusal")
        await press(pilot, "enter")
        assert isinstance(app.screen, HomePage)
    lock.release()
    assert path.exists()


async def test_foreign_text_is_only_text() -> None:
    evil = "[/b][red]\x1b[31m\x00 \u202e"
    pretend(desc=evil, tag=["[/x]"]).status(State.FAILED, problem=evil, benchmark=evil, model=evil)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await until_shown(pilot, "[/b][red]")
        assert not {"\x1b", "\x00", "\u202e"} & set(screen)
        await press(pilot, "d")
        assert isinstance(app.screen, Confirm)


async def test_hundreds_of_runs() -> None:
    for number in range(200):
        named(pretend(), f"{number:04}").status(State.COMPLETE, done=400)
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "end")
        assert app.screen.query_one(Table).cursor == 199


# -- ways out ------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_leaving(key: str) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, key)
        await until(pilot, lambda: app.return_code is not None, "the end")
    assert app.return_value == 0


async def test_escape_does_not_leave_from_home() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "escape", "escape")
        assert app.is_running
        assert app.return_value is None
        assert "Back" not in shown(app).splitlines()[-1]


@pytest.mark.share(2)
@pytest.mark.parametrize("page", ["f1", "f6"])
@pytest.mark.parametrize("key", ["q", "escape"])
async def test_back_from_other_pages(page: str, key: str) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, page)
        assert not isinstance(app.screen, HomePage)
        await press(pilot, key)
        assert isinstance(app.screen, HomePage)
        assert app.is_running


@pytest.mark.share(3)
@pytest.mark.parametrize("before", [[], ["f1"], ["f6"], ["slash"], ["d"]])
async def test_ctrl_q_leaves_from_anywhere(
    runs: dict[str, PretendEngine], before: list[str]
) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, *before, "ctrl+q")
        await until(pilot, lambda: app.return_code is not None, "the end")


async def test_a_key_pressed_again_says_why_not_only_once(runs: dict[str, PretendEngine]) -> None:
    app = an_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "s", "r", "s", "s")
        told = ["Resume: nothing to resume: the run is complete"]
        told.append("Stop: nothing to stop: the run is complete")
        await until(pilot, lambda: [n.message for n in app._notifications] == told, str(told))


@pytest.mark.share(3)
@pytest.mark.parametrize("before", [[], ["f1"], ["f6"], ["slash"], ["d"]])
async def test_ctrl_c_says_how_to_leave(runs: dict[str, PretendEngine], before: list[str]) -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, *before, "ctrl+c")
        assert [n.message for n in app._notifications] == ["ctrl+q quits; runs keep going"]
        assert app.is_running


async def test_ctrl_c_copies_what_is_selected() -> None:
    app = an_app()
    async with app.run_test() as pilot:
        await press(pilot, "slash", *"llama", "ctrl+a", "ctrl+c")
        await press(pilot, "home", "shift+end", "ctrl+c")
        assert app.clipboard == "llama"


# -- colours -------------------------------------------------------------------------


async def test_no_color_leaves_greys_and_words(
    runs: dict[str, PretendEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "3 runs")
        colours = {
            colour.triplet
            for line in _as_sent(app)
            for segment in line
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour and colour.triplet
        }
        assert colours
        assert all(max(triplet) - min(triplet) <= 1 for triplet in colours)
        for words in ("✓ complete", "– paused", "▸ running"):
            assert words in shown(app)


async def test_no_color_with_the_terminals_colours_sends_none_at_all(
    runs: dict[str, PretendEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = EvalbenchApp(Preferences(welcomed=True, theme="ansi"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_shown(pilot, "3 runs")
        segments = [segment for line in _as_sent(app) for segment in line if segment.style]
        for segment in segments:
            for colour in (segment.style.color, segment.style.bgcolor):
                assert colour is None or colour.is_default
        # The cursor is seen all the same.
        cursor = [segment for segment in segments if "complete" in segment.text]
        assert cursor
        assert all(segment.style.reverse for segment in cursor)


@pytest.mark.share(3)
@pytest.mark.parametrize("keys", [[], ["f1"], ["f6"], ["slash"], ["d"], ["ctrl+p"]])
async def test_the_ansi_theme_sends_only_the_sixteen_colours(
    runs: dict[str, PretendEngine], keys: list[str]
) -> None:
    app = EvalbenchApp(Preferences(welcomed=True, theme="ansi"))
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, *keys)
        # Textual gives blank borders a colour that nobody sees.
        sent = [
            (colour, segment.text)
            for line in _as_sent(app)
            for segment in line
            if segment.style
            for colour in (segment.style.bgcolor, segment.text.strip() and segment.style.color)
            if colour and not colour.is_default
        ]
        others = [(colour, text) for colour, text in sent if colour.number not in range(16)]
        assert not others


def _as_sent(app: EvalbenchApp) -> list[list[Any]]:
    """The screen's segments as the terminal gets them, after colour filters."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        for line_filter in app._filters:
            if line_filter.enabled:
                strip = strip.apply_filter(line_filter, app.screen.background_colors[1])
        lines.append(list(strip))
    return lines

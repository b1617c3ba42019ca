"""Batches: what is out, over all runs or of one; fetching and cancelling go by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalbench.engine.calls import BatchJob, JobState
from evalbench.engine.dispatch.batch.state import Batch, Stage
from evalbench.engine.journal import CallKey, Journal
from evalbench.engine.runs.status import State
from evalbench.tui.app import EvalbenchApp
from evalbench.tui.screens import batches, starting
from evalbench.tui.screens.batches import BatchesPage
from evalbench.tui.screens.dialogs import Confirm
from evalbench.tui.screens.run import RunPage
from evalbench.tui.state.preferences import Preferences
from tests.pilot.driving import shown, until, until_shown
from tests.pretending import PretendEngine, pretend


def batch(name: str, stage: str = "running", **more: Any) -> dict[str, Any]:
    """A batch as a status file holds it."""
    held = {
        "name": name, "role": "candidate", "model": "gpt-4.1-mini", "stage": stage,
        "requests": 500, "bytes": 1_200_000, "id": f"batch_{name}", "job": "running",
        "succeeded": 120, "failed_there": 0, "answered": 0, "failed": 0, "again": 0,
        "since": 0.0, "expires": None, "cancelling": False, "cost": "0", "why": "",
    }  # fmt: skip
    return held | more


@pytest.fixture
def run(home: Path) -> PretendEngine:
    """A run that waits for one batch and has another behind it."""
    made = pretend(model="openai/gpt-4.1-mini")
    over = batch("aaaaaaaaaa", "done", answered=499, failed=1, cost="0.5")
    made.status(State.WAITING, alive=False, done=500, batches=[over, batch("bbbbbbbbbb")])
    return made


def an_app() -> EvalbenchApp:
    return EvalbenchApp(Preferences(welcomed=True))


async def test_what_is_out_is_listed_and_told(run: PretendEngine) -> None:
    async with an_app().run_test(size=(120, 40)) as pilot:
        await pilot.press("f12")
        await until_shown(pilot, "bbbbbbbbbb")
        screen = shown(pilot.app)
        assert "aaaaaaaaaa" not in screen
        assert "120 of 500 at the provider" in screen
        assert "batch_bbbbbbbbbb · 1.2 MB of requests" in screen
        assert "bbbbbbbbbb.requests.jsonl" in screen
        await pilot.press("x")
        await until_shown(pilot, "500 of 500 read, 1 failed")
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the run")


async def test_results_that_were_not_fetched_are_told_with_what_there_is_to_do(
    home: Path,
) -> None:
    made = pretend(model="openai/gpt-4.1-mini")
    held = batch("cccccccccc", "unfetched", why="no such file", resend_cost="1.25", answered=100)
    made.status(State.FAILED, alive=False, batches=[held])
    async with an_app().run_test(size=(140, 40)) as pilot:
        await pilot.press("f12")
        await until_shown(pilot, "ended, results not fetched")
        screen = shown(pilot.app)
        assert "400 calls; sending them again costs at most $1.25" in screen
        assert "--resend-unfetched" in screen
        assert "no such file" in screen
        assert pilot.app.screen.check_action("fetch", ()) is True
        assert pilot.app.screen.check_action("cancel", ()) is None


async def test_the_page_of_a_run_tells_them_and_leads_there(run: PretendEngine) -> None:
    async with an_app().run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the run")
        await until_shown(pilot, "bbbbbbbbbb running")
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, BatchesPage), "its batches")
        await until_shown(pilot, "aaaaaaaaaa")


async def test_fetching_and_cancelling_are_commands(
    run: PretendEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    async def run_command(*words: str, **_: Any) -> list[dict[str, Any]]:
        asked.append(words)
        return []

    monkeypatch.setattr(batches, "run_command", run_command)
    async with an_app().run_test(size=(100, 30)) as pilot:
        await pilot.press("f12")
        await until_shown(pilot, "bbbbbbbbbb")
        await pilot.press("f")
        await until(pilot, lambda: len(asked) == 1, "collecting")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm), "a question")
        await pilot.press("y")
        await until(pilot, lambda: len(asked) == 2, "cancelling")
    assert asked == [
        ("collect", str(run.folder.path)),
        ("batches", "cancel", "bbbbbbbbbb"),
    ]


@pytest.mark.share(2)
@pytest.mark.parametrize(("key", "may"), [("y", True), ("n", False)])
@pytest.mark.parametrize("page", ["batches", "starting"])
async def test_a_host_that_only_the_folder_names_is_asked_about(
    run: PretendEngine, monkeypatch: pytest.MonkeyPatch, page: str, key: str, may: bool
) -> None:
    answers: list[bool] = []

    async def run_command(*_words: str, ask: Any, **_: Any) -> list[dict[str, Any]]:
        text = "run x sends the key of openai to evil.example"
        answers.append(await ask({"event": "key-hosts", "text": text, "hosts": ["evil.example"]}))
        return []

    monkeypatch.setattr(batches if page == "batches" else starting, "run_command", run_command)
    async with an_app().run_test(size=(100, 30)) as pilot:
        if page == "batches":
            await pilot.press("f12")
            await until_shown(pilot, "bbbbbbbbbb")
            await pilot.press("f")
        else:
            await pilot.app.push_screen(starting.Starting(("resume", "x")))
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm), "a question")
        await until_shown(pilot, "evil.example")
        await pilot.press(key)
        await until(pilot, lambda: answers, "an answer")
    assert answers == [may]


async def test_an_empty_list_says_how_to_fill_it(home: Path) -> None:
    async with an_app().run_test(size=(80, 24)) as pilot:
        await pilot.press("f12")
        await until_shown(pilot, "--mode batch")


async def test_hostile_names_are_only_text(home: Path) -> None:
    made = pretend(model="openai/gpt-4.1-mini")
    nasty = batch("cccccccccc", id="[red]x[/]\x1b[2J", why="[bold]\x1b]0;x\x07", model="[b]m")
    made.status(State.WAITING, alive=False, batches=[nasty])
    async with an_app().run_test(size=(120, 30)) as pilot:
        await pilot.press("f12")
        await until_shown(pilot, "cccccccccc")
        assert "[red]x[/]" in shown(pilot.app)
        assert "\x1b" not in shown(pilot.app)


async def test_the_lines_of_a_sample_can_be_read(home: Path) -> None:
    made = pretend(model="openai/gpt-4.1-mini")
    await made.answer(1, "Which one?")
    held = Batch(1, "dddddddddd", "candidate", "gpt-4.1-mini", Stage.DONE, requests=1)
    held.job = BatchJob("batch_77", JobState.ENDED)
    journal = Journal(made.folder.journal)
    key = CallKey(0, "candidate", "openai/gpt-4.1-mini", "answer", 0)
    journal.put_in_batch(journal.call_id(1, key, 0), 1, 0)
    await journal.put_batch(held.row())
    await journal.close()
    made.folder.batches.mkdir()
    item = held.item(0)
    files = {held.requests_file: f"[asked] {item}", held.results_file: f"[came] {item} \x1b[2J"}
    for name, text in files.items():
        (made.folder.batches / name).write_text(f"another\n{text}\n")
    made.status(State.COMPLETE, alive=False, done=1, total=1, batches=[held.shown()])
    async with an_app().run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunPage), "the run")
        await pilot.press("a")
        await until_shown(pilot, "Which one?")
        await pilot.press("enter")
        await until_shown(pilot, "read as")
        await pilot.press("b")
        await until_shown(pilot, f"[asked] {item}")
        screen = shown(pilot.app)
        assert "batch dddddddddd, line 1 (batch_77)" in screen
        assert f"[came] {item}" in screen
        assert "\x1b" not in screen


async def test_a_run_whose_batches_are_all_read_tells_of_each(home: Path) -> None:
    made = pretend(model="openai/gpt-4.1-mini")
    names = [letter * 10 for letter in "abcde"]
    read = [batch(name, "done", answered=500, cost="0.5") for name in names]
    made.status(State.COMPLETE, done=2500, batches=read)
    app = an_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await app.open_run(made.folder)
        screen = await until_shown(pilot, "and 1 more: t")
        assert [name for name in names if name in screen] == names[:4]

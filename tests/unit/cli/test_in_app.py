"""When the app is opened on runs, and what is told and returned once it is left."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from evalbench.engine.runs.folder import RunFolder
from evalbench.engine.runs.status import State
from evalbench.tui.cli import launch
from evalbench.tui.cli.launch import in_app, make_view, show_app
from evalbench.tui.state.run_follower import RunFollower
from tests.pretending import PretendEngine, pretend


class App:
    """Stands for the app: notes the run it was opened on, and ends as it is told."""

    def __init__(self) -> None:
        self.runs: list[RunFolder | None] = []
        self.code = 0
        self.meanwhile: Any = None

    def open(self, *, run: RunFolder | None = None) -> int:
        self.runs.append(run)
        if self.meanwhile:
            self.meanwhile()
        return self.code


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    pretended = App()
    monkeypatch.setattr(launch, "open_app", pretended.open)
    return pretended


@pytest.mark.parametrize(
    ("can", "json", "no_ui", "wanted"),
    [
        (True, False, False, True),
        (False, False, False, False),
        (True, True, False, False),
        (True, False, True, False),
    ],
)
def test_it_is_opened_where_it_can_be_and_nothing_else_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, can: bool, json: bool, no_ui: bool, wanted: bool
) -> None:
    monkeypatch.setattr(launch, "can_show", lambda: can)
    assert in_app(argparse.Namespace(json=json, no_ui=no_ui)) is wanted


def test_a_run_that_goes_on_is_told_with_the_way_back(
    engine: PretendEngine, app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.status()
    assert show_app([RunFollower(engine.folder)], make_view(json=False)) == 0
    assert app.runs == [engine.folder]
    said = capsys.readouterr().out
    assert f"{engine.folder.id} keeps running" in said
    assert f"evalbench attach {engine.folder.id}" in said


def test_a_run_that_ended_meanwhile_gives_its_closing_and_its_code(
    engine: PretendEngine, app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.status()
    app.meanwhile = lambda: engine.status(State.COMPLETE, exit_code=2, failed=1, done=400)
    assert show_app([RunFollower(engine.folder)], make_view(json=False)) == 2
    said = capsys.readouterr().out
    assert "complete: quickstart" in said
    assert "goes on" not in said


def test_an_engine_that_disappeared_is_a_crash(engine: PretendEngine, app: App) -> None:
    engine.status()
    app.meanwhile = lambda: engine.status(alive=False)
    assert show_app([RunFollower(engine.folder)], make_view(json=False)) == 6


def test_several_runs_open_the_list_and_the_worst_code_counts(
    engine: PretendEngine, app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [pretend(), pretend()]
    engine.status()
    others[0].status(State.COMPLETE, exit_code=0)
    others[1].status(State.BUDGET, exit_code=3)
    watches = [RunFollower(one.folder) for one in (engine, *others)]
    assert show_app(watches, make_view(json=False)) == 3
    assert app.runs == [None]
    assert capsys.readouterr().out.count("keeps running") == 1


def test_an_app_that_failed_is_not_taken_for_a_success(engine: PretendEngine, app: App) -> None:
    engine.status()
    app.code = 143
    assert show_app([RunFollower(engine.folder)], make_view(json=False)) == 143

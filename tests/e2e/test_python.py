"""The Python API, through real engine processes."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from collections.abc import Iterator
from inspect import CO_COROUTINE
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from evalbench import Run, open_run, start_run
from evalbench.engine import errors
from evalbench.engine.config import registry
from tests.e2e.commandline import PLUGINS, wait_until

DOCS = Path(__file__).parents[2] / "docs"
MODEL = "scripted/good"


@pytest.fixture(scope="module")
def one_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all tests here: data that is prepared once is at hand for the others."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def runs(one_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Run]]:
    """The test plug-ins are installed; runs put into the list are ended with the test."""
    for name in os.environ:
        if name.startswith(("SCRIPTED_", "SYNTHETIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("EVALBENCH_HOME", str(one_home))
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    monkeypatch.syspath_prepend(str(PLUGINS))
    registry._found.cache_clear()
    started: list[Run] = []
    yield started
    for run in started:
        run.stop()
        run.wait(60)
    registry._found.cache_clear()


def started(runs: list[Run], size: int = 12, **settings: Any) -> Run:
    settings = {"price": "0/0", **settings}
    runs.append(start_run("synthetic", MODEL, plugin_options={"size": size}, **settings))
    return runs[-1]


def test_results_come_once_each_and_as_they_stand_in_the_journal(runs: list[Run]) -> None:
    run = started(runs, seed=3, group=None)
    live = list(run)
    assert run.state == "complete"
    assert run.at_rest
    held = list(run.samples())
    assert [result.row for result in held] == list(range(1, 13))
    assert sorted(live, key=lambda result: result.row) == held
    right = sum(result.reply == result.gold for result in held)
    score = run.score
    assert score is not None
    assert (score.name, score.k, score.n) == ("accuracy", right, 12)
    assert {result.score for result in held} <= {0.0, 1.0, None}
    unread = [result for result in held if result.outcome == "unparsed"]
    assert all(result.score is None for result in unread)
    assert held[0].question.startswith("Riddle 0")
    assert held[0].parsed == {"letter": held[0].reply}
    assert (held[0].calls, held[0].input_tokens, held[0].output_tokens) == (1, 150, 1)
    assert repr(run).startswith(f"<Run {run.id}: complete, 12 of 12, accuracy 0.")


def test_results_come_while_the_run_goes_on(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.1")
    run = started(runs, size=400, concurrency=2)
    first = next(iter(run))
    assert first.outcome == "ok"
    assert not run.at_rest
    with pytest.raises(errors.RunUnfinished) as unfinished:
        run.wait(0)
    assert unfinished.value.state == "running"
    run.stop()
    assert run.wait(60).state == "stopped"
    with pytest.raises(errors.RunUnfinished, match="not complete: stopped") as stopped:
        run.raise_for_state()
    assert stopped.value.state == "stopped"
    assert {"ok", "waiting"} == {result.outcome for result in run.samples()}


def test_a_run_goes_on_where_it_stopped(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.05")
    run = started(runs, size=60, concurrency=2)
    next(iter(run))
    run.pause()
    done = run.wait(60).status.done
    assert 0 < done < 60
    monkeypatch.setenv("SCRIPTED_LATENCY", "0")
    assert run.resume().wait(60).raise_for_state() is run
    assert (run.status.done, run.status.sent) == (60, 60 - done)


def test_a_new_budget_is_kept_with_the_run(runs: list[Run]) -> None:
    run = started(runs, budget=0, price="1000/1000")
    assert run.wait(60).state == "budget"
    assert list(run) == []
    run.resume(budget=100).wait(60).raise_for_state()
    assert run.spec.settings.budget == 100.0
    assert run.status.spend_usd == pytest.approx(12 * 151 / 1000)


@pytest.mark.parametrize(("price", "high"), [(None, None), ("1/1", 0.01)])
def test_nothing_is_spent_without_a_yes(
    runs: list[Run], tmp_path: Path, price: str | None, high: float | None
) -> None:
    with pytest.raises(errors.NotApproved, match="budget=DOLLARS") as refused:
        started(runs, price=price, run_dir=tmp_path)
    if high is None:
        assert refused.value.high is None
    else:
        assert 0 < (refused.value.high or 0) <= high
    assert not list(tmp_path.iterdir())


def test_what_costs_nothing_needs_no_yes_and_what_does_can_be_given_one(runs: list[Run]) -> None:
    assert started(runs).wait(60).raise_for_state().status.spend_usd == 0
    dear = started(runs, price=None, approve=True)
    assert dear.wait(60).raise_for_state().status.spend_usd is None


async def test_it_starts_and_is_read_inside_a_running_event_loop(runs: list[Run]) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    run = started(runs)
    ticking = asyncio.create_task(tick())
    outcomes = [result.outcome async for result in run]
    ticking.cancel()
    assert outcomes == ["ok"] * 12
    assert ticks > 1
    # Estimates and unprepared data take another way to start.
    with pytest.raises(errors.NotApproved):
        started(runs, price=None, size=13)


def test_the_table_has_the_columns_of_the_csv(runs: list[Run]) -> None:
    run = started(runs, epochs=2).wait(60)
    table = run.to_pandas()
    assert list(table["epoch"]) == [0, 1] * 12
    assert table["input_tokens"].dtype == "Int64"
    assert table["cost_usd"].sum() == 0
    assert table["score"].mean() == pytest.approx(run.metrics["accuracy"].value)
    assert table["tag.group"].str.fullmatch("[0-9a-f]").all()


def test_the_facts_and_events_of_a_run(runs: list[Run]) -> None:
    run = started(runs).wait(60)
    assert run.facts["record"]["data"]["count"] == 12
    assert "keys" not in run.facts
    kinds = [event.kind for event in run.events()]
    assert kinds[0] == "started"
    assert kinds[-1] == "ended"


def test_the_error_that_ended_a_run_keeps_its_class(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_FAULT", '{"every": 1, "class": "NoCredit"}')
    run = started(runs).wait(60)
    assert run.state == "failed"
    with pytest.raises(errors.NoCredit, match="scripted fault"):
        run.raise_for_state()


def test_a_run_that_ends_with_its_program(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.1")
    run = started(runs, size=400, concurrency=2, foreground=True)
    other = open_run(run.path)
    assert not other.at_rest
    runs.clear()
    del run
    wait_until(lambda: other.at_rest, "the end of the run")
    assert other.state == "stopped"


def test_a_run_whose_engine_is_gone(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.1")
    run = started(runs, size=400, concurrency=2)
    next(iter(run))
    os.kill(run.status.pid or 0, 9)
    assert run.wait(60).state == "interrupted"
    assert 0 < len(list(run)) < 400
    with pytest.raises(errors.RunUnfinished, match="resume"):
        run.raise_for_state()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"limt": 3}, "did you mean limit"),
        ({"limit": "many"}, "--limit takes a whole number"),
        ({"mood": "merry"}, "--mood cannot be"),
    ],
)
def test_a_wrong_setting_is_named(runs: list[Run], settings: dict[str, Any], told: str) -> None:
    with pytest.raises(errors.SpecError, match=told):
        started(runs, **settings)


def test_wrong_names_are_told(runs: list[Run], tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text("[[run]]\n", "utf-8")
    with pytest.raises(errors.SpecError, match="does not describe a benchmark"):
        start_run(suite, MODEL)
    with pytest.raises(errors.RunNotFound):
        open_run("last", run_dir=tmp_path)
    run = started(runs).wait(60)
    with pytest.raises(errors.SpecError, match="cannot be asked again"):
        run.resume(retry=["right"])
    assert open_run(run.id[-4:]).id == run.id


def _blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The indented blocks of a page with the numbers of their first lines."""
    block: list[str] = []
    begins = 0
    for number, line in enumerate([*page.read_text("utf-8").splitlines(), "end"], 1):
        if line.startswith("    ") or (block and not line):
            begins = begins if block else number
            block.append(line[4:])
        elif block:
            yield begins, "\n".join(block)
            block = []


async def test_the_examples_of_the_documentation_work(
    runs: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    page = DOCS / "python.md"
    space: dict[str, Any] = {}
    count = 0
    for line, block in _blocks(page):
        code = block.replace("anthropic/claude-haiku-4-5", MODEL)
        code = code.replace("budget=0.50", "budget=0.50, price='0.1/0.1'")
        # The lines are told as they stand in the page.
        whole = compile("\n" * (line - 1) + code, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        found = eval(FunctionType(whole, space).__code__, space)
        if whole.co_flags & CO_COROUTINE:
            await found
        if isinstance(run := space.get("run"), Run) and run not in runs:
            runs.append(run)
        count += 1
    assert count >= 8
    assert "budget=DOLLARS" in capsys.readouterr().out


def test_the_api_is_light_to_import() -> None:
    import subprocess

    code = "from evalbench import start_run; import sys; print(*sys.modules, sep='\\n')"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "torch", "datasets", "scipy"} & set(told.stdout.split())

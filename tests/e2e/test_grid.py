"""Several models × several benchmarks in one command, under one budget."""

from __future__ import annotations

import json
import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from evalbench.engine.runs.grid import grid_of, set_budget
from tests.e2e.commandline import CommandLine, wait_until
from tests.simulator.handle import Handle

MODELS = ("anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5")
KEY = {"ANTHROPIC_API_KEY": "sk-ant-" + "x" * 24}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Questions of two of the sets, by their names."""
    folder = tmp_path / "data"
    (folder / "truthfulqa").mkdir(parents=True)
    rows = [{"question": f"{n}?", "answer": f"#### {n}"} for n in range(20)]
    (folder / "gsm8k.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [f"{n}?,true,false;wrong,Law" for n in range(20)]
    (folder / "truthfulqa" / "TruthfulQA.csv").write_text(
        "\n".join(["Question,Best Answer,Incorrect Answers,Category", *lines])
    )
    return folder


def test_a_grid_shares_one_budget_and_goes_on_as_one(
    cli: CommandLine, sim: Handle, data: Path
) -> None:
    sim.latency(0.05)
    words = ("--base-url", sim.base_url("anthropic"), "--concurrency", "4", "--yes")
    models = [f"--model={one}" for one in MODELS]
    grid = ("gsm8k", models[0], "truthfulqa", models[1], "--data", str(data))
    told = cli("estimate", *grid, "--shots", "0")
    assert "4 runs" in told.out, told.err
    done = cli("run", *grid, *words, "--shots", "0", "--budget", "0.02", **KEY)
    assert done.code == 3, done.err
    runs = cli.runs()
    assert len(runs) == 4
    spent = sum((one.status().spend_usd or 0) + one.status().possible_usd for one in runs)
    assert 0.001 < spent <= 0.02
    assert all(one.status().budget_usd == 0.02 for one in runs)
    assert {one.spec().get("budget") for one in runs} == {None}

    # One of them alone brings all others, with what they cost together. A limit that they get
    # only then is one for all as well, whichever of those that go on is given it.
    sim.latency(0.5)
    before = sim.summary()["contents"]
    set_budget(runs[0], None)
    resumed = cli("resume", "last", "--detach", **KEY)
    assert resumed.code == 0, resumed.err
    for one in runs:
        if one.live_pid():
            one.command("budget", value=5.0)
    wait_until(lambda: {one.budget for run in runs if (one := grid_of(run))} == {5.0}, "a budget")
    wait_until(lambda: sim.summary()["contents"] > before + 8, "some more replies", seconds=30)
    (pid,) = {pid for one in runs if (pid := one.live_pid())}
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(one.live_pid() for one in runs), "the engine's end", seconds=30)
    more = cli("resume", runs[0].id, **KEY)
    assert more.code == 0, more.err
    assert [(one.status().state, one.status().done) for one in runs] == [("complete", 20)] * 4
    # That of a run that was complete by then is still what it was.
    assert {one.status().budget_usd for one in runs} <= {0.02, 5}
    assert runs[0].status().budget_usd == 5
    total = sum((one.status().spend_usd or 0) for one in runs)
    assert total + sum(one.status().possible_usd for one in runs) <= 5
    assert total > spent
    # Nothing that was answered is asked again; what was in flight at the kill may be.
    answered = sim.summary()["answered"]
    assert answered.get("1", 0) >= 80 - 16
    assert set(answered) <= {"1", "2"}

    (data / "gsm8k.jsonl").unlink()
    again = cli("run", *grid, **KEY)
    assert again.code == 1
    assert "has nothing called gsm8k" in again.err


def test_a_run_short_of_money_goes_on_when_all_get_more(
    cli: CommandLine, sim: Handle, data: Path
) -> None:
    """As long as another run of the grid goes on, it waits, whatever its own next call may cost."""
    sim.latency(0.3)
    urls = {f"{one.upper()}_BASE_URL": sim.base_url(one) for one in ("anthropic", "openai")}
    env = KEY | urls | {"OPENAI_API_KEY": "sk-" + "y" * 40}
    models = ("--model", MODELS[0], "--model", "openai/gpt-5-mini")
    settings = ("--shots", "0", "--concurrency", "1", "--budget", "0.012", "--yes")
    table = str(data / "gsm8k.jsonl")
    command = cli.start("run", "gsm8k", *models, "--data", table, *settings, **env)

    def short() -> bool:
        return any(one.status().gauges.get("short_of_budget") for one in cli.runs())

    wait_until(short, "a run that waits for money")
    dear, cheap = sorted(cli.runs(), key=lambda one: one.status().done)
    assert (dear.status().state, cheap.status().state) == ("running", "running")
    cheap.command("budget", value=5.0)
    done = cli.finish(command)
    assert done.code == 0, done.err
    assert [(one.status().state, one.status().done) for one in cli.runs()] == [("complete", 20)] * 2
    assert sim.summary()["answered"] == {"1": 40}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["realtime", "batch"])
def test_three_models_on_four_benchmarks_killed_twice(
    cli: CommandLine, sim: Handle, data: Path, tmp_path: Path, mode: str
) -> None:
    models = [f'"{one}"' for one in (MODELS[0], "openai/gpt-5-mini", "google/gemini-2.5-flash")]
    suite = tmp_path / "grid.toml"
    suite.write_text(
        f'budget = 2\n[defaults]\nlimit = 20\nmode = "{mode}"\nmodel = [{", ".join(models)}]\n'
        f'[[run]]\nbenchmark = ["gsm8k", "truthfulqa"]\ndata = "{data}"\n'
        '[[run]]\nbenchmark = ["quickstart", "synthetic"]\n'
    )
    env = KEY | {"OPENAI_API_KEY": "sk-" + "y" * 40, "GEMINI_API_KEY": "AIza" + "z" * 35}
    for name, api in {
        "ANTHROPIC": "anthropic",
        "OPENAI": "openai",
        "GOOGLE_GEMINI": "google",
    }.items():
        env[f"{name}_BASE_URL"] = sim.base_url(api)
    sim.latency(0.1)
    command = cli.start("run", str(suite), "--yes", **env)
    dice = random.Random(mode)
    for _ in range(2):
        enough = sim.summary()["requests"] + dice.randint(2, 6 if mode == "batch" else 60)
        wait_until(partial(_asked, sim, enough), "some requests")
        (pid,) = wait_until(
            lambda: {pid for one in cli.runs() if (pid := one.live_pid())}, "engine"
        )
        os.kill(pid, signal.SIGKILL)
        cli.finish(command)
        command = cli.start("resume", "last", **env)
    if mode == "batch":
        # A clock that jumps while a lost batch is looked for would put it out of the time searched.
        wait_until(lambda: len(sim.batches()) >= 12, "all batches")
        wait_until(lambda: sim.advance(120) and command.poll() is not None, "the end of all")
    done = cli.finish(command)
    assert done.code == 0, done.err
    states = [one.status() for one in cli.runs()]
    assert [(one.state, one.done, one.failed) for one in states] == [("complete", 20, 0)] * 12
    assert sum((one.spend_usd or 0) + one.possible_usd for one in states) <= 2
    # What was in flight at a kill may be asked again, but no batch that was accepted.
    answered = sim.summary()["answered"]
    assert sum(answered.values()) == 240
    if mode == "batch":
        assert answered == {"1": 240}


def _asked(sim: Handle, times: int) -> bool:
    return int(sim.summary()["requests"]) >= times


def test_a_suite_names_lists_and_a_budget_of_all(cli: CommandLine, tmp_path: Path) -> None:
    suite = tmp_path / "grid.toml"
    suite.write_text(
        'budget = 2\n[defaults]\nlimit = 3\n[[run]]\nbenchmark = ["quickstart", "synthetic"]\n'
        'model = ["scripted/good", "scripted/better"]\nprice = "3/15"\n'
    )
    done = cli("run", str(suite), "--yes")
    assert done.code == 0, done.err
    assert len(cli.runs()) == 4
    assert {one.status().budget_usd for one in cli.runs()} == {2}
    again = cli("run", str(suite), "--yes")
    assert "4 of the suite's 4 runs are already complete" in again.out
    suite.write_text(suite.read_text().replace("budget = 2", 'budget = "much"'))
    assert cli("run", str(suite)).code == 1
    assert cli("run", "quickstart", "quickstart").code == 1
    for words in (
        ("quickstart", "--model", "scripted/good", "--model", "scripted/good"),
        (str(suite),),
    ):
        suite.write_text(
            '[[run]]\nbenchmark = "quickstart"\nmodel = ["scripted/a", "scripted/a"]\n'
        )
        twice = cli("run", *words, "--yes")
        assert (twice.code, "is named twice" in twice.err) == (1, True), twice.err
    assert len(cli.runs()) == 4

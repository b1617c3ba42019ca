"""Scoring that does not end: it fails its sample, and whoever wants the run's end gets it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from evalbench import open_run
from evalbench.engine.calls import Outcome
from evalbench.engine.config import registry
from evalbench.engine.execution.rescoring import rescore
from evalbench.engine.journal import JournalReader
from evalbench.engine.runs.folder import RunFolder, all_runs
from evalbench.tui.state.run_follower import RunFollower
from tests.faults.engines import LONG_S, Engines, replied, scores, wait_until
from tests.unit.engine.plugins import Installed

SOURCE = """
import os
from evalbench_testing import Synthetic

class Looping(Synthetic):
    name = "looping"
    scoring_seconds = int(os.environ.get("SCORING_SECONDS", 3))

    async def solve(self, sample, ask):
        score = await super().solve(sample, ask)
        if sample.inputs["question"].startswith("Riddle 3:"):
            self.hang()
        return score

    def hang(self):
        while "LOOPS_NOT" not in os.environ:
            try:
                pass
            except Exception:
                pass

class Stuck(Looping):
    name = "stuck"

    def hang(self):
        if "LOOPS_NOT" not in os.environ:
            sum(iter(int, 1))  # looks for no signal, and gives nobody a turn
"""

# The next one is asked before the fourth is scored, and may be answered.
NAMED = r"\(it (scores sample 4|may be scoring one of the samples 4, 5)\)"
CLI = (sys.executable, "-m", "evalbench.tui.cli.main")


@pytest.fixture
def plugin(engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Engines that find two benchmarks whose third sample is never scored."""
    folder = tmp_path / "site"
    folder.mkdir()
    Installed(folder).add(
        "hanging", SOURCE, "evalbench.benchmarks", looping="Looping", stuck="Stuck"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}")
    registry._found.cache_clear()
    return engines


def hanging(run: RunFolder) -> None:
    """Wait until the fourth sample is being scored, for ever."""
    wait_until(lambda: replied(run).total() >= 4, "answers")


def test_scoring_without_end_fails_its_sample_alone(plugin: Engines) -> None:
    run = plugin.start(plugin.spec("looping", size=12))
    status = plugin.finish(run)
    assert (status.state, status.exit_code) == ("complete", 2)
    assert (status.done, status.failed) == (12, 1)
    assert status.errors == {"ScoringTimeout": 1}
    with JournalReader(run.journal) as journal:
        (failed,) = [score for score in journal.scores() if score.outcome is Outcome.ERROR]
    assert failed.row == 4
    assert failed.detail == {"error": "ScoringTimeout: scoring took longer than 3 s"}
    log = run.engine_log.read_text()
    assert "Traceback" not in log
    assert plugin.ledger.asked().total() == 12


@pytest.mark.slow
def test_a_long_step_is_shown_with_its_sample(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORING_SECONDS", "3600")
    run = plugin.start(plugin.spec("looping", size=12))
    scoring = wait_until(lambda: run.status().gauges.get("scoring"), "word of it")
    assert scoring["row"] == 4
    os.kill(plugin.pid, signal.SIGTERM)
    assert plugin.wait() == 4
    status = run.status()
    # Interrupted for the stop: it has neither failed nor a score.
    assert (status.state, status.failed) == ("stopped", 0)
    assert status.done < 12
    assert [file.name for file in run.path.glob("journal*")] == ["journal.db"]


@pytest.mark.share(2)
@pytest.mark.parametrize(("benchmark", "killed"), [("looping", False), ("stuck", True)])
def test_stop_ends_an_engine_that_does_not_answer(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch, benchmark: str, killed: bool
) -> None:
    monkeypatch.setenv("SCORING_SECONDS", "3600")
    run = plugin.start(plugin.spec(benchmark, size=12, concurrency=1))
    hanging(run)
    done = subprocess.run(
        [*CLI, "stop", run.id, "--now"], capture_output=True, text=True, timeout=LONG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"resume it with: evalbench resume {run.id}" in done.stdout
    if killed:
        assert re.search(rf"was killed {NAMED}", done.stdout)
        assert plugin.wait() == -signal.SIGKILL
        assert f"{run.id} is interrupted" in done.stdout
    else:
        assert plugin.wait() == 4
        assert f"{run.id} is stopped" in done.stdout
    assert replied(run).total() == plugin.ledger.answered().total() < 12
    monkeypatch.setenv("LOOPS_NOT", "1")
    assert plugin.finish(plugin.resume(run)).done == 12
    assert plugin.ledger.asked().total() == 12


def test_a_program_that_waits_for_a_stop_sees_to_it(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCORING_SECONDS", "3600")
    run = plugin.start(plugin.spec("stuck", size=12, concurrency=1))
    hanging(run)
    program = open_run(run.id)
    program.stop()
    program.stop()
    assert program.wait(LONG_S).state == "interrupted"
    assert plugin.wait() == -signal.SIGKILL
    assert replied(run).total() < 12


@pytest.mark.slow
@pytest.mark.share(4)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("tied", ["--foreground", "--json"])
def test_a_second_signal_ends_a_run_whose_engine_is_stuck(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, tied: str
) -> None:
    words = ("run", "stuck", "--model", "scripted/good", "--concurrency", "1", tied)
    with subprocess.Popen(
        [*CLI, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        try:
            run = wait_until(lambda: next(iter(all_runs()), None), "a run")
            hanging(run)
            child.send_signal(number)
            wait_until(run.unanswered, "a request that nobody takes")
            child.send_signal(number)
            said, _ = child.communicate(timeout=LONG_S)
        finally:
            child.kill()
    assert child.returncode == 4
    assert re.search(rf"did not end and was killed {NAMED}", said)
    assert f"evalbench resume {run.id}" in said
    assert run.live_pid() is None
    assert replied(run).total() == plugin.ledger.answered().total()


@pytest.mark.slow
def test_scoring_anew_fails_what_does_not_end(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPS_NOT", "1")
    run = plugin.start(plugin.spec("looping", size=6))
    assert plugin.finish(run).failed == 0
    before = scores(run)
    monkeypatch.delenv("LOOPS_NOT")
    done = asyncio.run(rescore(run))
    assert (done.scored, done.changed, done.failed) == (6, 1, 1)
    assert run.status().failed == 1
    changed = [key for key, score in scores(run).items() if score != before[key]]
    assert len(changed) == 1
    monkeypatch.setenv("LOOPS_NOT", "1")
    assert asyncio.run(rescore(run)).changed == 1
    assert scores(run) == before
    assert RunFollower(run).exit_code == 0


@pytest.mark.slow
def test_a_second_ctrl_c_ends_scoring_anew_that_is_stuck(
    plugin: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPS_NOT", "1")
    run = plugin.start(plugin.spec("stuck", size=6))
    plugin.finish(run)
    before = scores(run)
    monkeypatch.delenv("LOOPS_NOT")
    with subprocess.Popen([*CLI, "score", run.id]) as child:
        try:
            wait_until(lambda: _is_locked(run), "the lock")
            wait_until(lambda: _computes(child.pid), "the loop")
            for _ in range(2):
                child.send_signal(signal.SIGINT)
                wait_until(
                    lambda: child.poll() is not None or not _is_pending(child.pid, signal.SIGINT),
                    "the signal",
                )
            assert child.wait(LONG_S) in (-signal.SIGINT, 4)
        finally:
            child.kill()
    assert scores(run) == before
    monkeypatch.setenv("LOOPS_NOT", "1")
    assert asyncio.run(rescore(run)).changed == 0


def _is_locked(run: RunFolder) -> bool:
    with (run.path / "lock").open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _computes(pid: int) -> bool:
    """Whether a process has nothing left to do but compute: a second of it, at one go."""
    process = psutil.Process(pid)
    before = process.num_ctx_switches().voluntary
    begun = process.cpu_times().user
    wait_until(lambda: process.cpu_times().user - begun > 0.5, "CPU time")
    return bool(process.num_ctx_switches().voluntary == before)


def _is_pending(pid: int, number: signal.Signals) -> bool:
    """Whether a signal has not been delivered to a process yet."""
    told = Path(f"/proc/{pid}/status").read_text()
    masks = re.findall(r"^S[ih][gd]Pnd:\s*([0-9a-f]+)", told, re.MULTILINE)
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)

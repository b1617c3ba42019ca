"""How engines end, and who may end them: signals, starters that die, engines that meet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalbench.engine.errors import RunBusy
from evalbench.engine.journal import JournalReader
from evalbench.engine.process.launch import stop_run
from evalbench.engine.runs.folder import RunFolder, all_runs
from tests.faults.engines import Engines, replied, wait_until


def answering(engines: Engines, answers: int = 10) -> None:
    wait_until(lambda: engines.ledger.answered().total() >= answers, "answers")


def rests_in_one_file(run: RunFolder) -> bool:
    return [file.name for file in run.path.glob("journal*")] == ["journal.db"]


def test_a_signal_stops_the_run_cleanly(engines: Engines) -> None:
    run = engines.start(engines.spec(size=150, concurrency=2))
    answering(engines)
    os.kill(engines.pid, signal.SIGTERM)
    assert engines.wait() == 4
    status = run.status()
    assert (status.state, status.exit_code, status.problem) == ("stopped", 4, "")
    assert 0 < status.done < 150
    assert rests_in_one_file(run)
    # Everything that was answered is there: a stop waits for what is on the wire.
    assert replied(run) == engines.ledger.answered()
    with JournalReader(run.journal) as reader:
        assert reader.meta("state") == "stopped"
        assert [event.kind for event in reader.events()][-1] == "ended"
    engines.resume(run)
    assert engines.finish(run).state == "complete"
    assert engines.ledger.asked().total() == 150


def test_a_signal_right_after_the_start_stops_the_run(engines: Engines) -> None:
    run = engines.start(engines.spec(concurrency=4))
    os.kill(engines.pid, signal.SIGINT)
    assert engines.wait() == 4
    assert run.status().state == "stopped"
    assert rests_in_one_file(run)


def test_a_hang_up_changes_nothing(engines: Engines) -> None:
    run = engines.start(engines.spec(size=100, concurrency=4))
    answering(engines)
    os.kill(engines.pid, signal.SIGHUP)
    status = engines.finish(run)
    assert (status.state, status.done) == ("complete", 100)


_STARTER = """
import json, sys
from evalbench.engine.process.launch import launch_runs
from evalbench.engine.config.spec import make_spec
engine = launch_runs(make_spec("synthetic", "scripted/good", options={"size": 100}, concurrency=4))
print(json.dumps([engine.pid, str(engine.runs[0].path)]), flush=True)
sys.stdin.read()
"""


@pytest.mark.share(2)
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGHUP])
def test_an_engine_outlives_its_starter_and_its_session(
    engines: Engines, sign: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as starter:
        assert starter.stdout
        pid, path = json.loads(starter.stdout.readline())
        assert os.getsid(pid) != os.getsid(starter.pid)
        os.killpg(starter.pid, sign)
    run = RunFolder(Path(path))
    assert run.live_pid() == pid
    wait_until(lambda: run.status().at_rest, "the run's end")
    assert (run.status().state, run.status().done) == ("complete", 100)


def test_a_foreground_engine_ends_with_its_starter(engines: Engines) -> None:
    run = engines.start(engines.spec(concurrency=4), foreground=True)
    answering(engines)
    hold = engines.started[-1].hold
    assert hold is not None
    hold.close()
    assert engines.wait() == 4
    assert run.status().state == "stopped"


def test_a_second_engine_is_refused_and_the_first_is_not_disturbed(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "1")
    run = engines.start(engines.spec(size=40, concurrency=8))
    with pytest.raises(RunBusy, match="already being driven") as caught:
        engines.resume(run)
    assert str(engines.pid) in str(caught.value)
    status = engines.finish(run)
    assert (status.state, status.done) == ("complete", 40)
    assert set(engines.ledger.asked().values()) == {1}


def test_a_pause_rests_with_everything_that_was_on_its_way(engines: Engines) -> None:
    run = engines.start(engines.spec(concurrency=4))
    answering(engines)
    assert stop_run(run, pause=True)
    status = engines.finish(run)
    assert (status.state, status.exit_code) == ("paused", 4)
    assert replied(run) == engines.ledger.asked()
    assert not stop_run(run)


def test_a_command_that_came_too_late_does_not_stop_the_next_engine(engines: Engines) -> None:
    run = engines.start(engines.spec(size=60, concurrency=4))
    answering(engines)
    engines.end()
    run.command("stop")
    engines.resume(run)
    status = engines.finish(run)
    assert (status.state, status.done) == ("complete", 60)


@pytest.mark.slow
def test_calls_that_never_end_do_not_keep_a_stop_waiting(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_LATENCY", "3600")
    run = engines.start(engines.spec(size=30, concurrency=4))
    wait_until(lambda: engines.ledger.asked().total() == 4, "calls on the wire")
    begun = time.monotonic()
    os.kill(engines.pid, signal.SIGTERM)
    assert engines.wait() == 4
    assert time.monotonic() - begun < 20
    assert (run.status().state, run.status().done) == ("stopped", 0)
    assert rests_in_one_file(run)


def test_many_runs_in_one_engine_end_on_their_own(engines: Engines) -> None:
    specs = [engines.spec(size=size, concurrency=4) for size in (20, 40)]
    first = engines.start(specs)
    assert engines.wait() == 0
    runs = all_runs()
    assert first.path in [run.path for run in runs]
    assert sorted(run.status().done for run in runs) == [20, 40]
    assert {run.status().state for run in runs} == {"complete"}

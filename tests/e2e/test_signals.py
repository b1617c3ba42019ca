"""What signals do to a command and to the run it watches, without a terminal."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.e2e.schema import check_line

LONG = ("run", "synthetic", "--model", "scripted/good", "--concurrency", "4")


@pytest.mark.share(2)
@pytest.mark.cold
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_job_leaves_no_engine(slow: CommandLine, number: signal.Signals) -> None:
    child = slow.start(*LONG, "--json")
    run = slow.answering()
    child.send_signal(number)
    done = slow.finish(child)
    assert done.code == 4
    for line in done.lines:
        check_line(line)
    assert done.lines[-1]["state"] == "stopped"
    assert run.live_pid() is None
    assert run.status().state == "stopped"


@pytest.mark.cold
def test_hangup_leaves_the_run_alive(slow: CommandLine) -> None:
    child = slow.start(*LONG, "--json")
    run = slow.answering()
    child.send_signal(signal.SIGHUP)
    done = slow.finish(child)
    assert done.code == 0
    assert done.lines[-1] == {"event": "detached", "run": run.id, "pid": run.live_pid()}
    before = run.status().done
    wait_until(lambda: run.status().done > before, "further scores")


@pytest.mark.slow
@pytest.mark.cold
def test_a_hangup_before_the_start_does_not_prevent_it(slow: CommandLine) -> None:
    child = slow.start(*LONG, "--json", SYNTHETIC_PREPARE_S="2")
    wait_until(slow.desk_pid(child), "the desk")
    child.send_signal(signal.SIGHUP)
    done = slow.finish(child)
    assert done.lines[-1]["event"] == "detached"
    assert slow.only_run().live_pid()


@pytest.mark.cold
@pytest.mark.share(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_cancelled_before_the_start_nothing_is_asked(
    slow: CommandLine, number: signal.Signals
) -> None:
    child = slow.start(*LONG, "--json", SYNTHETIC_PREPARE_S="60")
    desk = wait_until(slow.desk_pid(child), "the desk")
    child.send_signal(number)
    done = slow.finish(child)
    assert done.code == 4
    assert done.lines[-1]["event"] == "error"
    assert "stopped before anything was asked" in done.err
    assert slow.runs() == []
    wait_until(lambda: not psutil.pid_exists(desk), "the desk to end")


@pytest.mark.share(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_guest_only_leaves(slow: CommandLine, number: signal.Signals) -> None:
    slow(*LONG, "--detach")
    run = slow.only_run()
    guest = slow.start("attach", run.id, "--json")
    assert guest.stdout
    assert '"start"' in guest.stdout.readline()
    guest.send_signal(number)
    done = slow.finish(guest)
    assert done.code == 0
    assert done.lines[-1]["event"] == "detached"
    assert run.live_pid()


@pytest.mark.share(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_tied_run_stops_whatever_the_signal(slow: CommandLine, number: signal.Signals) -> None:
    child = slow.start(*LONG, "--foreground")
    run = slow.answering()
    child.send_signal(number)
    assert slow.finish(child).code == 4
    assert run.status().state == "stopped"


@pytest.mark.slow
@pytest.mark.cold
def test_an_ignored_hangup_stays_ignored(slow: CommandLine) -> None:
    code = (
        "import signal, runpy, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "sys.argv = ['evalbench', *sys.argv[1:]];"
        "runpy.run_module('evalbench.tui.cli.main', run_name='__main__')"
    )
    child = slow.start_python("-c", code, *LONG, "--limit", "30", "--json")
    slow.answering()
    child.send_signal(signal.SIGHUP)
    done = slow.finish(child)
    assert done.lines[-1]["event"] == "end"


@pytest.mark.slow
@pytest.mark.cold
def test_an_engine_that_is_killed_is_told(slow: CommandLine) -> None:
    child = slow.start(*LONG, "--json")
    run = slow.answering()
    os.kill(wait_until(run.live_pid, "an engine"), signal.SIGKILL)
    done = slow.finish(child)
    assert done.code == 6
    end = done.lines[-1]
    check_line(end)
    assert (end["state"], end["exit_code"]) == ("interrupted", 6)
    assert "engine" in end["problem"]
    listed = slow("runs", "--json").lines[0]
    assert (listed["state"], listed["pid"]) == ("interrupted", None)
    shown = slow("show", run.id)
    assert "interrupted" in shown.out
    assert f"evalbench resume {run.id}" in shown.out
    attached = slow("attach", run.id)
    assert attached.code == 6
    resumed = slow("resume", run.id, "--json", SCRIPTED_LATENCY="0")
    assert resumed.code == 0
    assert resumed.lines[-1]["done"] == 500

"""Commands that tests fork are processes like those that they start."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine, Finished, wait_until


def is_forked(pid: int) -> bool:
    return "warm.py" in Path(f"/proc/{pid}/cmdline").read_text()


needs_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="commands are started")


@needs_linux
@pytest.mark.skipif("EVALBENCH_TESTS_COLD" in os.environ, reason="commands are started")
def test_a_command_is_a_child_in_a_group_of_its_own_and_can_be_killed(slow: CommandLine) -> None:
    child = slow.start("run", "synthetic", "--model", "scripted/good", "--size", "400")
    run = slow.answering()
    assert is_forked(child.pid)
    assert os.getpgid(child.pid) == child.pid
    engine = run.live_pid()
    assert engine
    assert is_forked(engine)
    assert os.getsid(engine) == engine
    child.kill()
    assert child.wait(60) == -signal.SIGKILL
    assert run.live_pid() == engine
    os.kill(engine, signal.SIGKILL)
    wait_until(lambda: run.live_pid() is None, "the engine's end")


@pytest.mark.parametrize(
    "words",
    [("parse", "mt-bench-pair"), ("runs",), ("--version",), ("rnu",), ("show", "none", "--json")],
)
def test_it_says_what_a_started_one_says(cli: CommandLine, words: tuple[str, ...]) -> None:
    asked = '{"id": 1, "reply": "[[B]]"}\n'
    forked = cli.feed(asked, *words)
    # A variable that Python reads at its start calls for a Python that starts.
    started = cli.feed(asked, *words, PYTHONUNBUFFERED="1")
    assert forked == started
    assert forked.out or forked.err


def test_what_is_no_command_is_started(cli: CommandLine) -> None:
    code = "import sys; print('boto3' in sys.modules); sys.exit(3)"
    child = cli.start_python("-c", code, stdin=subprocess.DEVNULL)
    assert cli.finish(child) == Finished(3, "False\n", "")

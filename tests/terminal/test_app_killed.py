"""kill -9 of the app while a run goes on: the run does not notice, the terminal is given back."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from functools import partial

import psutil
import pytest

from evalbench.engine.runs.folder import RunFolder
from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal
from tests.terminal.test_guard import assert_usable

pytestmark = pytest.mark.terminal

SEED = int(os.environ.get("EVALBENCH_KILL_SEED", "20261"))
RUN = (
    "run",
    "synthetic",
    "--model",
    "scripted/good",
    "--size",
    "5000",
    "--concurrency",
    "8",
    "--detach",
)
KILLS = 3


def app_in(window: Terminal) -> psutil.Process:
    """The process that draws, as soon as it is there; its parent guards the terminal."""
    shell = psutil.Process(int(window.ask("pane_pid")))

    def found() -> psutil.Process | None:
        for guard in shell.children():
            with contextlib.suppress(psutil.NoSuchProcess):  # ``clear``, which was there before it
                for app in guard.children():
                    return app
        return None

    app: psutil.Process = wait_until(found, "the app")
    return app


def has_done(run: RunFolder, samples: int) -> bool:
    """Whether so many samples have a score."""
    return run.status().done >= samples


@pytest.mark.parametrize("seed", [SEED])
def test_the_run_goes_on_and_a_new_app_opens_it(
    terminal: Callable[..., Terminal], slow: CommandLine, seed: int
) -> None:
    slow(*RUN, SCRIPTED_LATENCY="1")
    run = slow.answering()
    engine = run.live_pid()
    window, dice = terminal(), random.Random(seed)
    for _ in range(KILLS):
        window.type("clear; evalbench attach last; echo exit $?")
        app = app_in(window)
        if dice.random() < 2 / 3:  # else before its first frame
            window.wait_for("▸ running")
            later = run.status().done + dice.randrange(1, 20)
            wait_until(partial(has_done, run, later), "further scores")
        app.kill()
        window.wait_for("exit 137")
        assert_usable(window)
        assert run.live_pid() == engine
        wait_until(partial(has_done, run, run.status().done + 1), "further scores")
    window.type("clear; evalbench attach last; echo exit $?")
    window.wait_for("▸ running")
    window.press("q")
    window.wait_for("exit 0")
    assert run.status().failed == 0

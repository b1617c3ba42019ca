"""``evalbench`` in processes of its own, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalbench.engine.keys import strip_environment
from evalbench.engine.runs.folder import RunFolder, all_runs

PLUGINS = Path(__file__).parents[1] / "plugins"
LONG_S = 200.0
# A command that a test runs in this process sets these for its libraries.
_LEFT_BY_COMMANDS = (
    *("HF_HUB_VERBOSITY", "HF_HUB_DISABLE_PROGRESS_BARS"),
    *("TRANSFORMERS_VERBOSITY", "DATASETS_VERBOSITY"),
)


def wait_until(condition: Callable[[], Any], what: str, seconds: float = LONG_S) -> Any:
    """The first true value of ``condition``; fails when there is none in time."""
    end = time.monotonic() + seconds
    pause = 0.01
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"waited {seconds} s in vain for {what}")
        time.sleep(pause)
        pause = min(1.5 * pause, 0.05)
    return value


def commands_environment() -> dict[str, str]:
    """The variables of commands: nothing of this process's that matters, and the test plug-ins."""
    return plain_environment() | {"PYTHONPATH": str(PLUGINS), "TERM": "dumb"}


def plain_environment() -> dict[str, str]:
    """This process's environment without keys and what would change how commands behave."""
    return {
        name: value
        for name, value in strip_environment(os.environ).items()
        if not name.startswith(("SCRIPTED_", "SYNTHETIC_")) and name not in _LEFT_BY_COMMANDS
    }


def alike(metrics: dict[str, Any]) -> dict[str, Any]:
    """Metrics that equal others but for the order in which their numbers were added up."""
    return {
        name: {
            part: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            for part, value in metric.items()
        }
        for name, metric in metrics.items()
    }


@dataclass
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class CommandLine:
    """``evalbench`` in processes of its own, with the test plug-ins installed.

    Call it to run a command to its end; :meth:`start` starts one. ``env`` is
    the environment of both, to be changed by tests.
    """

    home: Path
    env: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(self, *words: str, **env: str) -> Finished:
        return self.finish(self.start(*words, **env))

    def feed(self, text: str, *words: str, **env: str) -> Finished:
        """Run a command to its end with a text on its standard input."""
        child = self.start_python(
            "-m", "evalbench.tui.cli.main", *words, stdin=subprocess.PIPE, **env
        )
        out, err = child.communicate(text, timeout=LONG_S)
        return Finished(child.returncode, out, err)

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """Start a command without a terminal, in a process group of its own."""
        return self.start_python(
            "-m", "evalbench.tui.cli.main", *words, stdin=subprocess.DEVNULL, **env
        )

    def start_python(
        self, *words: str, stdin: int = subprocess.DEVNULL, **env: str
    ) -> subprocess.Popen[str]:
        """Start Python in the environment of the commands."""
        child = subprocess.Popen(
            [sys.executable, *words],
            env={**self.env, **env},
            cwd=self.home.parent,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.started.append(child)
        return child

    def desk_pid(self, child: subprocess.Popen[str]) -> Callable[[], int | None]:
        """Gives the process id of the preflight that a command waits for, once there is one."""

        def look() -> int | None:
            for process in psutil.Process(child.pid).children():
                if "evalbench.engine.preflight.child" in process.cmdline():
                    return process.pid
            return None

        return look

    def finish(self, child: subprocess.Popen[str]) -> Finished:
        """Wait for a command to end."""
        out, err = child.communicate(timeout=LONG_S)
        return Finished(child.returncode, out, err)

    def runs(self) -> list[RunFolder]:
        """The runs in this home, newest first."""
        return all_runs(self.home / "runs")

    def only_run(self) -> RunFolder:
        """The one run there is, as soon as its engine drives it."""
        folders: list[RunFolder] = wait_until(self.runs, "a run folder")
        assert len(folders) == 1
        wait_until(lambda: folders[0].status().pid, "an engine")
        return folders[0]

    def answering(self) -> RunFolder:
        """The one run there is, as soon as something is scored."""
        folder = self.only_run()
        wait_until(lambda: folder.status().done, "a score")
        return folder

    def clean_up(self) -> None:
        """End whatever a test left behind."""
        for child in self.started:
            if child.poll() is None:
                child.kill()
                child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()
        for folder in self.runs():
            if pid := folder.live_pid():
                os.kill(pid, signal.SIGKILL)

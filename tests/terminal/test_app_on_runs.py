"""``run``, ``resume`` and ``attach`` open the app on a terminal, and sum up when it is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

RUN = "evalbench run synthetic --model scripted/good --concurrency 4 --yes"
OpenTerminal = Callable[..., Terminal]


def test_a_run_is_left_and_attached_to_again(terminal: OpenTerminal, slow: CommandLine) -> None:
    window = terminal()
    window.type(f"clear; {RUN}; echo exit $?")
    window.wait_for("score and outcomes")
    window.wait_for("synthetic × scripted/good")
    run = slow.answering()
    window.press("q")
    shown = window.wait_for("exit 0")
    assert f"{run.id} keeps running" in shown
    assert f"evalbench attach {run.id}" in shown
    assert "score and outcomes" not in shown
    before = run.status().done
    wait_until(lambda: run.status().done > before, "further scores")
    window.type("clear; evalbench attach last; echo exit $?")
    window.wait_for("▸ running")
    window.press("s")
    window.wait_for("– stopped")
    window.press("Escape")
    shown = window.wait_for("exit 4")
    assert "stopped: synthetic × scripted/good" in shown
    assert f"evalbench resume {run.id}" in shown


def test_an_ended_run_gives_its_own_exit_code(terminal: OpenTerminal) -> None:
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {RUN} --limit 20; echo exit $?")
    window.wait_for("✓ complete")
    window.press("q")
    shown = window.wait_for("exit 0")
    assert "complete: synthetic × scripted/good, 20 of 20 samples" in shown


def test_a_resumed_run_is_shown_too(terminal: OpenTerminal, slow: CommandLine) -> None:
    run = slow.start("run", "synthetic", "--model", "scripted/good", "--concurrency", "4")
    folder = slow.answering()
    slow("stop", folder.id)
    slow.finish(run)
    window = terminal()
    window.type(f"clear; evalbench resume {folder.id}; echo exit $?")
    window.wait_for("▸ running")
    window.press("q")
    assert f"{folder.id} keeps running" in window.wait_for("exit 0")


@pytest.mark.parametrize("flag", ["--no-ui", "--foreground"])
def test_who_wants_no_app_gets_the_block(terminal: OpenTerminal, flag: str) -> None:
    window = terminal()
    window.type(f"clear; {RUN} {flag} --limit 100")
    window.wait_for("Ctrl-C: ")


def test_attach_without_the_app(terminal: OpenTerminal, slow: CommandLine) -> None:
    slow("run", "synthetic", "--model", "scripted/good", "--concurrency", "2", "--detach")
    slow.answering()
    window = terminal()
    window.type("clear; evalbench attach last --no-ui")
    window.wait_for("Ctrl-C: leave it running, or stop it")


def test_a_dumb_terminal_gets_no_app(terminal: OpenTerminal, slow: CommandLine) -> None:
    slow("run", "synthetic", "--model", "scripted/good", "--limit", "5", SCRIPTED_LATENCY="0")
    window = terminal()
    window.type("clear; TERM=dumb evalbench attach last; echo exit $?")
    shown = window.wait_for("exit 0")
    assert "complete: synthetic × scripted/good" in shown


def test_several_runs_open_the_list(terminal: OpenTerminal) -> None:
    window = terminal(columns=100)
    window.type(f"clear; {RUN} --model scripted/better; echo exit $?")
    window.wait_for("2 running")
    window.wait_for("scripted/better")
    window.press("q")
    shown = window.wait_for("exit 0")
    assert shown.count("keeps running") == 2

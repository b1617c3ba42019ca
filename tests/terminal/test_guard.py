"""Whatever ends the app, the terminal is as it was: modes off, echo on, the shell usable."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

OpenTerminal = Callable[..., Terminal]

KEY = "sk-ant-api03-planted0123456789"
CRASHING = f"""
import sys
from evalbench.tui.screens.home import HomePage

def tick(page):
    secret = "{KEY}"
    raise RuntimeError("a fault of ours")

HomePage.tick = tick
from evalbench.tui.cli.main import main
sys.exit(main([]))
"""


LOOKS = itertools.count(1)


@pytest.fixture
def window(terminal: OpenTerminal, slow: CommandLine) -> Terminal:
    """A terminal for the app; the welcome was seen."""
    config = slow.home / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("welcomed = true\n")
    return terminal()


def open_app(window: Terminal, command: str = "evalbench") -> tuple[int, int]:
    """Open the app; process ids of its guard and itself."""
    window.type(f"clear; {command}; echo exit $?")
    window.wait_for("No runs yet. Press n to start one.")
    assert window.ask("alternate_on") == "1"
    assert window.ask("mouse_any_flag") == "1"
    shell = psutil.Process(int(window.ask("pane_pid")))
    guard = wait_until(shell.children, "the guard")[0]
    return guard.pid, wait_until(guard.children, "the app")[0].pid


def assert_usable(window: Terminal) -> None:
    """The shell has its terminal back as it was."""
    wait_until(lambda: window.ask("alternate_on") == "0", "the shell's own screen", 10)
    wait_until(lambda: window.ask("mouse_any_flag") == "0", "the mouse to be given back", 10)
    wait_until(lambda: window.ask("cursor_flag") == "1", "a cursor", 10)
    # What an earlier look has left on the screen is not taken for this one.
    look = next(LOOKS)
    window.type(f"clear; stty -a | tr ';' ' '; echo us''able {look}")
    shown = window.wait_for(f"usable {look}\nready>")
    words = shown.split()
    for mode in ("echo", "icanon", "isig", "opost", "icrnl"):
        assert mode in words, shown
    # Only a terminal that echoes shows what is typed.
    window.type(": echoed")
    assert "[<" not in window.wait_for("ready> : echoed")


def test_leaving_by_key(window: Terminal) -> None:
    open_app(window)
    window.press("q")
    window.wait_for("exit 0")
    assert_usable(window)


@pytest.mark.parametrize("sign", ["TERM", "HUP", "INT", "QUIT", "KILL"])
def test_a_signal_to_the_app(window: Terminal, sign: str) -> None:
    _, app = open_app(window)
    psutil.Process(app).send_signal(signal.Signals[f"SIG{sign}"])
    window.wait_for("exit 137" if sign == "KILL" else "exit 0")
    assert_usable(window)


@pytest.mark.parametrize("sign", ["TERM", "HUP", "INT", "QUIT"])
def test_a_signal_to_the_guard(window: Terminal, sign: str) -> None:
    guard, app = open_app(window)
    psutil.Process(guard).send_signal(signal.Signals[f"SIG{sign}"])
    window.wait_for("exit 0")
    assert not psutil.pid_exists(app)
    assert_usable(window)


def test_the_app_does_not_outlive_its_guard(window: Terminal) -> None:
    guard, app = open_app(window)
    psutil.Process(guard).kill()
    # What the shell says at once goes with the app's screen.
    wait_until(lambda: not psutil.pid_exists(app), "the app's end", 10)
    assert_usable(window)


def test_an_app_that_is_stuck_when_told_to_end_is_killed(window: Terminal, tmp_path: Path) -> None:
    script = tmp_path / "stuck.py"
    script.write_text(CRASHING.replace("raise RuntimeError", "__import__('time').sleep(600) #"))
    window.type(f"clear; {sys.executable} {script}; echo exit $?")
    wait_until(lambda: window.ask("alternate_on") == "1", "the app")
    shell = psutil.Process(int(window.ask("pane_pid")))
    wait_until(shell.children, "the guard")[0].terminate()
    window.wait_for("exit 1")
    assert_usable(window)


def test_suspending_and_coming_back(window: Terminal) -> None:
    open_app(window)
    window.press("C-z")
    wait_until(lambda: window.ask("alternate_on") == "0", "the shell")
    assert_usable(window)
    window.type("fg; echo exit $?")
    window.wait_for("No runs yet. Press n to start one.")
    assert window.ask("alternate_on") == "1"
    window.press("F4")
    window.wait_for("evalbench · Models")
    window.press("C-q")
    window.wait_for("exit 0")
    assert_usable(window)


def test_a_crash_is_reported_without_what_variables_held(
    window: Terminal, slow: CommandLine, tmp_path: Path
) -> None:
    script = tmp_path / "crashing.py"
    script.write_text(CRASHING)
    window.type(f"clear; {sys.executable} {script}; echo exit $?")
    shown = window.wait_for("exit 6")
    assert "error: evalbench crashed: RuntimeError: a fault of ours" in shown
    assert KEY[-8:] not in shown
    reports = list((slow.home / "cache" / "crashes").iterdir())
    assert len(reports) == 1
    assert "in tick" in reports[0].read_text()
    for file in slow.home.rglob("*"):
        assert file.is_dir() or KEY[-8:] not in file.read_text(errors="replace"), file
    assert_usable(window)


def test_a_fault_before_the_first_frame_is_told_too(window: Terminal, tmp_path: Path) -> None:
    script = tmp_path / "early.py"
    script.write_text(CRASHING.replace("HomePage.tick = tick", "HomePage.__init__ = tick"))
    window.type(f"clear; {sys.executable} {script}; echo exit $?")
    assert "a fault of ours" in window.wait_for("exit 6")
    assert_usable(window)


def test_closing_the_terminal_ends_the_app(window: Terminal) -> None:
    guard, app = open_app(window)
    window.close()
    wait_until(lambda: not psutil.pid_exists(app), "the app's end", 20)
    wait_until(lambda: not psutil.pid_exists(guard), "the guard's end", 20)

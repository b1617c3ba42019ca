"""The app on real terminals: from a cold start to a wrong answer, in every size and colour."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import partial

import psutil
import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal
from tests.terminal.test_app_killed import app_in

pytestmark = pytest.mark.terminal

OpenTerminal = Callable[..., Terminal]
RUN = "evalbench run synthetic --model scripted/good --concurrency 4 --yes"


@pytest.fixture
def welcomed(slow: CommandLine) -> CommandLine:
    """The welcome was seen."""
    config = slow.home / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("welcomed = true\n")
    return slow


def test_a_benchmark_from_a_cold_start_by_keyboard_alone(
    terminal: OpenTerminal, slow: CommandLine
) -> None:
    window = terminal(columns=80, rows=24)
    window.type("clear; evalbench; echo exit $?")
    window.wait_for("Welcome to evalbench")
    window.press("n")
    window.wait_for("quickstart")
    window.type("synth")
    window.wait_for("synthetic ×")
    window.type("scripted")
    window.wait_for("better")
    window.type("goo")
    window.wait_for("synthetic × scripted/good")
    window.wait_for("--limit: number of samples")
    window.write("40")
    window.wait_for("40 samples")
    assert "--limit 40" in window.screen()
    window.press("F9")
    window.wait_for("The cost is unknown. Start?")
    window.press("y")
    window.wait_for("score and outcomes")
    run = slow.answering()
    window.press("C-q")
    window.wait_for("exit 0")

    second = terminal(columns=80, rows=24)
    second.type("clear; evalbench attach last; echo exit $?")
    second.wait_for("✓ complete")
    assert run.status().done == 40
    second.press("a")
    second.wait_for("Riddle 0")
    second.press("w")
    second.wait_for("only wrong")
    second.press("Enter")
    second.wait_for("Answer the riddle with one letter")
    second.press("F6")
    second.wait_for("evalbench-light")
    second.press("Down")
    second.press("Enter")
    config = slow.home / "config" / "config.toml"
    wait_until(
        lambda: tomllib.loads(config.read_text()).get("theme") == "evalbench-light", "the theme"
    )
    second.press("C-q")
    second.wait_for("exit 0")


@pytest.mark.usefixtures("welcomed")
def test_the_window_may_have_any_size_at_any_time(terminal: OpenTerminal) -> None:
    window = terminal(columns=200, rows=60)
    window.type("clear; evalbench; echo exit $?")
    window.wait_for("No runs yet")
    for key, text in (("F2", "Home"), ("F4", "Models"), ("F6", "Settings"), ("F3", "New run")):
        window.press(key)
        window.wait_for(f"evalbench · {text}")
        for columns, rows in ((20, 5), (59, 30), (200, 15)):
            window.resize(columns, rows)
            window.wait_for("60×16.")
        window.resize(200, 60)
        window.wait_for(f"evalbench · {text}")
    window.resize(20, 5)
    window.wait_for("60×16.")
    window.resize(80, 24)
    window.wait_for("evalbench · New run")
    wait_until(lambda: "60×16." not in window.screen(), "the whole page")
    window.resize(20, 5)
    window.wait_for("60×16.")
    window.press("C-q")
    window.wait_for("exit 0")


@pytest.mark.usefixtures("welcomed")
def test_a_window_resized_and_back_at_once_is_painted_anew(terminal: OpenTerminal) -> None:
    window = terminal(columns=120, rows=40)
    # The shell must not take the terminal from an app that does not get a turn.
    window.type("set +m; clear; evalbench")
    window.wait_for("No runs yet")
    before = window.screen()
    app = app_in(window)
    guard = app.parent()
    assert guard
    app.suspend()
    wait_until(lambda: guard.status() == psutil.STATUS_STOPPED, "a guard that stops with the app")
    for size in ((80, 20), (120, 40)):
        window.resize(*size)
        wait_until(partial(_is, window, size), "the new size")
    assert window.screen() != before
    for process in (app, guard):
        process.resume()
    wait_until(lambda: window.screen() == before, "the whole page")


def _is(window: Terminal, size: tuple[int, int]) -> bool:
    return window.size() == size


CONSOLE = set(bytes(range(32, 256)).decode("cp437")) | set("•►▼▲◄○×")
"""What the font of a console has: code page 437, and the kernel writes × as x."""


@pytest.mark.usefixtures("welcomed")
def test_consoles_get_only_characters_that_their_fonts_have(terminal: OpenTerminal) -> None:
    window = terminal(columns=120, rows=40)
    window.type("clear; TERM=linux evalbench --no-mouse")
    window.wait_for("No runs yet")
    pages = [("F3", "evalbench run"), ("F6", "theme"), ("F1", "Commands"), ("F2", "No runs yet")]
    for key, text in [*pages, ("m", "each"), ("C-p", "Help: ")]:
        window.press(key)
        assert set(window.wait_for(text)) - {"\n"} <= CONSOLE, key
    window.press("Escape")
    window.press("F2")
    assert "┌" in window.wait_for("No runs yet")


def colours(screen: str) -> set[tuple[int, ...]]:
    """The colours of a screen: (2, r, g, b), (5, number in the 256) or (1, code of the 16)."""
    found: set[tuple[int, ...]] = set()
    for codes in re.findall(r"\x1b\[([\d;]+)m", screen):
        numbers = [int(code) for code in codes.split(";")]
        while numbers:
            code = numbers.pop(0)
            if code in (38, 48):
                length = 4 if numbers[0] == 2 else 2
                found.add(tuple(numbers[:length]))
                del numbers[:length]
            elif code // 10 in (3, 4, 9, 10) and code % 10 < 8:
                found.add((1, code))
    return found


@pytest.mark.usefixtures("welcomed")
@pytest.mark.parametrize(
    ("env", "fits"),
    [
        ("TERM=xterm-256color COLORTERM=truecolor", lambda colour: colour[0] == 2),
        ("TERM=xterm-256color COLORTERM=", lambda colour: colour[0] != 2),
        ("TERM=xterm COLORTERM=", lambda colour: colour[0] == 1),
        (
            "COLORTERM=truecolor NO_COLOR=1",
            lambda colour: colour[0] == 2 and len(set(colour[1:])) == 1,
        ),
    ],
)
def test_colours_are_those_of_the_terminal(
    terminal: OpenTerminal, env: str, fits: Callable[[tuple[int, ...]], bool]
) -> None:
    window = terminal()
    window.type(f"clear; {env} evalbench; echo exit $?")
    window.wait_for("No runs yet")
    used = colours(window.screen(colours=True))
    assert len(used) > 1
    assert [colour for colour in used if not fits(colour)] == []
    window.press("q")
    window.wait_for("exit 0")


@pytest.mark.parametrize(
    "command",
    [
        "TERM=dumb evalbench",
        "unset TERM; evalbench",
        "evalbench | tail -n 8",
        "evalbench 2>/dev/null",
    ],
)
def test_where_no_app_can_be_shown_the_overview_is(terminal: OpenTerminal, command: str) -> None:
    window = terminal(columns=100, rows=60)
    window.type(f"clear; {command}; echo exit $?")
    shown = window.wait_for("exit 0")
    assert "evalbench COMMAND --help" in shown


def test_flags_of_the_app_need_a_terminal(terminal: OpenTerminal) -> None:
    window = terminal()
    window.type("clear; TERM=dumb evalbench --no-mouse; echo exit $?")
    assert "the full-screen app needs a terminal" in window.wait_for("exit 1")


@pytest.mark.usefixtures("welcomed")
def test_the_mouse_can_be_left_to_the_terminal(terminal: OpenTerminal) -> None:
    window = terminal()
    window.type("clear; evalbench --no-mouse; echo exit $?")
    window.wait_for("No runs yet")
    assert window.ask("mouse_any_flag") == "0"
    window.press("q")
    window.wait_for("exit 0")


def test_a_run_outlives_the_terminal_with_its_app(
    terminal: OpenTerminal, slow: CommandLine
) -> None:
    window = terminal()
    window.type(RUN)
    window.wait_for("score and outcomes")
    run = slow.answering()
    window.close()
    before = run.status().done
    wait_until(lambda: run.status().done > before + 8, "further scores")
    assert run.live_pid()
    second = terminal(columns=120, rows=40)
    second.type("clear; evalbench attach last; echo exit $?")
    second.wait_for("▸ running")
    second.wait_for("score and outcomes")
    second.press("s")
    second.wait_for("– stopped")

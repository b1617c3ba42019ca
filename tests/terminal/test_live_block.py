"""The live block and what Ctrl-C asks, on a real terminal."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

RUN = "evalbench run synthetic --model scripted/good --concurrency 4 --yes --no-ui"
OpenTerminal = Callable[..., Terminal]


def test_one_block_shows_the_run_and_gives_way_to_the_scores(terminal: OpenTerminal) -> None:
    window = terminal()
    window.type(f"clear; {RUN} --limit 100; echo exit $?")
    shown = window.wait_for("accuracy")
    assert "synthetic × scripted/good  running" in shown
    assert "█" in shown
    assert re.search(r"\d+/100 · \d+\.\d/s · .* left · \d in flight", shown)
    assert "parsed 100.0 %" in shown
    assert "Ctrl-C: leave it running, or stop it" in shown
    assert shown.count("█░") <= 1
    ended = window.wait_for("exit 0")
    assert "complete: synthetic × scripted/good, 100 of 100 samples" in ended
    assert "█" not in ended
    assert "Ctrl-C" not in ended


def test_ctrl_c_asks_and_the_run_goes_on_meanwhile(
    terminal: OpenTerminal, slow: CommandLine
) -> None:
    window = terminal()
    window.type(f"{RUN}; echo exit $?")
    window.wait_for("running")
    run = slow.answering()
    window.press("C-c")
    window.wait_for("d detach, s stop it, c keep watching:")
    before = run.status().done
    wait_until(lambda: run.status().done > before, "further scores")
    window.press("c")
    window.wait_for("Ctrl-C: leave it running, or stop it")
    window.press("C-c")
    window.wait_for("keep watching:\n")
    window.press("s")
    shown = window.wait_for("exit 4")
    assert "stopped: synthetic × scripted/good" in shown
    assert f"evalbench resume {run.id}" in shown
    assert run.live_pid() is None


@pytest.mark.parametrize("key", ["d", "C-c"])
def test_leaving_keeps_the_engine_alive(
    terminal: OpenTerminal, slow: CommandLine, key: str
) -> None:
    window = terminal()
    window.type(f"{RUN}; echo exit $?")
    window.wait_for("running")
    run = slow.answering()
    window.press("C-c")
    window.wait_for("c keep watching:")
    window.press(key)
    shown = window.wait_for("exit 0")
    assert f"evalbench attach {run.id}" in shown
    before = run.status().done
    wait_until(lambda: run.status().done > before, "further scores")
    assert run.live_pid()
    window.type("clear; evalbench attach last --no-ui")
    window.wait_for("running")


def test_closing_the_terminal_keeps_the_engine_alive(
    terminal: OpenTerminal, slow: CommandLine
) -> None:
    window = terminal()
    window.type(RUN)
    window.wait_for("running")
    run = slow.answering()
    window.close()
    before = run.status().done
    wait_until(lambda: run.status().done > before + 8, "further scores")
    assert run.live_pid()


def test_a_tied_run_cannot_be_left(terminal: OpenTerminal, slow: CommandLine) -> None:
    window = terminal()
    window.type(f"{RUN} --foreground; echo exit $?")
    window.wait_for("Ctrl-C: stop it")
    slow.answering()
    window.press("C-c")
    shown = window.wait_for("c keep watching:")
    assert "leave it running" not in shown.replace("Ctrl-C: leave it running", "")
    window.press("d")
    window.press("s")
    window.wait_for("exit 4")


def test_no_color_is_honoured(terminal: OpenTerminal) -> None:
    assert _colours_of_block(terminal())
    assert not _colours_of_block(terminal(NO_COLOR="1"))


def _colours_of_block(window: Terminal) -> list[str]:
    window.type(f"clear; {RUN} --limit 100")
    window.wait_for("accuracy")
    screen = window.screen(colours=True)
    assert "█" in screen
    return re.findall(r"\x1b\[(?:[\d;]*;)?(?:3[0-7]|9[0-7]|38)(?:;[\d;]*)?m", screen)


def test_a_dumb_terminal_gets_plain_lines(terminal: OpenTerminal) -> None:
    window = terminal()
    window.type(f"clear; TERM=dumb {RUN} --limit 20; echo exit $?")
    shown = window.wait_for("exit 0")
    assert "run 2" in shown
    assert "█" not in shown
    assert "complete: synthetic" in shown


def test_a_narrow_screen_keeps_one_block(terminal: OpenTerminal) -> None:
    window = terminal(columns=40, rows=12)
    window.type(f"clear; {RUN}")
    window.wait_for("parsed 100.0 %")
    window.wait_for("Ctrl-C")
    lines = [line for line in window.screen().splitlines() if line]
    assert len([line for line in lines if line.startswith("synthetic × scripted/good")]) == 1
    assert len([line for line in lines if set(line) <= set("█░")]) == 1
    assert all(len(line) <= 40 for line in lines)


def test_lists_fit_80_columns(terminal: OpenTerminal, slow: CommandLine) -> None:
    slow("run", "synthetic", "--model", "scripted/good", "--limit", "5")
    window = terminal()
    window.type("clear; evalbench runs; echo exit $?")
    shown = window.wait_for("exit 0").splitlines()
    wanted = ["id", "state", "benchmark", "model", "score", "done", "age"]
    assert shown[0].split() == wanted
    assert shown[1].split()[0] in slow.only_run().id
    assert "5/5" in shown[1]
    assert shown[2] == "exit 0"

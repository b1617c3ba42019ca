"""What is asked on a terminal: whether to spend, whether to go on after a pilot, and for a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine, wait_until
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

RUN = "evalbench run synthetic --model scripted/good --limit 20 --no-ui"
KEY = "gsk_0123456789abcdefghijWXYZ"
OpenTerminal = Callable[..., Terminal]


def test_an_unknown_price_is_asked_about(terminal: OpenTerminal, slow: CommandLine) -> None:
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {RUN}; echo exit $?")
    shown = window.wait_for("The cost is unknown. Start? [y/N]")
    assert "synthetic × scripted/good: 20 samples" in shown
    assert "prices    unknown" in shown
    assert slow.runs() == []
    window.type("n")
    assert "not started" in window.wait_for("exit 4")
    assert slow.runs() == []
    _again(window)
    window.press("C-c")
    window.wait_for("exit 4")
    assert slow.runs() == []
    _again(window)
    window.type("y")
    assert "complete: synthetic × scripted/good, 20 of 20" in window.wait_for("exit 0")


def _again(window: Terminal) -> None:
    """Run it on a clean screen, up to the question: the one before must not be taken for it."""
    window.type(f"clear; {RUN}; echo exit $?")
    wait_until(lambda: "exit 4" not in window.screen(), "a clean screen")
    window.wait_for("Start? [y/N]")


def test_a_small_sum_is_shown_and_not_asked_about(terminal: OpenTerminal) -> None:
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {RUN} --price 3/15; echo exit $?")
    shown = window.wait_for("exit 0")
    assert "cost      $0.0" in shown
    assert "Start?" not in shown


def test_a_dear_run_is_asked_about_unless_it_is_limited_or_agreed_to(
    terminal: OpenTerminal, slow: CommandLine
) -> None:
    dear = f"{RUN} --price 3000/15000"
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {dear}; echo exit $?")
    window.wait_for("This may cost up to $")
    window.press("Enter")
    window.wait_for("exit 4")
    assert slow.runs() == []
    window.type(f"clear; {dear} --budget 0.9; echo exit $?")
    assert "Start?" not in window.wait_for("exit 3")
    window.type(f"clear; {dear} --yes; echo exit $?")
    assert "Start?" not in window.wait_for("exit 0")


def test_a_run_that_costs_nothing_is_not_estimated(terminal: OpenTerminal) -> None:
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {RUN} --price 0/0; echo exit $?")
    shown = window.wait_for("exit 0")
    assert "input tokens" not in shown
    assert "spent" not in shown


def test_after_a_pilot_somebody_decides(terminal: OpenTerminal, slow: CommandLine) -> None:
    window = terminal(SCRIPTED_LATENCY="0")
    window.type(f"clear; {RUN} --price 3/15 --pilot 5; echo exit $?")
    shown = window.wait_for("Go on with the rest? [y/N]")
    assert "5 samples cost $0.0023" in shown
    assert "by that, all 20 cost $0.0093" in shown
    window.type("n")
    shown = window.wait_for("exit 4")
    run = slow.only_run()
    assert f"evalbench resume {run.id}" in shown
    assert (run.status().state, run.status().done) == ("paused", 5)
    window.type(f"clear; {RUN} --price 3/15 --pilot 5; echo exit $?")
    window.wait_for("Go on with the rest? [y/N]")
    window.type("y")
    assert "20 of 20 samples" in window.wait_for("exit 0")


def test_the_block_tells_spend_budget_and_forecast(terminal: OpenTerminal) -> None:
    window = terminal()
    window.type(f"clear; {RUN} --price 3/15 --budget 2 --concurrency 2")
    shown = window.wait_for(" of $2.00 · about $0.0")
    assert "in all" in shown
    assert "spent $0.0" in shown


def test_a_typed_key_is_not_shown(
    terminal: OpenTerminal, slow: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "keychain.json"
    backend = "evalbench_keyrings.InFile"
    window = terminal(PYTHON_KEYRING_BACKEND=backend, FAKE_KEYCHAIN=str(file))
    window.type("clear; evalbench keys set groq --no-check; echo exit $?")
    shown = window.wait_for("groq key (not shown as you type):")
    assert "keys are made at https://console.groq.com/keys" in shown
    window.type(KEY)
    shown = window.wait_for("exit 0")
    assert "the groq key 'default' is stored in the keychain (gsk…WXYZ)" in shown
    assert "0123456789" not in shown
    assert json.loads(file.read_text()) == {"evalbench groq/default": KEY}
    # The first question's words are gone when this is there.
    window.type("clear; echo once a''gain; evalbench keys set groq; echo exit $?")
    window.wait_for("once again")
    window.wait_for("not shown as you type")
    window.press("C-c")
    window.wait_for("exit 4")

"""``evalbench serve`` on a real terminal: one line while it waits, and Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.commandline import wait_until
from tests.e2e.inference_servers import install
from tests.terminal.screen import Terminal

pytestmark = pytest.mark.terminal

OpenTerminal = Callable[..., Terminal]


def _path(tmp_path: Path) -> str:
    return os.pathsep.join([str(install(tmp_path / "bin", "vllm")), os.environ["PATH"]])


def test_what_is_waited_for_is_told_in_one_line(terminal: OpenTerminal, tmp_path: Path) -> None:
    window = terminal(columns=60, PATH=_path(tmp_path), STAND_IN="loads")
    window.type("clear; evalbench serve org/name --port 0; echo exit $?")
    shown = window.wait_for("waiting for vLLM, ")
    later = wait_until(lambda: (now := window.screen()) != shown and now, "another second")
    assert later.count("waiting") == 1
    window.press("C-c")
    ended = window.wait_for("exit 4")
    assert "waiting" not in ended


def test_ctrl_c_ends_the_server(terminal: OpenTerminal, tmp_path: Path) -> None:
    window = terminal(columns=200, PATH=_path(tmp_path))
    window.type("clear; evalbench serve org/name --port 0; echo exit $?")
    shown = window.wait_for("Ctrl-C ends it")
    assert "vLLM is ready at http://127.0.0.1:" in shown
    assert "ask it: evalbench run quickstart --model vllm/org/name --base-url http://" in shown
    window.press("C-c")
    window.wait_for("exit 0")

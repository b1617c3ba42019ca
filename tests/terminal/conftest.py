"""Fixtures for tests on a real terminal: tmux."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.commandline import PLUGINS, CommandLine, plain_environment
from tests.terminal.screen import Terminal


@pytest.fixture
def slow(home: Path) -> Iterator[CommandLine]:
    """The command line outside the terminal, with a model that takes its time."""
    env = plain_environment() | {"PYTHONPATH": str(PLUGINS), "SCRIPTED_LATENCY": "0.2"}
    line = CommandLine(home, env)
    yield line
    line.clean_up()


@pytest.fixture
def terminal(slow: CommandLine) -> Iterator[Callable[..., Terminal]]:
    """Opens terminals: ``terminal(columns=80, rows=24, NAME="value")``."""
    opened: list[Terminal] = []

    def open_one(columns: int = 80, rows: int = 24, **env: str) -> Terminal:
        window = Terminal(slow.env | env)
        opened.append(window)
        window.open(columns, rows)
        return window

    yield open_one
    for one in opened:
        one.close()

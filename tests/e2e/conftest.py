"""Fixtures for tests that run the real command line against real engine processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.commandline import CommandLine, commands_environment


@pytest.fixture(autouse=True)
def _warm(warm: None) -> None:
    """Commands are forked."""


@pytest.fixture
def cli(home: Path) -> Iterator[CommandLine]:
    """The command line with a home of its own."""
    line = CommandLine(home, commands_environment())
    yield line
    line.clean_up()


@pytest.fixture
def keychain(cli: CommandLine, tmp_path: Path) -> Path:
    """The commands have a keychain: in this file, which is outside of their home."""
    file = tmp_path / "keychain.json"
    cli.env |= {"PYTHON_KEYRING_BACKEND": "evalbench_keyrings.InFile", "FAKE_KEYCHAIN": str(file)}
    return file


@pytest.fixture
def slow(cli: CommandLine) -> CommandLine:
    """The same, with a model that takes its time, so that runs can be caught at work."""
    cli.env["SCRIPTED_LATENCY"] = "0.2"
    return cli

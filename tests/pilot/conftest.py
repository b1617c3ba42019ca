"""A home, plug-ins and an environment of their own for every test of a screen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App
from textual.notifications import Notification

from evalbench.engine.config import registry
from evalbench.engine.hardware import devices as room
from evalbench.engine.hardware.devices import DeviceMemory
from evalbench.engine.keys import log_scrubbing
from tests.e2e.commandline import PLUGINS


@pytest.fixture(autouse=True)
def alone(warm: None, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home folder. What the app starts finds the test plug-ins, and no keys of ours."""
    ours = ("SCRIPTED_", "SYNTHETIC_", "SSH_", "TMUX", "NO_COLOR", "TEXTUAL_")
    for name in [*log_scrubbing.provider_variables(), *os.environ]:
        if name.startswith(ours) or name in log_scrubbing.provider_variables():
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    monkeypatch.syspath_prepend(str(PLUGINS))
    # What fits must not depend on the machine.
    small = DeviceMemory("cpu", "CPU", 8_000_000_000, 16_000_000_000)
    monkeypatch.setattr(room, "device_memory", lambda device="auto": small)
    # A busy machine may take longer to look at a toast than it would be there.
    monkeypatch.setattr(Notification, "time_left", 600.0)
    registry._found.cache_clear()
    yield home
    registry._found.cache_clear()


@pytest.fixture(autouse=True)
def orderly_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers end before their widgets do: they do when a user quits, but not in ``run_test``."""
    shut_down = App._shutdown

    async def after_workers(app: App[object]) -> None:
        app.workers.cancel_all()
        await shut_down(app)

    monkeypatch.setattr(App, "_shutdown", after_workers)

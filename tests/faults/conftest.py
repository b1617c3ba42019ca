"""Engines on the test plug-ins, in a home of their own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from tests.faults.engines import Engines, Ledger

_PLUGINS = Path(__file__).parents[1] / "plugins"
_SEED = int(os.environ.get("EVALBENCH_KILL_SEED", "20261"))


@pytest.fixture
def engines(
    warm: None, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engines]:
    """Engines whose provider keeps a ledger and takes 20 ms for an answer."""
    for name in os.environ:
        if name.startswith(("SCRIPTED_", "SYNTHETIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(_PLUGINS))
    monkeypatch.syspath_prepend(str(_PLUGINS))
    registry._found.cache_clear()
    ledger = Ledger(tmp_path / "ledger")
    monkeypatch.setenv("SCRIPTED_LEDGER", str(ledger.path))
    monkeypatch.setenv("SCRIPTED_LATENCY", "0.02")
    running = Engines(home, ledger)
    yield running
    running.clean_up()
    registry._found.cache_clear()


@pytest.fixture(params=[_SEED])
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Chance. Its seed stands in the test's name; ``EVALBENCH_KILL_SEED`` tries another one."""
    return random.Random(request.param)

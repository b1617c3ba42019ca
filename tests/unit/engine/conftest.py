"""The test plug-ins, found in this process through their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine import registry

PLUGINS = Path(__file__).parents[2] / "plugins"


@pytest.fixture
def rescan() -> Iterator[None]:
    """The registry looks at the installed packages anew, now and after the test."""
    registry._found.cache_clear()
    yield
    registry._found.cache_clear()


@pytest.fixture
def plugins(rescan: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmarks ``synthetic`` and ``two-turn`` and the provider ``scripted``."""
    monkeypatch.syspath_prepend(str(PLUGINS))

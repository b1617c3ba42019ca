"""The test plug-ins, found in this process through their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine import registry
from tests.unit.engine.plugins import PLUGINS, Installed


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


@pytest.fixture
def installed(rescan: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """An empty folder of packages; add them before the registry is first asked."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return Installed(folder)

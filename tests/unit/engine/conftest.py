"""The test plug-ins, found in this process through their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalbench.engine.config import registry
from evalbench.engine.dispatch.local import replica
from tests.unit.engine.plugins import PLUGINS, Installed


@pytest.fixture(autouse=True)
def _quick_goodbyes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not listen to the end is not waited for as long as a real one."""
    monkeypatch.setattr(replica, "_PARTING_S", 0.1)


@pytest.fixture(scope="module")
def plugins() -> Iterator[None]:
    """The benchmarks ``synthetic`` and ``two-turn`` and the provider ``scripted``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLUGINS))
        registry._found.cache_clear()
        yield
    registry._found.cache_clear()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """An empty folder of packages; add them before the registry is first asked."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    registry._found.cache_clear()
    yield Installed(folder)
    registry._found.cache_clear()

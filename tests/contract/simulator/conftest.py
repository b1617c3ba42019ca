"""The simulator's own tests at length. ``tests/contract/test_simulator.py`` is what always runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where nothing slow is wanted, nothing here is imported: the SDKs alone take ten seconds."""
    return True if "not slow" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of it is slow."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def _as_published(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every answer in every test here must be as its vendor has published it."""
    from tests.contract.simulator.published import Witness

    if "sim" not in request.fixturenames:
        yield
        return
    witness = Witness()
    running = request.getfixturevalue("running_simulator")
    running.simulator.witness = witness.see
    yield
    running.simulator.witness = None
    assert witness.verdict() == []

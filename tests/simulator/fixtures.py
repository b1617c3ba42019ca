"""``sim``: the simulator for a test, with everything forgotten that the test before left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.simulator.handle import Handle, InThread


@pytest.fixture(scope="session")
def running_simulator() -> Iterator[InThread]:
    """One server for all tests of a session; ask for ``sim`` instead."""
    from tests.simulator.handle import InThread

    with InThread() as simulator:
        yield simulator


@pytest.fixture
def sim(running_simulator: InThread) -> Handle:
    """A simulator at rest: ``sim.base_url("anthropic")``, ``sim.fault(...)``, ``sim.entries()``."""
    running_simulator.reset()
    return running_simulator


@pytest.fixture
def still(sim: Handle) -> Handle:
    """The same, with a clock that moves only when the test advances it."""
    sim.stand_still()
    return sim

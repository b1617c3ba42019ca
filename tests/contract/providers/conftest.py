"""Real providers, with their real SDKs, against the simulator."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from evalbench.engine import registry
from tests.simulator.handle import Handle

KEY = "sk-planted-key-0123456789"

Make = Callable[..., Any]


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home


@pytest_asyncio.fixture
async def make(sim: Handle) -> AsyncIterator[Make]:
    """Makes providers that talk to the simulator, and closes them."""
    made: list[Any] = []

    def build(name: str, secret: str = KEY, **settings: Any) -> Any:
        api = "custom" if name == "compatible" else name
        settings.setdefault("base_url", sim.base_url(api))
        provider: Any = registry.provider_class(name)
        made.append(provider(settings, secret))
        return made[-1]

    yield build
    for provider in made:
        await provider.close()


@pytest.fixture
def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""Real providers, with their real SDKs, against the simulator."""

from __future__ import annotations

import re
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from evalbench.engine.config import registry
from tests.simulator.handle import Handle

KEY = "sk-planted-key-0123456789"

Make = Callable[..., Any]


def pair_of_aws(secret: str) -> str:
    """A pair of AWS keys: the access key is called after the secret one."""
    name = re.sub("[^A-Z0-9]", "", secret.upper())
    return secret and f"AKIA{name}:{secret}"


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home


@pytest.fixture(autouse=True)
def _no_aws_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the tester's own, and no question to a machine that may not be there."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "PROFILE", "BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest_asyncio.fixture
async def make(sim: Handle) -> AsyncIterator[Make]:
    """Makes providers that talk to the simulator, and closes them."""
    made: list[Any] = []

    def build(name: str, secret: str = KEY, **settings: Any) -> Any:
        api = {"compatible": "custom", "vertex": "google"}.get(name, name)
        if "base_url" not in settings:
            settings["base_url"] = sim.base_url(api)
        provider: Any = registry.provider_class(name)
        if name == "bedrock" and ":" not in secret:
            secret = pair_of_aws(secret)
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

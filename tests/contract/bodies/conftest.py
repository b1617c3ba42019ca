"""Real clients against a server on this machine that answers whatever a test says."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalbench.engine.dispatch import realtime, retry
from evalbench.engine.errors import ProviderError
from tests.contract.providers.conftest import _no_aws_account

__all__ = ["_no_aws_account"]


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home


@pytest.fixture(autouse=True)
def _asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal is a reply at once, for whatever time its server asks."""

    def told(error: ProviderError, waited: float) -> None:
        retry.requested_wait(error, waited)

    monkeypatch.setattr(realtime, "requested_wait", told)
    monkeypatch.setattr(retry, "OVERLOAD_FACTOR", 1)

"""Real clients against a server on this machine that answers whatever a test says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.providers.conftest import _no_aws_account

__all__ = ["_no_aws_account"]


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home

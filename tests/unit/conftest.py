"""Unit tests start children of ours as seldom as they can, and then forked."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _warm(warm: None) -> None:
    """Children that look into the keychain or work with a limit are forked."""

"""Provider tests write nothing outside a fresh home."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _fresh_home(home: Path) -> Path:
    return home

"""A run on disk that tests can put into any state, as an engine would."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pretending import ACCURACY, PretendEngine, pretend

__all__ = ["ACCURACY", "PretendEngine"]


@pytest.fixture
def engine(home: Path) -> PretendEngine:
    """A fresh run of 400 samples with a pretended engine."""
    return pretend(desc="try", tag=["a"])

"""Helpers shared by the readers of other systems' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalbench.engine.errors import DataError
from evalbench.engine.field_checks import Check, Misfit


def latency_of(value: Any) -> float:
    """Seconds, if the value is a valid duration; else 0."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1e9
    return float(value) if known else 0.0


def fitting(value: Any, fits: Check, what: str, path: Path, row: int | None = None) -> Any:
    """Check a value and return it.

    Raises:
        DataError: with ``what`` it should have been, the row, the field and the problem.
    """
    try:
        fits(value)
    except Misfit as error:
        raise DataError(what, path=str(path), line=row, why=str(error)) from None
    return value


def malformed(what: str, path: Path, row: int, error: Exception) -> DataError:
    """The error for a row with missing or malformed fields."""
    why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return DataError(what, path=str(path), line=row, why=why)

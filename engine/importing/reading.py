"""What the readers of other systems' files share."""

from __future__ import annotations

from pathlib import Path

from evalbench.engine.errors import DataError


def counted(number: int, what: str) -> str:
    """``1 answer``, ``2 answers``."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def malformed(what: str, path: Path, row: int, error: Exception) -> DataError:
    """The error for a row that lacks something or holds it in another form."""
    why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return DataError(what, path=str(path), line=row, why=why)

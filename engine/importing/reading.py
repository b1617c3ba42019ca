"""What the readers of other systems' files share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from evalbench.engine.benchmarks.reading import unreadable
from evalbench.engine.errors import DataError


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        DataError: it cannot be read, or is none.
    """
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from None
    except orjson.JSONDecodeError as error:
        raise DataError("this is not JSON", path=str(path), why=str(error)) from None


def counted(number: int, what: str) -> str:
    """``1 answer``, ``2 answers``."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def malformed(what: str, path: Path, row: int, error: Exception) -> DataError:
    """The error for a row that lacks something or holds it in another form."""
    why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
    return DataError(what, path=str(path), line=row, why=why)

"""How long-running work before the first answer reports progress."""

from __future__ import annotations

from typing import Protocol


class ReportProgress(Protocol):
    """Called from time to time during long-running work."""

    def __call__(self, what: str, done: int, total: int | None, unit: str) -> None:
        """``done`` of ``total`` (None: unknown); ``unit`` is ``B`` for bytes, else empty."""

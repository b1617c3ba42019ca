"""How long work before the first answer reports what it is doing."""

from __future__ import annotations

from typing import Protocol


class ReportProgress(Protocol):
    """Called now and then while something long is going on."""

    def __call__(self, what: str, done: int, total: int | None, unit: str) -> None:
        """``done`` of ``total`` (None: unknown); ``unit`` is ``B`` for bytes, else empty."""

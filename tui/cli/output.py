"""Standard output and error that their reader may close at any time."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED = 1000
"""Columns when no terminal limits them: files and pipes get whole lines."""


class Out:
    """A text stream whose closed other end silences it instead of raising.

    A run must not end because somebody piped its progress into ``head``, or
    because the terminal is gone.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.gone = False
        self._console: Console | None = None

    @property
    def encoding(self) -> str:
        """Of the stream behind."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write text as it is."""
        self._guard(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Hand everything written to the reader."""
        self._guard(self._stream.flush)

    def line(self, text: str = "") -> None:
        """Write one line and flush, so that a reader sees it at once."""
        self.write(text + "\n")
        self.flush()

    def isatty(self) -> bool:
        """Whether a person may be looking."""
        return not self.gone and self._stream.isatty()

    def fileno(self) -> int:
        """Descriptor of the stream behind."""
        return self._stream.fileno()

    def console(self) -> Console:
        """A rich console on this stream. It prints text as text: no markup, no guesses."""
        if self._console is None:
            from rich.console import Console

            stream: Any = self
            self._console = Console(
                file=stream,
                width=None if self.isatty() else _UNLIMITED,
                markup=False,
                emoji=False,
                highlight=False,
            )
        return self._console

    def _guard(self, act: Any, *args: Any) -> None:
        if self.gone:
            return
        try:
            act(*args)
        except (OSError, ValueError):
            self.gone = True
            # Python flushes the stream once more at exit; let that go nowhere.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)


def stdout() -> Out:
    """The process's standard output."""
    return Out(sys.stdout)


def stderr() -> Out:
    """The process's standard error."""
    return Out(sys.stderr)


def plain_terminal() -> bool:
    """Whether the terminal cannot move its cursor (``TERM=dumb`` or unset)."""
    return os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")

"""Standard streams that may be closed from the start, or at any time, or take nothing."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED = 1000
"""Columns when no terminal limits them: files and pipes get whole lines."""


_ENDED = (errno.EPIPE, errno.ECONNRESET, errno.EIO)
"""How a reader that has gone shows; EIO is a terminal's way."""

_unwritten: dict[str, str] = {}
"""Why a stream could not take what was written, by its name."""


def open_streams() -> None:
    """Give this process the standard streams that it was started without, leading nowhere.

    Without them the next file opened, such as a journal, would be standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, as those below are taken.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(os.devnull, mode, encoding="utf-8", errors="replace")  # noqa: SIM115
            setattr(sys, name, stream)


def lost_output() -> str:
    """Flush what was written; why some of standard output was lost, empty when none was.

    A reader that has left early is nobody's loss.
    """
    stdout().flush()
    stderr().flush()
    return _unwritten.get("stdout", "")


class Out:
    """A text stream whose closed other end silences it instead of raising.

    A run must not end because somebody piped its progress into ``head``, or
    because the terminal is gone. What could not be written for another reason, such
    as a full disk, is told by :func:`lost_output`.
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

    def raw(self, data: bytes) -> None:
        """Write bytes as they are, where the stream behind takes them."""
        self.flush()
        if buffer := getattr(self._stream, "buffer", None):
            self._guard(buffer.write, data)
        else:
            self.write(data.decode("utf-8", "replace"))
        self.flush()

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
        except (OSError, ValueError) as error:
            self.gone = True
            if isinstance(error, OSError) and error.errno not in _ENDED:
                name = "stdout" if self._stream is sys.stdout else "stderr"
                _unwritten.setdefault(name, error.strerror or str(error))
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

"""Standard streams that may be closed from the start, break at any time, or be full."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED = 1000
"""Columns if there is no terminal: files and pipes get whole lines."""

_NARROWEST, _INDENT = 20, 4
"""Columns that wrapped text has at least, and how far it is indented if there are not so many."""


_ENDED = (errno.EPIPE, errno.ECONNRESET, errno.EIO)
"""Errors that mean the reader is gone; EIO comes from terminals."""

_unwritten: dict[str, str] = {}
"""Why a stream could not be written to, by its name."""


def open_streams() -> None:
    """Connect missing standard streams of this process to nowhere.

    Without them the next file opened, such as a journal, would become standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, since those below are taken.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(os.devnull, mode, encoding="utf-8", errors="replace")  # noqa: SIM115
            setattr(sys, name, stream)


def lost_output() -> str:
    """Flush the streams; returns why part of standard output was lost, empty if none was.

    A reader that closes its end early does not count as a loss.
    """
    stdout().flush()
    stderr().flush()
    return _unwritten.get("stdout", "")


class Out:
    """A text stream that becomes silent, instead of raising, when its other end is closed.

    A run must not end because its progress was piped into ``head``, or because the terminal is
    gone. Output lost for another reason, such as a full disk, is reported by :func:`lost_output`.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.gone = False
        self._console: Console | None = None

    @property
    def encoding(self) -> str:
        """The encoding of the underlying stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """Write text unchanged."""
        self._guard(self._stream.write, text)
        return len(text)

    def send(self, file: Path) -> None:
        """Write the bytes of a file unchanged."""
        self.flush()
        with file.open("rb") as source:
            self._guard(shutil.copyfileobj, source, self._stream.buffer)  # type: ignore[attr-defined]
        self.flush()

    def flush(self) -> None:
        """Flush the underlying stream."""
        self._guard(self._stream.flush)

    def line(self, text: str = "") -> None:
        """Write one line and flush, so that a reader sees it at once."""
        self.write(text + "\n")
        self.flush()

    def paragraph(self, text: str, under: int = 0) -> None:
        """Write one line; on a terminal it is wrapped between words.

        Args:
            text: the words. Whatever has no spaces, such as a command's file, stays whole.
            under: cell below which further lines begin.
        """
        from rich.cells import cell_len, set_cell_size

        if not self.isatty():
            self.line(text)
            return
        width = max(_NARROWEST, self.console().width - 1)
        indent = " " * (under if width - under >= _NARROWEST else _INDENT)
        # The first line's own spaces are kept.
        line = set_cell_size(text, under) if under < width else ""
        words, alone = text[len(line) :].split(), True
        for word in words:
            gap = "" if alone else " "
            if not alone and cell_len(line) + cell_len(gap + word) > width:
                self.line(line)
                line, gap = indent, ""
            line, alone = line + gap + word, False
        self.line(line)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return not self.gone and self._stream.isatty()

    def fileno(self) -> int:
        """The file descriptor of the underlying stream."""
        return self._stream.fileno()

    def console(self) -> Console:
        """A rich console on this stream. It prints text literally: no markup, no highlighting."""
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
            # Python flushes the stream once more at exit; send that nowhere.
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

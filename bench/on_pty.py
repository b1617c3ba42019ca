"""A program on a pseudo-terminal of a given size: the bytes it writes and the CPU time it takes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[>=()][0-9A-B]?)")


class OnPty:
    """One program, in a session of its own, with everything it starts in that session."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], columns: int, rows: int
    ) -> None:
        self.bytes = 0
        self._tail = b""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._child = subprocess.Popen(
            words,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)

    def read(self, seconds: float, until: str = "") -> None:
        """Take what it writes for so long, or until it has written ``until``.

        Raises:
            TimeoutError: it has not written that.
        """
        end = time.monotonic() + seconds
        self._tail = b""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0]:
                continue
            try:
                data = os.read(self._master, 65536)
            except OSError:
                break
            self.bytes += len(data)
            self._tail = (self._tail + data)[-65536:]
            if until and until in _SEQUENCES.sub("", self._tail.decode("utf-8", "replace")):
                return
        if until:
            raise TimeoutError(f"no {until!r} in {self._tail[-2000:]!r}")

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._master, keys.encode())

    def processes(self) -> list[int]:
        """All its processes that are there."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self._child.pid:
                found.append(int(process.name))
        return found

    def cpu_s(self) -> float:
        """CPU seconds so far of all its processes that are there."""
        total = 0
        for process in self.processes():
            with contextlib.suppress(OSError):
                for thread in Path(f"/proc/{process}/task").iterdir():
                    total += int((thread / "schedstat").read_text().split()[0])
        return total / 1e9

    def close(self) -> None:
        """End it as a closed terminal does."""
        os.close(self._master)
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

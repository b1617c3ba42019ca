"""Detects whether anything but the engine has written into a journal's write-ahead log.

Committed frames of a log never change until SQLite starts the log over, with a new header whose
first salt is higher. So what has been read once must still be there. The file can be opened here
because SQLite holds no locks on it; opening the journal itself, or ``-shm``, and closing it again
would drop all locks that this process holds on them.

Format: https://www.sqlite.org/fileformat2.html#walformat
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
"""Plus 1 if the checksums are of big-endian words."""
_MOST = 1 << 26
"""Bytes that are looked at. A log is larger only while a reader holds up its checkpoints."""
_WRAP = 0xFFFFFFFF


class LogWatch:
    """Watches one write-ahead log. Between two transactions only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._header = b""
        self._length = 0
        self._sum = 0

    def look(self) -> str:
        """What was done to the log since the last look; empty if nothing, or if it is not there."""
        try:
            now = os.stat(self._path)
            if (now.st_mtime_ns, now.st_size) == self._seen:
                return ""
            with self._path.open("rb") as file:
                data = file.read(_MOST)
        except OSError:
            return ""
        self._seen = now.st_mtime_ns, now.st_size
        header = data[: _HEADER.size]
        if header != self._header:
            if not _follows(self._header, header):
                return "something else wrote into its write-ahead log"
            self._header, self._length, self._sum = header, len(header), zlib.crc32(header)
        elif len(data) < self._length:
            return "the end of its write-ahead log was cut off"
        elif zlib.crc32(memoryview(data)[: self._length]) != self._sum:
            return "something else wrote into its write-ahead log"
        self._read_on(data)
        return ""

    def _read_on(self, data: bytes) -> None:
        """Remember the frames up to the last commit."""
        if not self._header:
            return
        _, _, page, _, *salts, _, _ = _HEADER.unpack(self._header)
        at, end = self._length, self._length
        size = _FRAME.size + (page if page > 1 else 1 << 16)
        while at + size <= len(data):
            _, commits, *marks, _, _ = _FRAME.unpack_from(data, at)
            if marks != salts:
                break
            at += size
            if commits:
                end = at
        self._sum = zlib.crc32(memoryview(data)[self._length : end], self._sum)
        self._length = end


def _follows(before: bytes, header: bytes) -> bool:
    """Whether SQLite may have written this header after that one; either may be empty."""
    if not header:
        return not before
    if len(header) < _HEADER.size:
        return False
    magic, *_, salt, _, first, second = _HEADER.unpack(header)
    if magic & ~1 != _MAGIC or _checksum(header[:24], big=bool(magic & 1)) != (first, second):
        return False
    return not before or 0 < (salt - _HEADER.unpack(before)[4] & _WRAP) <= _WRAP // 2


def _checksum(data: bytes, *, big: bool) -> tuple[int, int]:
    first = second = 0
    for one, other in struct.iter_unpack(">II" if big else "<II", data):
        first = first + one + second & _WRAP
        second = second + other + first & _WRAP
    return first, second

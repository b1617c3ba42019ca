"""The media cache: images of samples, stored on this machine by content hash.

A sample refers to its images by hash; the bytes are in the cache folder. They can be deleted at
any time: existing answers stay readable and can be re-scored, and preparing the data again
restores them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from evalbench.engine.calls import MediaPart
from evalbench.engine.files import read_plain
from evalbench.engine.paths import cache_dir, make_private, write_file


class MediaCache:
    """Files by the SHA-256 of their bytes."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_dir() / "media"

    def keep(self, data: bytes) -> str:
        """Store these bytes; returns their hash as hexadecimal digits."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            os.utime(path)
        else:
            make_private(path.parent)
            write_file(path, data)
        return digest

    def part(self, media_type: str, digest: str) -> MediaPart:
        """The media part for a prompt. Without bytes if they are gone; then it cannot be sent."""
        try:
            data = read_plain(self._path(digest))
        except OSError:
            data = b""
        return MediaPart(media_type, data, digest)

    def trim(self, most_bytes: int) -> int:
        """Delete least recently used files until this much is left; returns the bytes deleted."""
        files = [(stat.st_mtime, stat.st_size, path) for path, stat in self._files()]
        total, deleted = sum(size for _, size, _ in files), 0
        for _, size, path in sorted(files):
            if total - deleted <= most_bytes:
                break
            path.unlink(missing_ok=True)
            deleted += size
        return deleted

    def _files(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for path in self.folder.glob("*/*"):
            try:
                found.append((path, path.stat()))
            except OSError:
                continue
        return found

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

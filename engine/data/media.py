"""Images that samples show, kept on this machine by content hash: the media cache.

A sample names its images by hash; the bytes lie below the cache folder. They
can be deleted at any time: what was answered stays readable and can be scored
anew, and preparing the data again brings them back.
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
        """Keep these bytes; their hash as hexadecimal digits."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if path.exists():
            os.utime(path)
        else:
            make_private(path.parent)
            write_file(path, data)
        return digest

    def part(self, media_type: str, digest: str) -> MediaPart:
        """What a prompt shows. Without bytes where they are gone, which no provider is sent."""
        try:
            data = read_plain(self._path(digest))
        except OSError:
            data = b""
        return MediaPart(media_type, data, digest)

    def trim(self, most_bytes: int) -> int:
        """Delete what was not used for longest until so much is left; bytes deleted."""
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

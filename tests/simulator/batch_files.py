"""Files that clients store: requests of batches and their results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class StoredFile:
    """One file. ``gone``: it is still listed, but has no content any more."""

    id: str
    api: str
    key: str
    name: str
    purpose: str
    data: bytes
    created: float
    gone: bool = False


class Files:
    """All files of a simulator, by id."""

    def __init__(self) -> None:
        self._files: dict[str, StoredFile] = {}
        self._made = 0

    def reset(self) -> None:
        """Forget all files. Their ids are not used again."""
        self._files.clear()

    def store(
        self, api: str, key: str, name: str, purpose: str, data: bytes, now: float
    ) -> StoredFile:
        """Keep a file under a fresh id."""
        self._made += 1
        file = StoredFile(f"file-{self._made:024d}", api, key, name, purpose, data, now)
        self._files[file.id] = file
        return file

    def find(self, api: str, key: str, name: str) -> StoredFile | None:
        """A file of this key."""
        file = self._files.get(name)
        mine = file is not None and (file.api, file.key) == (api, key)
        return file if mine else None

    def get(self, name: str) -> StoredFile | None:
        """A file, whosever it is."""
        return self._files.get(name)

    def listed(self, api: str, key: str) -> list[StoredFile]:
        """The files of a key, newest first."""
        return [f for f in reversed(self._files.values()) if (f.api, f.key) == (api, key)]

    def delete(self, file: StoredFile) -> None:
        """Forget a file."""
        del self._files[file.id]


def form_parts(raw: bytes, content_type: str) -> dict[str, tuple[str, bytes]]:
    """The parts of a ``multipart/form-data`` body: file name (may be empty) and bytes, by field.

    Raises:
        ValueError: when it is no such body.
    """
    _, _, boundary = content_type.partition("boundary=")
    if not content_type.startswith("multipart/form-data") or not boundary:
        raise ValueError("not a form")
    mark = b"--" + boundary.strip('"').encode()
    parts: dict[str, tuple[str, bytes]] = {}
    at = raw.find(mark)
    while at >= 0:
        at += len(mark)
        if raw[at : at + 2] == b"--":
            return parts
        head = raw.index(b"\r\n\r\n", at)
        end = raw.index(b"\r\n" + mark, head)
        field, name = _disposition(raw[at:head].decode())
        parts[field] = (name, raw[head + 4 : end])
        at = end + 2
    raise ValueError("the form has no end")


def _disposition(head: str) -> tuple[str, str]:
    said: dict[str, str] = {}
    for line in head.split("\r\n"):
        kind, _, value = line.partition(":")
        if kind.strip().lower() == "content-disposition":
            for pair in value.split(";")[1:]:
                name, _, text = pair.strip().partition("=")
                said[name] = text.strip('"')
    return said["name"], said.get("filename", "")

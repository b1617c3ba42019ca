"""The headers of files of weights: the shapes of their tensors, and what GGUF files say of a model.

The ``gguf`` package reads its files too, but creates an object for every token of the vocabulary,
which takes seconds.

Layouts: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and
https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_FORMATS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _LIST = 8, 9
_LARGEST_HEADER = 100_000_000
"""Bytes; the safetensors library reads no larger one."""


class _Reader:
    """Reads values sequentially from the start of a file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def number(self, letter: str) -> Any:
        (value,) = struct.unpack_from(f"<{letter}", self._data, self._at)
        self._at += struct.calcsize(f"<{letter}")
        return value

    def skip(self, size: int) -> None:
        self._at += size

    def text(self) -> str:
        size = self.number("Q")
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """One value; for a list only its length."""
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            return self.number(_FORMATS[kind])
        kind, count = self.number("I"), self.number("Q")
        if kind in _FORMATS:
            self.skip(count * struct.calcsize(f"<{_FORMATS[kind]}"))
            return count
        for _ in range(count):
            if kind == _TEXT:
                self.skip(self.number("Q"))
            else:
                self.value(kind)
        return count


def read_gguf(file: Path) -> tuple[dict[str, Any], list[list[int]]]:
    """The metadata by name (for lists only their lengths), and the tensors' shapes.

    Raises:
        ValueError: it is not a GGUF file of a known version, or it is truncated.
        OSError: it cannot be read.
    """
    with (
        file.open("rb") as source,
        mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        reader = _Reader(data)
        try:
            if data[:4] != _MAGIC:
                raise ValueError(f"{file.name} is no GGUF file")
            reader.skip(4)
            if (version := reader.number("I")) not in _VERSIONS:
                raise ValueError(f"{file.name} has version {version} of GGUF")
            tensors, facts = reader.number("Q"), reader.number("Q")
            metadata = {reader.text(): reader.value(reader.number("I")) for _ in range(facts)}
            shapes = []
            for _ in range(tensors):
                reader.text()
                shapes.append([reader.number("Q") for _ in range(reader.number("I"))])
                reader.skip(4 + 8)
        except (struct.error, KeyError, IndexError) as error:
            raise ValueError(f"{file.name} is cut or no GGUF file: {error}") from error
    return metadata, shapes


def safetensors_shapes(file: Path) -> list[list[int]]:
    """The shapes of all tensors in a file, from its header.

    Raises:
        ValueError, OSError: it is not a safetensors file.
    """
    with file.open("rb") as source:
        length = int.from_bytes(source.read(8), "little")
        if length > _LARGEST_HEADER:
            raise ValueError(f"{file.name} is no safetensors file")
        header = json.loads(source.read(length))
    return [tensor["shape"] for name, tensor in header.items() if name != "__metadata__"]

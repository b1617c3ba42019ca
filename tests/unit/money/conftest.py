"""Pictures without content."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest


@pytest.fixture
def png() -> Callable[[int, int], bytes]:
    """Makes the first bytes of a PNG file of a given width and height."""

    def make(width: int, height: int) -> bytes:
        head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR"
        return head + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    return make

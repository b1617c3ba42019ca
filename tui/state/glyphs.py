"""Which characters a terminal's font has."""

from __future__ import annotations

import os

_CONSOLES = ("linux", "vt100", "vt102", "vt220")


def has_braille() -> bool:
    """Whether braille dots and eighths of blocks are drawn: the fonts of consoles lack them."""
    return os.environ.get("TERM", "") not in _CONSOLES

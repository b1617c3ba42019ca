"""Which characters a terminal's font has."""

from __future__ import annotations

import os
from collections.abc import Mapping

_CONSOLES = ("linux", "vt100", "vt102", "vt220")

# Source of what consoles have: code page 437, as in drivers/tty/vt/cp437.uni of Linux.
_SUBSTITUTES: Mapping[int, int] = str.maketrans(
    "▁▂▃▅▆▇▉▊▋▍▎▏▔▕▖▗▘▙▚▛▜▝▞▟━┃┏┓┗┛╋╍╏╭╮╰╯┄┈✓✗●▸▾▴–—−…“”‘’⟨⟩",
    "___▄████▌▌││▀│▄▄▀█▒██▀▒█═║╔╗╚╝╬═║┌┐└┘··√x•►▼▲---~\"\"''<>",
)


def _on_console() -> bool:
    return os.environ.get("TERM", "") in _CONSOLES


def has_braille() -> bool:
    """Whether braille dots are drawn: the fonts of consoles lack them."""
    return not _on_console()


def substitutes() -> Mapping[int, int]:
    """What to draw instead of characters that the font lacks, for :meth:`str.translate`.

    A console's font has neither eighths of blocks nor heavy and rounded lines.
    """
    return _SUBSTITUTES if _on_console() else {}

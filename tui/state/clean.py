"""Making text from outside (models, data sets, providers) safe to print.

Such text is data: it must not move the cursor, change colours, ring the bell or reorder the text
around it.
"""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def clean(text: str) -> str:
    """``text`` without terminal sequences and control characters; keeps newlines and tabs."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Like :func:`clean`, with white space collapsed to single spaces."""
    return " ".join(clean(text).split())


def cells_only(text: str) -> str:
    """``text`` without joiners and other zero-width characters.

    Terminals disagree on the width of joined characters.
    """
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))

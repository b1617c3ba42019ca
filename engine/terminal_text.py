"""Making text from outside (models, data sets, providers, servers) safe to print.

Such text is data: it must not move the cursor, change colours, ring the bell or reorder the text
around it.
"""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_ACTIVE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_CONTROLS = re.compile(f"[{_ACTIVE}]")
# Files keep the marks that only help to lay out right-to-left text; halves of surrogate pairs
# cannot be written to one.
_REMOVED = re.compile(f"[{_ACTIVE}\u061c\u200e\u200f\ud800-\udfff]")


def clean(text: str) -> str:
    """``text`` without terminal sequences and control characters; keeps newlines and tabs."""
    return _REMOVED.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """Like :func:`clean`, with white space collapsed to single spaces."""
    return " ".join(clean(text).split())


def visible(text: str) -> str:
    r"""``text`` with control characters escaped (``\x1b``), except newlines and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def cells_only(text: str) -> str:
    """``text`` without joiners and other zero-width characters.

    Terminals disagree on the width of joined characters.
    """
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))

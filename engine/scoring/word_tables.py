"""Patterns for tables of words by language, as the lenient parsers use them.

Entries of a table are separated by spaces; ``_`` stands for a space inside one. ``-`` at the end of
an entry lets any ending follow. Scripts without spaces between words are searched for entries
anywhere, as are languages whose words carry endings of any kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter

UNSPACED = ("ja", "zh", "ko", "th")

# Letters, and the vowel signs and marks that are written between them.
_IN_WORDS = (
    r"\w\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u200c"
)
_ANY_END, _NO_MORE = f"[{_IN_WORDS}]*", f"(?![{_IN_WORDS}])"


def words(table: Mapping[str, str]) -> str:
    """A pattern for the entries of a table; they are in lower case."""
    spaced: list[tuple[str, str]] = []
    anywhere: list[str] = []
    for language, entries in table.items():
        for entry in entries.split():
            plain = re.escape(entry.removesuffix("-").replace("_", " "))
            if language in UNSPACED:
                anywhere.append(plain)
            else:
                spaced.append((plain, _ANY_END if entry.endswith("-") else _NO_MORE))
    # Looking at the first letter spares most words a try of each entry.
    first = "".join(sorted({plain.removeprefix("\\")[0] for plain, _ in spaced}))
    ordered = sorted(spaced, key=lambda entry: len(entry[0] + entry[1]))[::-1]
    # Ends are long, and slow to compile: neighbours share them.
    alike = (
        f"(?:{'|'.join(plain for plain, _ in entries)}){end}"
        for end, entries in groupby(ordered, key=itemgetter(1))
    )
    pattern = rf"(?<![{_IN_WORDS}])(?=[{re.escape(first)}])(?:{'|'.join(alike)})"
    if not anywhere:
        return pattern
    return rf"{pattern}|{'|'.join(sorted(anywhere, key=len)[::-1])}"

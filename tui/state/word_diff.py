"""Which words of two texts differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_PRODUCT = 2_000_000
"""If the product of the word counts is at most this, words are compared; beyond, lines are."""


class Part(NamedTuple):
    """A part of a text.

    Attributes:
        own: whether the other text does not have it.
    """

    text: str
    own: bool


def word_diff(first: str, second: str) -> tuple[list[Part], list[Part]]:
    """Split both texts into parts: common ones, and those that only one of them has.

    Words, spaces and signs are compared, long texts line by line (difflib's longest matching
    blocks). Joined, the parts give the original texts.
    """
    mine, theirs = _WORDS.findall(first), _WORDS.findall(second)
    if len(mine) * len(theirs) > _MOST_PRODUCT:
        mine, theirs = first.splitlines(keepends=True), second.splitlines(keepends=True)
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    one = list(_parts(mine, [(block.a, block.size) for block in blocks]))
    other = list(_parts(theirs, [(block.b, block.size) for block in blocks]))
    return one, other


def _parts(words: Sequence[str], shared: Sequence[tuple[int, int]]) -> Iterator[Part]:
    at = 0
    for start, size in shared:
        if start > at:
            yield Part("".join(words[at:start]), own=True)
        if size:
            yield Part("".join(words[start : start + size]), own=False)
        at = start + size

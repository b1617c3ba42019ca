"""Token counts. Every simulated tokenizer cuts text into pieces of equal length."""

from __future__ import annotations

import re

_PIECE = re.compile(r"\s*\S{1,4}|\s+")


def count(text: str, chars_per_token: float) -> int:
    """Tokens of ``text``; 0 for none."""
    return -int(-len(text) // chars_per_token)


def cut(text: str, tokens: int, chars_per_token: float) -> str:
    """The beginning of ``text`` that ``tokens`` tokens hold."""
    return text[: int(tokens * chars_per_token)]


def pieces(text: str) -> list[str]:
    """``text`` cut into the tokens that log-probabilities are reported for."""
    return _PIECE.findall(text)

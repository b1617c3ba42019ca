"""Finding lines by what is typed: by a few letters, or by whole words where there are thousands."""

from __future__ import annotations

from collections.abc import Sequence

_NAME, _BEGINNING, _START, _INSIDE, _SCATTERED = 5, 4, 3, 2, 1
"""How well a word fits: the text's first word is it, or begins with it; another word begins with
it, contains it, or has its letters in order."""


def fitting(texts: Sequence[str], query: str) -> list[int]:
    """Indices of the texts that match a query, best first; all, in order, for an empty one.

    Every word of the query must occur: literally, or with its letters in order within one word of
    the text (``snt5`` finds ``claude-sonnet-5``). Texts begin with their names, which come first if
    they are what was typed.
    """
    words = query.lower().split()
    found = [(place, _fit(text.lower(), words)) for place, text in enumerate(texts)]
    return [place for place, fit in sorted(found, key=lambda pair: -pair[1]) if fit or not words]


def fitting_first(names: Sequence[str], others: Sequence[str], query: str) -> list[int]:
    """As :func:`fitting`: first those whose names match, then those whose other text does."""
    return list(dict.fromkeys([*fitting(names, query), *fitting(others, query)]))


def having_words(texts: Sequence[tuple[str, str]], query: str) -> list[int]:
    """Indices of the texts that have all words, whatever their case.

    First those with the most words in their names, otherwise in order.

    Args:
        texts: the name of each, and all of its text.
        query: the words.
    """
    words = query.casefold().split()
    found = [place for place, (_, text) in enumerate(texts) if _has_all(text.casefold(), words)]
    return sorted(found, key=lambda place: -_count(texts[place][0].casefold(), words))


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _count(text: str, words: Sequence[str]) -> int:
    return sum(word in text for word in words)


def _fit(text: str, words: Sequence[str]) -> int:
    fits = [_fit_one(text, word) for word in words]
    return sum(fits) if all(fits) else 0


def _fit_one(text: str, word: str) -> int:
    at = text.find(word)
    if at == 0:
        return _NAME if text[len(word) :][:1] in ("", " ") else _BEGINNING
    if at > 0:
        return _INSIDE if text[at - 1].isalnum() else _START
    return _SCATTERED if any(_in_order(word, whole) for whole in text.split()) else 0


def _in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)

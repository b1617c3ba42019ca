"""Parses Python values in replies with Python's own parser. Nothing is ever executed."""

from __future__ import annotations

import ast
import warnings
from typing import Any

LONGEST = 50_000
"""Characters; a longer text is not a value. Bounds the parser's time and memory."""

LONGEST_SAID = 8_000
"""The same for model output: Python's parser takes up to three milliseconds per thousand."""


class NotALiteral(ValueError):
    """The text is not a Python literal, or implausibly long."""


def parse(source: str, mode: str, longest: int = LONGEST) -> ast.AST | None:
    """The syntax tree of a text, or None if it is not Python.

    Args:
        source: the text.
        mode: ``eval`` for one expression, ``exec`` for statements.
        longest: maximum characters; a longer text is not parsed.
    """
    if len(source) > longest:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes such as "\d" in a model's strings
            tree: ast.AST = ast.parse(source, mode=mode)
            return tree
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def literal(text: str, longest: int = LONGEST) -> Any:
    """The value of a literal, as by :func:`ast.literal_eval`.

    Raises:
        NotALiteral: it is not a literal, or has more than ``longest`` characters.
    """
    return value_of(parse(text.lstrip(" \t"), "eval", longest))


def value_of(tree: ast.AST | None) -> Any:
    """The value of a literal's syntax tree.

    Raises:
        NotALiteral: it is not a literal.
    """
    if not isinstance(tree, ast.Expression):
        raise NotALiteral
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, RecursionError, MemoryError, OverflowError, SyntaxError):
        raise NotALiteral from None


class PythonReader:
    """Python's parser for one reply, limited to 12,000 characters in total.

    Beyond that nothing counts as Python. The search for the end of an expression before parsing is
    limited to 20,000 characters in total, counting repeated passes.
    """

    def __init__(self) -> None:
        self._left = 12_000
        self._to_scan = 20_000

    @property
    def may_scan(self) -> bool:
        """Whether an end may still be searched for."""
        return self._to_scan > 0

    def scanned(self, characters: int) -> None:
        """Record the characters passed while searching for an end."""
        self._to_scan -= characters

    def window(self, text: str, start: int) -> str:
        """What may still be read of a text from ``start`` on."""
        return text[start : start + max(0, min(self._left, self._to_scan, LONGEST_SAID))]

    def parse(self, source: str, mode: str) -> ast.AST | None:
        """See :func:`parse`."""
        tree = parse(source, mode, min(self._left, LONGEST_SAID))
        self._left = max(0, self._left - len(source))
        return tree

    def literal(self, text: str) -> Any:
        """See :func:`literal`."""
        return value_of(self.parse(text.lstrip(" \t"), "eval"))


def _longest(other: str) -> int:
    """The maximum length of a text to compare with another: a few times longer than that."""
    return min(LONGEST, max(LONGEST_SAID, 4 * len(other)))


def equal(one: str, other: str) -> bool:
    """Whether two texts are the same, or literals equal in Python (True == 1, 3.0 == 3)."""
    one, other = one.strip(), other.strip()
    if one == other:
        return True
    try:
        return bool(literal(one, _longest(other)) == literal(other, _longest(one)))
    except (NotALiteral, RecursionError):
        return False


def strictly_equal(one: str, other: str) -> bool:
    """Whether two texts are the same value of the same type, at every depth.

    Expressions that are not literals, such as ``float('inf')``, are equal if they are written the
    same, apart from spaces and quotes.
    """
    one, other = one.strip(), other.strip()
    if one == other:
        return True
    trees = parse(one, "eval", _longest(other)), parse(other, "eval", _longest(one))
    try:
        return bool(_typed(value_of(trees[0])) == _typed(value_of(trees[1])))
    except NotALiteral:
        return _written(trees[1]) is not None and _written(trees[0]) == _written(trees[1])
    except RecursionError:
        return False


def _typed(value: Any) -> Any:
    kind = type(value)
    if kind in (list, tuple):
        return kind, tuple(_typed(item) for item in value)
    if kind in (set, frozenset):
        return kind, frozenset(_typed(item) for item in value)
    if kind is dict:
        return kind, frozenset((_typed(key), _typed(item)) for key, item in value.items())
    return kind, value


def _written(tree: ast.AST | None) -> str | None:
    try:
        return ast.dump(tree) if tree else None
    except RecursionError:
        return None

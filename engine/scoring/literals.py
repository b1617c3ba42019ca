"""Python values in replies, read by Python's own parser. Nothing is ever executed."""

from __future__ import annotations

import ast
import warnings
from typing import Any

LONGEST = 50_000
"""Characters; a longer text is no value. It bounds the parser's time and memory."""


class NotALiteral(ValueError):
    """The text is no Python literal, or a longer one than anybody prints."""


def parse(source: str, mode: str) -> ast.AST | None:
    """The syntax tree of a text, or None where it is no Python.

    Args:
        source: the text.
        mode: ``eval`` for one expression, ``exec`` for statements.
    """
    if len(source) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes such as "\d" in a model's strings
            tree: ast.AST = ast.parse(source, mode=mode)
            return tree
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def literal(text: str) -> Any:
    """The value of a literal, as :func:`ast.literal_eval` gives it.

    Raises:
        NotALiteral: there is none.
    """
    tree = parse(text.lstrip(" \t"), "eval")
    if tree is None:
        raise NotALiteral
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, RecursionError, MemoryError, OverflowError, SyntaxError):
        raise NotALiteral from None


def equal(one: str, other: str) -> bool:
    """Whether two texts are the same, or literals that Python calls equal (True == 1, 3.0 == 3)."""
    if one.strip() == other.strip():
        return True
    try:
        return bool(literal(one.strip()) == literal(other.strip()))
    except (NotALiteral, RecursionError):
        return False


def strictly_equal(one: str, other: str) -> bool:
    """Whether two texts are the same value of the same type, at every depth.

    Expressions that are no literals, such as ``float('inf')``, are the same
    when they are written the same, apart from spaces and quotes.
    """
    if one.strip() == other.strip():
        return True
    try:
        return bool(_typed(literal(one.strip())) == _typed(literal(other.strip())))
    except NotALiteral:
        return _written(one) is not None and _written(one) == _written(other)
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


def _written(text: str) -> str | None:
    tree = parse(text.strip(), "eval")
    try:
        return ast.dump(tree) if tree else None
    except RecursionError:
        return None

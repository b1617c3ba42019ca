"""Finds and decodes JSON objects in replies, even if they are not quite valid JSON."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from evalbench.engine.scoring.literals import NotALiteral, PythonReader

_START = re.compile(r"\{\s*+[\"'“”\w]")
# Up to the next brace outside strings, or the next quote without a closing one.
_NEXT = re.compile(r'(?:[^"{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([{}"])', re.DOTALL)
_NEXT_BRACE = re.compile(r"[^{}]*+([{}])")
_MOST_UNCLOSED = 16
_MOST_OBJECTS = 100


def newest(text: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The last 100 outermost objects, last one first: as text, and decoded.

    See :func:`objects` and :func:`decode`.
    """
    python = PythonReader()
    for found in reversed(objects(text)):
        yield found, decode(found, python)


def objects(text: str) -> list[str]:
    """The texts of the last 100 outermost objects, in order; the last may be cut off.

    Braces in double-quoted strings do not count. A brace that is never closed opens no object,
    unless nothing that is closed follows it.
    """
    found: deque[str] = deque(maxlen=_MOST_OBJECTS)
    braces = _Braces(text)
    at, unclosed, cut = 0, 0, None
    while (start := _START.search(text, at)) and unclosed < _MOST_UNCLOSED:
        end = braces.end(start.start())
        if end is None:
            unclosed += 1
            cut = start.start() if cut is None else cut
            at = start.end()
        else:
            cut = None
            found.append(text[start.start() : end])
            at = end
    if cut is not None:
        found.append(text[cut:])
    return list(found)


class _Braces:
    """Finds where objects end.

    A quote without a closing one opens no string, nor does any after it: those are all escaped. The
    position of the first such quote is found once, and so is where each brace is closed, if it is.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed = len(text)
        self._ends: dict[int, int | None] = {}

    def end(self, start: int) -> int | None:
        """Where the object that starts at ``start`` ends; None if it never does."""
        if start not in self._ends:
            self._look(start)
        return self._ends[start]

    def _look(self, at: int) -> None:
        """Continue until the brace at ``at`` is closed."""
        opened: list[int] = []
        while found := (_NEXT if at < self._unclosed else _NEXT_BRACE).match(self._text, at):
            at = found.end()
            mark = found[1]
            if mark == "{":
                known = self._ends.get(at - 1, 0)
                if known is None:
                    break
                opened += [] if known else [at - 1]
                at = known or at
            elif mark == "}":
                self._ends[opened.pop()] = at
                if not opened:
                    return
            else:
                self._unclosed = at - 1
        self._ends.update(dict.fromkeys(opened))


def with_key(fields: Mapping[str, Any] | None, *keys: str) -> dict[str, Any] | None:
    """The decoded object, or one directly inside it, that has one of the keys."""
    if fields is None:
        return None
    inner = (
        {_key(str(k)): v for k, v in i.items()} for i in fields.values() if isinstance(i, dict)
    )
    return next((dict(one) for one in (fields, *inner) if any(key in one for key in keys)), None)


_TRAILING_COMMA = re.compile(r",(\s*+[}\]])")


def decode(text: str, python: PythonReader) -> dict[str, Any] | None:
    """An object as JSON, with line breaks in strings and trailing commas, or as a Python dict.

    Keys are lower-cased, without spaces and underscores.
    """
    for attempt in (_json, _json_without_trailing_commas, python.literal):
        try:
            value = attempt(text)
        except (ValueError, RecursionError, NotALiteral):
            continue
        if isinstance(value, dict):
            return {_key(str(key)): value for key, value in value.items()}
    return None


def _json(text: str) -> Any:
    return json.loads(text, strict=False)


def _json_without_trailing_commas(text: str) -> Any:
    return json.loads(_TRAILING_COMMA.sub(lambda comma: comma[1], text), strict=False)


def _key(key: str) -> str:
    return re.sub(r"[\s_-]+", "", key).lower()

"""JSON objects in replies, found and read also where they are not quite JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalbench.engine.scoring.literals import NotALiteral, literal

_START = re.compile(r"\{\s*[\"'“”\w]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_MOST_UNCLOSED = 16


def objects(text: str) -> Iterator[str]:
    """The texts of the outermost objects, in order; the last may be cut off.

    Braces in double-quoted strings do not count. A brace that is never closed
    opens no object, unless nothing that is closed follows it.
    """
    at, unclosed, cut = 0, 0, None
    while (start := _START.search(text, at)) and unclosed < _MOST_UNCLOSED:
        end = _end(text, start.start())
        if end is None:
            unclosed += 1
            cut = start.start() if cut is None else cut
            at = start.end()
        else:
            cut = None
            yield text[start.start() : end]
            at = end
    if cut is not None:
        yield text[cut:]


def _end(text: str, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def with_key(fields: Mapping[str, Any] | None, *keys: str) -> dict[str, Any] | None:
    """The decoded object, or one directly inside of it, that has one of the keys."""
    if fields is None:
        return None
    inner = (
        {_key(str(k)): v for k, v in i.items()} for i in fields.values() if isinstance(i, dict)
    )
    return next((dict(one) for one in (fields, *inner) if any(key in one for key in keys)), None)


_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


def decode(text: str) -> dict[str, Any] | None:
    """An object as JSON, with line breaks in strings and trailing commas, or as a Python dict.

    Keys are in lower case, without spaces and underscores.
    """
    for attempt in (_json, _json_without_trailing_commas, literal):
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
    return json.loads(_TRAILING_COMMA.sub(r"\1", text), strict=False)


def _key(key: str) -> str:
    return re.sub(r"[\s_-]+", "", key).lower()
